package sample

import (
	"fmt"
	"log/slog"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// An Overuse says that more memory of a device is in use than the run allows. The zero value means
// that no more is in use.
type Overuse struct {
	// Text is the message for the log: "22.1 GiB of 24.0 GiB of device 0 were in use, more than the
	// 90% that the run allows".
	Text string
	// Severe is true if the memory in use exceeds the limit by more than half of the memory that lies
	// beyond the limit. Example: of 24 GiB the limit allows 20 GiB, so more than 22 GiB in use is
	// severe. If a process was asked to end and the overuse is severe, the process gets no more time:
	// it is killed.
	Severe bool
}

// Worse returns the worse of the overuses o and other: a severe one, if one of them is severe.
func (o Overuse) Worse(other Overuse) Overuse {
	if o.Text == "" || other.Severe && !o.Severe {
		return other
	}
	return o
}

// A Guard compares the memory in use with the limit of a run.
type Guard struct {
	Limit Limit
	// Machine is the size of the machine's memory in bytes. The limit applies to that memory if the
	// run has no device. If the run has a device, Machine is 0.
	Machine int64
	// HasDevice is true if the run has a device to sample.
	HasDevice bool
	// GPU is the number of the worker's GPU, which the worker's processes see as device 0; nil for a
	// run without workers.
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

// Samples returns the worst overuse in samples that were taken at the same time. For each device
// that the pipeline uses, it compares all memory in use on the device with the limit. The memory of
// other programs counts too, because an allocation fails when the whole device is full. In a run
// without a device, it compares the pipeline's resident memory with the limit.
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

// Reading returns the overuse that the reading r of a checkpoint shows. The harness looks at
// checkpoints too because the pipeline may use a device that the harness cannot sample.
func (g Guard) Reading(r *record.Reading, lane record.Lane) Overuse {
	used := max(r.Bytes(record.Allocated), r.Bytes(record.Reserved), r.Bytes(record.Used))
	return g.Limit.overuse(used, r.Bytes(record.Total), g.device(lane),
		" by the pipeline's own word")
}

// device returns the name of a device for messages, such as "device 0". The device of a worker gets
// the driver's number.
func (g Guard) device(lane record.Lane) string {
	if g.GPU != nil && lane.Device == 0 {
		lane.Device = *g.GPU
	}
	return fmt.Sprintf("device %d", lane.Device)
}

// overuse returns the overuse if used bytes exceed the limit, else the zero value. The parameter
// total is the size of the device in bytes, or 0 if it is unknown; a percentage is then no limit.
// The parameters subject and whose name the device and the user of the memory in the message.
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
