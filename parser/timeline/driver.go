package timeline

import (
	"slices"
	"sort"
	"time"

	"vramsoak/parser/record"
)

// maxSampleDistance is the longest time between a line and a sample that is used for this line.
// It is ten times the harness's usual time between two samples.
const maxSampleDistance = time.Second

// DriverLedgers holds the driver's figures of memory in use, for each device in each run. Checks
// compare them with the allocator's figures.
type DriverLedgers struct {
	ledgers map[ledgerKey]*DriverLedger
	devices map[int][]int // for each run, the devices that have samples
	lanes   []record.Lane // the lanes of the timeline's checkpoints
}

type ledgerKey struct{ run, device int }

// NewDriverLedgers returns the ledgers of a timeline's samples. The parameter lanes lists the
// lanes of the timeline's checkpoints.
func NewDriverLedgers(tl *Timeline, lanes []record.Lane) *DriverLedgers {
	b := &DriverLedgers{ledgers: map[ledgerKey]*DriverLedger{}, devices: map[int][]int{}, lanes: lanes}
	for i := range tl.Samples {
		s := &tl.Samples[i]
		if !s.Has(record.Used) {
			continue
		}
		key := ledgerKey{s.Run, s.Lane.Device}
		l := b.ledgers[key]
		if l == nil {
			l = &DriverLedger{Source: s.Source}
			b.ledgers[key] = l
			b.devices[s.Run] = append(b.devices[s.Run], s.Lane.Device)
		}
		// Before a process has a CUDA context, the driver does not list the process. A sample
		// then gives only the use of the whole device. When the first sample of the process
		// follows, these earlier samples are dropped, because they count other processes too.
		if s.Source == record.SourceProcess && l.Source != record.SourceProcess {
			l.Source, l.samples = s.Source, nil
		}
		if s.Source == l.Source {
			l.samples = append(l.samples, s)
		}
	}
	return b
}

// OfLane returns the driver's ledger of a lane in a run, or nil if the lane's device has no samples
// in this run. It also returns nil if several ranks use the device, because a sample counts all
// processes together.
func (b *DriverLedgers) OfLane(run int, lane record.Lane) *DriverLedger {
	shared := slices.ContainsFunc(b.lanes, func(l record.Lane) bool {
		return l.Device == lane.Device && l != lane
	})
	device, ok := b.DeviceNumber(run, lane)
	if shared || !ok {
		return nil
	}
	return b.ledgers[ledgerKey{run, device}]
}

// DeviceNumber returns the number that the driver gives to a lane's device in a run. ok is false
// if the device has no samples. A pipeline that selects its GPU numbers devices differently from
// the driver. So if all checkpoints are of one device, and all samples of the run too,
// DeviceNumber returns the number of the samples' device.
func (b *DriverLedgers) DeviceNumber(run int, lane record.Lane) (device int, ok bool) {
	if b.ledgers[ledgerKey{run, lane.Device}] != nil {
		return lane.Device, true
	}
	seen := b.devices[run]
	if len(seen) != 1 || slices.ContainsFunc(b.lanes, func(l record.Lane) bool {
		return l.Device != lane.Device
	}) {
		return 0, false
	}
	return seen[0], true
}

// DeviceNumbers returns the driver's numbers of the devices that have samples in a run, in the
// order of their first samples.
func (b *DriverLedgers) DeviceNumbers(run int) []int { return b.devices[run] }

// OfDevice returns the ledger of a device in a run, or nil. The parameter device is the driver's
// number. The ledger counts all processes of the pipeline together.
func (b *DriverLedgers) OfDevice(run, device int) *DriverLedger {
	return b.ledgers[ledgerKey{run, device}]
}

// A DriverLedger holds the samples of one device in one run.
type DriverLedger struct {
	Source  string // whose memory the samples count: SourceProcess or SourceDevice
	samples []*record.Sample
}

// Samples returns the ledger's samples in the order of the log.
func (l *DriverLedger) Samples() []*record.Sample { return l.samples }

// At returns the memory in use at the line with the header h. The true amount lies between the
// amounts in the samples before and after the line, so these are the result's Low and High.
// Memory that was both taken and given back between the two samples does not show. ok is false if
// one of the two samples is missing, is more than a second away, or is of another process.
//
// At looks first for the samples around the line, and then corrects this choice by their times.
// If the pipeline's lines have no times, or its clock jumps, the result may be that of the next
// or the previous sample.
func (l *DriverLedger) At(h record.Header) (used record.Size, ok bool) {
	after := sort.Search(len(l.samples), func(i int) bool {
		return l.samples[i].Pos.Line > h.Pos.Line
	})
	for after > 0 && l.samples[after-1].Time.After(h.Time) {
		after--
	}
	for after < len(l.samples) && l.samples[after].Time.Before(h.Time) {
		after++
	}
	if after == 0 || after == len(l.samples) {
		return record.Size{}, false
	}
	a, b := l.samples[after-1], l.samples[after]
	if a.PID != b.PID || h.Time.Sub(a.Time) > maxSampleDistance ||
		b.Time.Sub(h.Time) > maxSampleDistance {
		return record.Size{}, false
	}
	low, high := a.Bytes(record.Used), b.Bytes(record.Used)
	if low > high {
		low, high = high, low
	}
	half := (high - low + 1) / 2
	return record.Size{Bytes: low + half, Resolution: half}, true
}
