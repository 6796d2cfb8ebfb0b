package harness

import (
	"errors"
	"fmt"

	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

// validateOveruse names what is wrong with the limit of a device's use.
func (c Config) validateOveruse() error {
	if l := c.MaxDeviceUsed; l != (Limit{}) && (l.Share < 0 || l.Share > 1 || l.Share == 0 && l.Bytes <= 0) {
		return errors.New("expected a limit of a device's use as a share above 0 and up to 1, or as bytes above 0")
	}
	return nil
}

// An overuse is more use of a device than the run allows.
type overuse struct {
	what string // "used 22.1 GiB of the 24.0 GiB of device 0, more than the 90% that the run allows"; "" for none
	// far says that of what the limit leaves free more than half is gone too: there is no time for a grace.
	far bool
}

// overuse compares a use with the limit. Total is 0 where it is not known: a share cannot be judged then.
func (l Limit) overuse(used, total int64, subject, whose string) overuse {
	limit := l.Of(total)
	if limit <= 0 || used <= limit {
		return overuse{}
	}
	size := parser.FormatBytes(used)
	if total > 0 {
		size += " of " + parser.FormatBytes(total)
	}
	return overuse{
		what: fmt.Sprintf("%s of %s were in use%s, more than the %v that the run allows", size, subject, whose, l),
		far:  total > limit && used > limit+(total-limit)/2,
	}
}

// sampled looks for overuse in what was sampled in a moment. What counts is all that is in use of a device that the pipeline
// uses, also by others: it is the device that fills up. Where the harness reads no device, it is the machine's memory, as
// what the pipeline has of it.
func (r *run) sampled(samples []parser.Sample) (worst overuse) {
	for i := range samples {
		s := &samples[i]
		var o overuse
		switch used, ok := s.Get(parser.Used); {
		case ok && s.Source == parser.SourceProcess:
			o = r.cfg.MaxDeviceUsed.overuse(max(used.Bytes, s.DeviceUsed), s.Bytes(parser.Total), r.device(s.Lane),
				", "+parser.FormatBytes(used.Bytes)+" of it by the pipeline")
		case ok:
			o = r.cfg.MaxDeviceUsed.overuse(used.Bytes, s.Bytes(parser.Total), r.device(s.Lane), "")
		case r.cfg.Device == nil:
			o = r.cfg.MaxDeviceUsed.overuse(s.RSS, r.machine, "the machine's memory", " by the pipeline")
		}
		worst = worst.or(o)
	}
	return worst
}

// logged looks for overuse in a checkpoint: the pipeline may know of its device what the harness cannot see.
func (r *run) logged(reading *parser.Reading, lane parser.Lane) overuse {
	used := max(reading.Bytes(parser.Allocated), reading.Bytes(parser.Reserved), reading.Bytes(parser.Used))
	return r.cfg.MaxDeviceUsed.overuse(used, reading.Bytes(parser.Total), r.device(lane), " by the pipeline's own word")
}

// device names a device as reports do: that of a worker by its GPU.
func (r *run) device(lane parser.Lane) string {
	if r.cfg.gpu != nil && lane.Device == 0 {
		lane.Device = *r.cfg.gpu
	}
	return fmt.Sprintf("device %d", lane.Device)
}

// or is the worse one.
func (o overuse) or(other overuse) overuse {
	if o.what == "" || other.far && !o.far {
		return other
	}
	return o
}

// machineMemory is the machine's memory, or what the control group allows of it; 0 where no limit asks for it or it is not
// known.
func (c Config) machineMemory() int64 {
	if c.MaxDeviceUsed == (Limit{}) || c.Device != nil {
		return 0
	}
	total, err := meter.HostMemory()
	if err != nil {
		c.Logger.Warn("the size of the machine's memory is not known, so that no share of it is a limit", "error", err)
	}
	return total
}
