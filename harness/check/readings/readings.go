// Package readings keeps the levels of lines that belong to no file: samples, and what is printed
// outside of files. It tells how the readings of a process develop:
//
//	var kinds readings.Kinds      // of one lane
//	kinds.Add(file, checkpoint)   // for each checkpoint
//	for _, s := range kinds { growth := readings.Of(s, &s.Now, grain) }
//
// Its memory is bounded, however long the log is. It makes no finding: package check says what
// growth over readings means under a policy.
package readings

import (
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// Kinds are the series of a lane, one for each kind of line.
type Kinds []*Series

// A Series holds the levels of one kind of line, one after another:
//
//	GPU Memory - Allocated: 2.34 GB, Reserved: 2.86 GB, Total: 11.51 GB
//
// Lines with a different number of digits are another series, because lines that are rounded would
// hide what exact ones show.
type Series struct {
	Name       string // of the checkpoints, without its numbers
	Level      record.Quantity
	Resolution int64
	// OfReserve says that it is the reserve in lines that have a level of their own.
	OfReserve bool
	// Steps says that the checkpoints are named and differ in their numbers, in a file without a path.
	// They may count files, or the parts of one.
	Steps bool

	Now   Run
	Worst *Run // of the processes before, the one that rose the most; nil if there was none

	full string // name of the last checkpoint
}

// kindsMax bounds the kinds of lines that are kept of a lane.
const kindsMax = 32

// pollers are the dialects of programs that look at the device by the clock, whatever the pipeline
// does at that moment.
var pollers = map[string]bool{
	"nvidia-smi": true, "nvidia-smi-csv": true, "nvidia-smi-dmon": true, "gpustat": true,
	"rocm-smi": true,
}

// Levels lists the quantities of a reading; the first that it has is judged. The largest so far is
// no level; it is used only if a line gives nothing else.
var Levels = [...]record.Quantity{
	record.Allocated, record.Used, record.Reserved, record.Peak, record.PeakReserved,
}

// IsLargestSoFar reports whether a quantity is the largest so far instead of a level.
func IsLargestSoFar(q record.Quantity) bool { return q == record.Peak || q == record.PeakReserved }

// Add takes the next reading that is sampled or outside of files. A sample inside a file that the
// log names does not show what the file leaves behind. RMM prints a line for each allocation, which
// is no step of a program.
func (k *Kinds) Add(f *timeline.File, c *record.Checkpoint) {
	known := !f.Outside && (f.Supervised || f.Path != "")
	steps := !c.Sampled && !f.Outside
	if known || steps && timeline.WithoutNumbers(c.Name) == c.Name || c.Dialect == "rmm" {
		return
	}
	for _, q := range Levels {
		size, ok := c.Get(q)
		if !ok {
			continue
		}
		of := Series{full: c.Name, Level: q, Resolution: size.Resolution, Steps: steps}
		if s := k.find(of); s != nil {
			s.add(f, c, size)
		}
		if reserved, ok := c.Get(record.Reserved); ok && q == record.Allocated {
			of.Level, of.Resolution, of.OfReserve = record.Reserved, reserved.Resolution, true
			if s := k.find(of); s != nil {
				s.add(f, c, reserved)
			}
		}
		return
	}
}

// find returns the series of this kind, which it may begin; nil if there are too many kinds.
func (k *Kinds) find(of Series) *Series {
	alike := func(s *Series) bool {
		return s.Level == of.Level && s.Resolution == of.Resolution && s.OfReserve == of.OfReserve &&
			s.Steps == of.Steps
	}
	for _, s := range *k {
		if s.full == of.full && alike(s) {
			return s
		}
	}
	of.Name = timeline.WithoutNumbers(of.full)
	for _, s := range *k {
		if s.Name == of.Name && alike(s) {
			s.full = of.full
			return s
		}
	}
	if len(*k) == kindsMax {
		return nil
	}
	*k = append(*k, &of)
	return &of
}
