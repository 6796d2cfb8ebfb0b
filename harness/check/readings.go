package check

import (
	"slices"

	"vramsoak/harness/shape"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A readingSeries holds the levels of one kind of line, one after another. It is used where files
// have no idle level: for samples, and for what is printed outside of files.
//
//	GPU Memory - Allocated: 2.34 GB, Reserved: 2.86 GB, Total: 11.51 GB
//
// Lines with a different number of digits are another series, because lines that are rounded would
// hide what exact ones show.
type readingSeries struct {
	name       string // of the checkpoints, without its numbers
	level      record.Quantity
	resolution int64
	full       string // name of the last checkpoint
	// ofReserve says that it is the reserve in lines that have a level of their own.
	ofReserve bool
	// steps says that the checkpoints are named and differ in their numbers, in a file without a path.
	// They may count files, or the parts of one.
	steps bool

	now   readingRun
	worst *readingRun // of the processes before, the one that rose the most; nil where there was none
}

// A readingRun is the readings of one process.
type readingRun struct {
	process   int
	polled    bool // by a program that looks at the device by the clock
	size      int  // readings in a block
	blocks    []readingBlock
	readings  int
	stretches int // files, and stretches between files, that they are in
	total     record.Size
}

// A readingBlock is readings that follow one another.
type readingBlock struct {
	file        *timeline.File // of the first
	line        int            // of the first
	n           int
	least, most int64
	sum         float64
}

// Bounds on the kinds of lines that are kept of a lane, and on the blocks of each. When there are
// so many blocks, two become one.
const (
	readingKinds  = 32
	readingBlocks = 256
)

// pollers are the dialects of programs that look at the device by the clock, whatever the pipeline
// does at that moment.
var pollers = map[string]bool{
	"nvidia-smi": true, "nvidia-smi-csv": true, "nvidia-smi-dmon": true, "gpustat": true,
	"rocm-smi": true,
}

// readingLevels lists the quantities of a reading; the first that it has is judged. The largest so
// far is no level; it is used only if a line gives nothing else.
var readingLevels = append(levels[:], record.Peak, record.PeakReserved)

// isLargestSoFar reports whether a quantity is the largest so far instead of a level.
func isLargestSoFar(q record.Quantity) bool { return q == record.Peak || q == record.PeakReserved }

// reading takes the next reading that is sampled or outside of files. A sample inside a file that
// the log names does not show what the file leaves behind. RMM prints a line for each allocation,
// which is no step of a program.
func (l *lane) reading(f *timeline.File, c *record.Checkpoint) {
	known := !f.Outside && (f.Supervised || f.Path != "")
	steps := !c.Sampled && !f.Outside
	if known || steps && timeline.WithoutNumbers(c.Name) == c.Name || c.Dialect == "rmm" {
		return
	}
	for _, q := range readingLevels {
		size, ok := c.Get(q)
		if !ok {
			continue
		}
		of := readingSeries{full: c.Name, level: q, resolution: size.Resolution, steps: steps}
		if s := l.readingsOf(of); s != nil {
			s.add(f, c, size)
		}
		if reserved, ok := c.Get(record.Reserved); ok && q == record.Allocated {
			of.level, of.resolution, of.ofReserve = record.Reserved, reserved.Resolution, true
			if s := l.readingsOf(of); s != nil {
				s.add(f, c, reserved)
			}
		}
		return
	}
}

// readingsOf returns the series of this kind, which it may begin; nil where there are too many
// kinds.
func (l *lane) readingsOf(of readingSeries) *readingSeries {
	alike := func(s *readingSeries) bool {
		return s.level == of.level && s.resolution == of.resolution && s.ofReserve == of.ofReserve &&
			s.steps == of.steps
	}
	for _, s := range l.readings {
		if s.full == of.full && alike(s) {
			return s
		}
	}
	of.name = timeline.WithoutNumbers(of.full)
	for _, s := range l.readings {
		if s.name == of.name && alike(s) {
			s.full = of.full
			return s
		}
	}
	if len(l.readings) == readingKinds {
		return nil
	}
	l.readings = append(l.readings, &of)
	return &of
}

func (s *readingSeries) add(f *timeline.File, c *record.Checkpoint, size record.Size) {
	r := &s.now
	if r.size == 0 || r.process != f.Process {
		if r.size > 0 &&
			(s.worst == nil || r.rise() > s.worst.rise() || s.worst.readings < shape.LeastFiles) {
			s.worst = new(s.now)
		}
		s.now = readingRun{process: f.Process, size: 1}
	}
	if last := len(r.blocks) - 1; last < 0 || r.blocks[last].file != f {
		r.stretches++
	}
	r.readings++
	r.polled = r.polled || pollers[c.Dialect]
	if total, ok := c.Get(record.Total); ok && total.Bytes > 0 {
		r.total = total
	}
	if last := len(r.blocks) - 1; last >= 0 && r.blocks[last].n < r.size {
		r.blocks[last].join(readingBlock{
			n: 1, least: size.Bytes, most: size.Bytes, sum: float64(size.Bytes),
		})
		return
	}
	if len(r.blocks) == readingBlocks {
		r.blocks = joined(r.blocks, 2)
		r.size *= 2
		// All blocks are full now, so the next reading begins a new one.
	}
	r.blocks = append(r.blocks,
		readingBlock{f, c.Pos.Line, 1, size.Bytes, size.Bytes, float64(size.Bytes)})
}

// join adds the readings of the block that follows.
func (b *readingBlock) join(next readingBlock) {
	b.n, b.sum = b.n+next.n, b.sum+next.sum
	b.least, b.most = min(b.least, next.least), max(b.most, next.most)
}

// joined returns blocks that each join `of` blocks; the last one may join fewer.
func joined(blocks []readingBlock, of int) []readingBlock {
	out := make([]readingBlock, 0, readingBlocks)
	for part := range slices.Chunk(blocks, of) {
		b := part[0]
		for _, next := range part[1:] {
			b.join(next)
		}
		out = append(out, b)
	}
	return out
}

// rise returns the lowest reading of the last quarter less the lowest one of the first quarter.
func (r *readingRun) rise() int64 {
	quarter := (len(r.blocks) + 3) / 4
	if quarter == 0 {
		return 0
	}
	least := func(blocks []readingBlock) int64 {
		low := blocks[0].least
		for _, b := range blocks {
			low = min(low, b.least)
		}
		return low
	}
	return least(r.blocks[len(r.blocks)-quarter:]) - least(r.blocks[:quarter])
}
