// Package readings collects the levels in lines that belong to no file: samples, and lines that a
// program prints outside of files. It finds how the readings of a process develop:
//
//	var kinds readings.Kinds      // of one device of one rank
//	kinds.Add(file, checkpoint)   // for each checkpoint
//	for _, s := range kinds { growth := readings.Of(s, &s.Now, grain, 0.001) }
//
// Its memory is bounded, however long the log is. It makes no finding: package check turns growth
// over readings into a verdict under a policy.
package readings

import (
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// Kinds holds the series of one device of one rank, one series for each kind of line.
type Kinds []*Series

// A Series holds the levels in one kind of line, in the order of the log:
//
//	GPU Memory - Allocated: 2.34 GB, Reserved: 2.86 GB, Total: 11.51 GB
//
// Lines with a different number of digits form another series. If one series held both, the rounded
// values would hide growth that the exact values show.
type Series struct {
	Name       string // name of the lines, with their numbers replaced
	Level      record.Quantity
	Resolution int64
	// OfReserve is set if the levels are the reserved memory in lines that also print allocated
	// memory.
	OfReserve bool
	// Steps is set if the lines are checkpoints whose names differ only in numbers, such as "Epoch
	// 3 start", in a file without a path. The numbers may count files, or parts of one file.
	Steps bool

	// Allocations is set if each line is about one allocation, as in RMM's log. Such levels rise
	// while a program begins, and the lines do not say when it is done with a file.
	Allocations bool

	Now   Run
	Worst *Run // the earlier process whose level rose the most, or nil

	full string // name of the last checkpoint
}

// kindsMax is the largest number of series that a Kinds holds.
const kindsMax = 32

// pollers lists the dialects of programs that read the device at regular intervals, whatever the
// pipeline does at that moment.
var pollers = map[string]bool{
	"nvidia-smi": true, "nvidia-smi-csv": true, "nvidia-smi-dmon": true, "gpustat": true,
	"rocm-smi": true,
}

// Levels lists the quantities that may serve as the level of a line; the first of them that the
// line has is used. High-water marks come last, because they hide the level below them.
var Levels = [...]record.Quantity{
	record.Allocated, record.Used, record.Reserved, record.Peak, record.PeakReserved,
}

// IsLargestSoFar reports whether a quantity is a high-water mark instead of a level.
func IsLargestSoFar(q record.Quantity) bool { return q == record.Peak || q == record.PeakReserved }

// Add adds the next reading to the series of its kind. It ignores readings in files that the log
// names, because a reading in the middle of a file does not show what the file leaves behind. In
// files without a name, it adds samples, and checkpoints whose names have numbers.
func (k *Kinds) Add(f *timeline.File, c *record.Checkpoint) {
	known := !f.Outside && (f.Supervised || f.Path != "")
	steps := !c.Sampled && !f.Outside
	if known || steps && timeline.WithoutNumbers(c.Name) == c.Name {
		return
	}
	for _, q := range Levels {
		size, ok := c.Get(q)
		if !ok {
			continue
		}
		of := Series{
			full: c.Name, Level: q, Resolution: size.Resolution, Steps: steps,
			Allocations: c.Dialect == "rmm",
		}
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

// find returns the series of the same kind as of, and creates it if there is none. It returns nil
// if there are too many kinds.
func (k *Kinds) find(of Series) *Series {
	alike := func(s *Series) bool {
		return s.Level == of.Level && s.Resolution == of.Resolution && s.OfReserve == of.OfReserve &&
			s.Steps == of.Steps && s.Allocations == of.Allocations
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
