package readings

import (
	"math"
	"slices"

	"vramsoak/harness/shape"
)

// lowBlocks is the approximate number of blocks that a long series is cut into. The value of a
// block is its lowest reading, because memory that is freed from time to time is no leak.
const lowBlocks = 32

// A Growth describes how the readings of a run develop.
type Growth struct {
	Series *Series
	Run    *Run
	Blocks []Block
	Each   int          // number of readings in a block
	Result shape.Result // shape of the blocks' lowest readings, with rates per reading
}

// Of cuts the readings of a run into blocks and finds the shape of the lowest readings. The
// parameter grain is that of [shape.Series].
func Of(s *Series, r *Run, grain float64) *Growth {
	g := &Growth{Series: s, Run: r, Blocks: r.blocks}
	group := max(1, len(r.blocks)/lowBlocks)
	if g.Each = group * r.size; group > 1 {
		g.Blocks = joined(r.blocks, group)
	}
	if last := len(g.Blocks) - 1; g.Blocks[last].n < g.Each {
		g.Blocks = g.Blocks[:last] // drop a short block: its lowest reading is higher
	}
	g.Result = g.Shape(Least, grain)
	return g
}

// Shape returns the shape of one value of each block, with rates per reading instead of per block.
func (g *Growth) Shape(value func(Block) float64, grain float64) shape.Result {
	r := shape.Of(shape.Series{
		Values: valuesOf(g.Blocks, value), Resolution: float64(g.Series.Resolution), Grain: grain,
	})
	each := float64(g.Each)
	for _, rate := range []*float64{
		&r.Slope.Estimate, &r.Slope.Low, &r.Slope.High, &r.Rounding, &r.Detectable,
	} {
		*rate /= each
	}
	r.Period *= g.Each
	r.Files = g.Run.Readings
	return r
}

// Rising returns the blocks in which the level grows: from Result.From to the end.
func (g *Growth) Rising() []Block { return g.Blocks[g.Result.From:] }

// Swings reports whether the level was once as high as at the end and fell in between.
func (g *Growth) Swings() bool {
	last := len(g.Blocks) - 1
	end, high := g.Blocks[last], int64(math.MinInt64)
	for i, b := range g.Blocks[:last] {
		high = max(high, b.Most)
		if high >= end.Least && g.Blocks[i+1].Least < end.Least {
			return true
		}
	}
	return false
}

// KeepsRising reports whether growth continues in its second half: at least three in four of its
// blocks must be higher than the block before. Marks of the largest reading so far need this test.
// They rise in random values too, but more and more rarely: the n-th value is the largest so far
// with a probability of 1/n.
func (g *Growth) KeepsRising() bool {
	rising := g.Rising()
	second := rising[len(rising)/2:]
	rises := 0
	for i, b := range second[1:] {
		if b.Least > second[i].Least {
			rises++
		}
	}
	return 4*rises >= 3*(len(second)-1)
}

// Given returns the largest fall of the lowest readings, without outliers.
func (g *Growth) Given() float64 {
	most, high := int64(0), int64(math.MinInt64)
	for i, b := range g.Blocks {
		if _, outlier := slices.BinarySearch(g.Result.Outliers, i); !outlier {
			high = max(high, b.Least)
			most = max(most, high-b.Least)
		}
	}
	return float64(most)
}

// Above splits the growing blocks into parts and compares the last part with the part before. It
// returns the difference of their medians.
func (g *Growth) Above(value func(Block) float64, parts int) float64 {
	rising := g.Rising()
	n := max(2, len(rising)/parts)
	last, before := rising[len(rising)-n:], rising[len(rising)-2*n:len(rising)-n]
	return Median(last, value) - Median(before, value)
}

// Median returns the median of one value of the blocks.
func Median(blocks []Block, value func(Block) float64) float64 {
	return shape.Median(valuesOf(blocks, value))
}

func valuesOf(blocks []Block, value func(Block) float64) []float64 {
	out := make([]float64, len(blocks))
	for i, b := range blocks {
		out[i] = value(b)
	}
	return out
}
