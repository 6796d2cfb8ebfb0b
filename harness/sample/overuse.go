package sample

import (
	"fmt"
	"log/slog"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// An Overuse is more use of a device than the run allows.
type Overuse struct {
	// Text is "22.1 GiB of 24.0 GiB of device 0 were in use, more than the 90% that the run
	// allows", or "" for none.
	Text string
	// Severe says that usage is past the limit by more than half of the remaining headroom. The
	// process is then killed at once.
	Severe bool
}

// Worse returns the worse of two.
func (o Overuse) Worse(other Overuse) Overuse {
	if o.Text == "" || other.Severe && !o.Severe {
		return other
	}
	return o
}

// A Guard compares what is in use with the limit of a run.
type Guard struct {
	Limit Limit
	// Machine is the machine's memory in bytes. It is the device of a run without one; else it is
	// 0.
	Machine int64
	// HasDevice says that samples come from a device.
	HasDevice bool
	// GPU is the number that reports give the worker's device 0; nil for a run without workers.
	GPU *int
}

// NewGuard returns the guard of a run.
func NewGuard(limit Limit, hasDevice bool, gpu *int, logger *slog.Logger) Guard {
	g := Guard{Limit: limit, HasDevice: hasDevice, GPU: gpu}
	if limit == (Limit{}) || hasDevice {
		return g
	}
	var err error
	if g.Machine, err = meter.HostMemory(); err != nil {
		logger.Warn("the size of the machine's memory is not known, "+
			"so that no share of it is a limit",
			"error", err)
	}
	return g
}

// Samples looks for overuse in the samples of one moment. Everything that is in use on a device
// that the pipeline uses counts, also what others use, because the device is what fills up. In a
// run without a device, what the pipeline uses of the machine's memory counts.
func (g Guard) Samples(samples []record.Sample) (worst Overuse) {
	for i := range samples {
		s := &samples[i]
		total := s.Bytes(record.Total)
		var o Overuse
		switch used, ok := s.Get(record.Used); {
		case ok && s.Source == record.SourceProcess:
			o = g.Limit.overuse(max(used.Bytes, s.DeviceUsed), total, g.device(s.Lane),
				", "+record.FormatBytes(used.Bytes)+" of it by the pipeline")
		case ok:
			o = g.Limit.overuse(used.Bytes, total, g.device(s.Lane), "")
		case !g.HasDevice:
			o = g.Limit.overuse(s.RSS, g.Machine, "the machine's memory", " by the pipeline")
		}
		worst = worst.Worse(o)
	}
	return worst
}

// Reading looks for overuse in a checkpoint. The pipeline may know about its device what the
// harness cannot see.
func (g Guard) Reading(r *record.Reading, lane record.Lane) Overuse {
	used := max(r.Bytes(record.Allocated), r.Bytes(record.Reserved), r.Bytes(record.Used))
	return g.Limit.overuse(used, r.Bytes(record.Total), g.device(lane),
		" by the pipeline's own word")
}

// device names a device as reports do.
func (g Guard) device(lane record.Lane) string {
	if g.GPU != nil && lane.Device == 0 {
		lane.Device = *g.GPU
	}
	return fmt.Sprintf("device %d", lane.Device)
}

// overuse compares use with the limit. total is 0 if it is not known; a share of it is no limit
// then.
func (l Limit) overuse(used, total int64, subject, whose string) Overuse {
	limit := l.Of(total)
	if limit <= 0 || used <= limit {
		return Overuse{}
	}
	size := record.FormatBytes(used)
	if total > 0 {
		size += " of " + record.FormatBytes(total)
	}
	return Overuse{
		Text: fmt.Sprintf("%s of %s were in use%s, more than the %v that the run allows",
			size, subject, whose, l),
		Severe: total > limit && used > limit+(total-limit)/2,
	}
}
