package readings

import (
	"slices"

	"vramsoak/harness/shape"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A Run holds the readings of one process in one series.
type Run struct {
	Process   int
	Polled    bool // some readings come from a program in pollers
	Readings  int
	Stretches int // number of files, and of stretches between files, with readings
	Total     record.Size

	size   int // number of readings in a block
	blocks []Block
}

// A Block sums up consecutive readings of a process by their lowest and highest value and their
// mean, so that a long log takes little memory.
type Block struct {
	File        *timeline.File // file of the first reading
	Line        int            // line of the first reading
	Least, Most int64          // bytes

	n   int
	sum float64
}

// Least returns the lowest reading of a block, in bytes.
func Least(b Block) float64 { return float64(b.Least) }

// Most returns the highest reading of a block, in bytes.
func Most(b Block) float64 { return float64(b.Most) }

// Mean returns the mean of the readings of a block, in bytes.
func Mean(b Block) float64 { return b.sum / float64(b.n) }

// blocksMax is the largest number of blocks of a run. At that number, pairs of blocks are merged.
const blocksMax = 256

func (s *Series) add(f *timeline.File, c *record.Checkpoint, size record.Size) {
	r := &s.Now
	if r.size == 0 || r.Process != f.Process {
		if r.size > 0 &&
			(s.Worst == nil || r.rise() > s.Worst.rise() || s.Worst.Readings < shape.LeastFiles) {
			s.Worst = new(s.Now)
		}
		s.Now = Run{Process: f.Process, size: 1}
	}
	if last := len(r.blocks) - 1; last < 0 || r.blocks[last].File != f {
		r.Stretches++
	}
	r.Readings++
	r.Polled = r.Polled || pollers[c.Dialect]
	if total, ok := c.Get(record.Total); ok && total.Bytes > 0 {
		r.Total = total
	}
	next := Block{
		File: f, Line: c.Pos.Line, Least: size.Bytes, Most: size.Bytes,
		n: 1, sum: float64(size.Bytes),
	}
	if last := len(r.blocks) - 1; last >= 0 && r.blocks[last].n < r.size {
		r.blocks[last].join(next)
		return
	}
	if len(r.blocks) == blocksMax {
		r.blocks = joined(r.blocks, 2)
		r.size *= 2
		// All blocks are full now, so the next reading begins a new one.
	}
	r.blocks = append(r.blocks, next)
}

// Lowest returns the lowest reading of the run, in bytes.
func (r *Run) Lowest() (bytes int64) {
	for i, b := range r.blocks {
		if i == 0 || b.Least < bytes {
			bytes = b.Least
		}
	}
	return bytes
}

// join adds the readings of the block next to b.
func (b *Block) join(next Block) {
	b.n, b.sum = b.n+next.n, b.sum+next.sum
	b.Least, b.Most = min(b.Least, next.Least), max(b.Most, next.Most)
}

// joined returns the blocks with each group of `of` consecutive blocks merged into one. The last
// group may be smaller.
func joined(blocks []Block, of int) []Block {
	out := make([]Block, 0, blocksMax)
	for part := range slices.Chunk(blocks, of) {
		b := part[0]
		for _, next := range part[1:] {
			b.join(next)
		}
		out = append(out, b)
	}
	return out
}

// rise returns the lowest reading of the last quarter of the blocks minus that of the first
// quarter, in bytes.
func (r *Run) rise() int64 {
	quarter := (len(r.blocks) + 3) / 4
	if quarter == 0 {
		return 0
	}
	least := func(blocks []Block) int64 {
		low := blocks[0].Least
		for _, b := range blocks {
			low = min(low, b.Least)
		}
		return low
	}
	return least(r.blocks[len(r.blocks)-quarter:]) - least(r.blocks[:quarter])
}
