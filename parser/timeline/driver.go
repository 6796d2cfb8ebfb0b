package timeline

import (
	"slices"
	"sort"
	"time"

	"vramsoak/parser/record"
)

// nearest is how far from a moment a sample may be to say something about it: ten samples at the harness's usual rate.
const maxSampleDistance = time.Second

// A Beside finds what the driver said around the moments of a log: the second ledger, beside that of the allocator.
type DriverLedgers struct {
	ledgers map[ledgerKey]*DriverLedger
	devices map[int][]int // of each run that has samples
	lanes   []record.Lane // of the log's checkpoints
}

type ledgerKey struct{ run, device int }

// NewBeside prepares a timeline's samples to be looked up. lanes are those that its checkpoints are of.
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
		// Before a process has a context the driver does not name it, and all of the device's use is what there is.
		if s.Source == record.SourceProcess && l.Source != record.SourceProcess {
			l.Source, l.samples = s.Source, nil
		}
		if s.Source == l.Source {
			l.samples = append(l.samples, s)
		}
	}
	return b
}

// Of is the driver's ledger of a lane in a run, nil where there is none. Where several ranks share the device nothing is known of
// each: a sample is of all processes together.
func (b *DriverLedgers) OfLane(run int, lane record.Lane) *DriverLedger {
	shared := slices.ContainsFunc(b.lanes, func(l record.Lane) bool { return l.Device == lane.Device && l != lane })
	device, ok := b.DeviceNumber(run, lane)
	if shared || !ok {
		return nil
	}
	return b.ledgers[ledgerKey{run, device}]
}

// Device is the number by which the driver calls a lane's device in a run; ok is false where it has no samples of it. Where the
// log's checkpoints are of one device, it is the one that the driver saw in use, whatever its number: a pipeline that chooses its
// GPU by itself counts otherwise than the driver.
func (b *DriverLedgers) DeviceNumber(run int, lane record.Lane) (device int, ok bool) {
	if b.ledgers[ledgerKey{run, lane.Device}] != nil {
		return lane.Device, true
	}
	several := slices.ContainsFunc(b.lanes, func(l record.Lane) bool { return l.Device != lane.Device })
	if seen := b.devices[run]; len(seen) == 1 && !several {
		return seen[0], true
	}
	return 0, false
}

// Devices are the driver's numbers of the devices that a run has samples of, in the order of the log.
func (b *DriverLedgers) DeviceNumbers(run int) []int { return b.devices[run] }

// OfDevice returns the driver's ledger of a device in a run, for all processes of the pipeline
// together, or nil.
func (b *DriverLedgers) OfDevice(run, device int) *DriverLedger {
	return b.ledgers[ledgerKey{run, device}]
}

// A DriverLedger is the samples of one device in one run.
type DriverLedger struct {
	Source  string // whose memory it is: SourceProcess or SourceDevice
	samples []*record.Sample
}

// Samples are those of the ledger, in the order of the log.
func (l *DriverLedger) Samples() []*record.Sample { return l.samples }

// At is what was in use at the moment of a line: between what the last sample before and the first one after it say, both
// included. Memory that was taken and given back between the two samples is not seen. Where one of them is missing, further
// away than a second, or of another process, it is unknown.
//
// The samples around are found by time, beginning from where the line stands: a pipeline that gives its lines no times is
// known to within a sample, and a clock that jumps leads no further astray than that.
func (l *DriverLedger) At(h record.Header) (used record.Size, ok bool) {
	after := sort.Search(len(l.samples), func(i int) bool { return l.samples[i].Pos.Line > h.Pos.Line })
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
	if a.PID != b.PID || h.Time.Sub(a.Time) > maxSampleDistance || b.Time.Sub(h.Time) > maxSampleDistance {
		return record.Size{}, false
	}
	low, high := a.Bytes(record.Used), b.Bytes(record.Used)
	if low > high {
		low, high = high, low
	}
	half := (high - low + 1) / 2
	return record.Size{Bytes: low + half, Resolution: half}, true
}
