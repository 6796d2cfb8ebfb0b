package harness

import (
	"errors"
	"fmt"
	"strconv"

	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

// A Limit is how much of a device may be in use: a share of it or, where that is 0, so many bytes. The zero value is none.
type Limit struct {
	Share float64 // above 0 and up to 1
	Bytes int64
}

// IsZero says that there is no limit.
func (l Limit) IsZero() bool { return l == Limit{} }

func (l Limit) String() string {
	if l.Share > 0 {
		return strconv.FormatFloat(100*l.Share, 'f', -1, 64) + "%"
	}
	return parser.FormatBytes(l.Bytes)
}

func (l Limit) validate() error {
	if l.IsZero() || l.Share > 0 && l.Share <= 1 && l.Bytes == 0 || l.Share == 0 && l.Bytes > 0 {
		return nil
	}
	return errors.New("expected a limit of a device's use as a share above 0 and up to 1, or as bytes above 0")
}

// of is the limit in bytes, of a device of this size.
func (l Limit) of(total int64) int64 {
	if l.Share > 0 {
		return int64(l.Share * float64(total))
	}
	return l.Bytes
}

// An overuse is more use of a device than the run allows.
type overuse struct {
	what string // "used 22.1 GiB of the 24.0 GiB of device 0, more than the 90% that the run allows"; "" for none
	// far says that of what the limit leaves free more than half is gone too: there is no time for a grace.
	far bool
}

// overuse compares a use with the limit. Total is 0 where it is not known: a share cannot be judged then.
func (l Limit) overuse(used, total int64, subject, whose string) overuse {
	limit := l.of(total)
	if l.IsZero() || limit <= 0 || used <= limit {
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
			o = r.cfg.MaxDeviceUsed.overuse(max(used.Bytes, s.DeviceUsed), s.Bytes(parser.Total), device(s.Lane),
				", "+parser.FormatBytes(used.Bytes)+" of it by the pipeline")
		case ok:
			o = r.cfg.MaxDeviceUsed.overuse(used.Bytes, s.Bytes(parser.Total), device(s.Lane), "")
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
	return r.cfg.MaxDeviceUsed.overuse(used, reading.Bytes(parser.Total), device(lane), " by the pipeline's own word")
}

func device(lane parser.Lane) string { return fmt.Sprintf("device %d", lane.Device) }

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
	if c.MaxDeviceUsed.IsZero() || c.Device != nil {
		return 0
	}
	total, err := meter.HostMemory()
	if err != nil {
		c.Logger.Warn("the size of the machine's memory is not known, so that no share of it is a limit", "error", err)
	}
	return total
}
