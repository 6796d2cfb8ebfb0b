package readings

import (
	"math"
	"slices"

	"vramsoak/harness/shape"
)

// lowBlocks is about how many blocks of consecutive readings a long series is cut into. Of each
// block, its lowest reading is judged, because memory that is freed from time to time is no leak.
const lowBlocks = 32

// A Growth describes how the readings of one process develop.
type Growth struct {
	Series *Series
	Run    *Run
	Blocks []Block
	Each   int          // number of readings in a block
	Result shape.Result // shape of the blocks' lowest readings, with rates per reading

	grain, level float64 // of the series of blocks
}

// Of cuts the readings of a process into blocks and finds the shape of the blocks' lowest readings.
// The parameters grain and level are those of [shape.Series].
func Of(s *Series, r *Run, grain, level float64) *Growth {
	g := &Growth{Series: s, Run: r, Blocks: r.blocks, grain: grain, level: level}
	group := max(1, len(r.blocks)/lowBlocks)
	if g.Each = group * r.size; group > 1 {
		g.Blocks = joined(r.blocks, group)
	}
	if last := len(g.Blocks) - 1; g.Blocks[last].n < g.Each {
		g.Blocks = g.Blocks[:last] // drop a short last block: its lowest reading is often higher
	}
	g.Result = g.Shape(Least)
	return g
}

// Shape returns the shape of the series that has one value for each block. Its rates are per
// reading instead of per block. The function value returns the value of a block.
func (g *Growth) Shape(value func(Block) float64) shape.Result {
	r := shape.Of(shape.Series{
		Values: valuesOf(g.Blocks, value), Resolution: float64(g.Series.Resolution), Grain: g.grain,
		Level: g.level,
	})
	each := float64(g.Each)
	for _, rate := range []*float64{
		&r.Slope.Estimate, &r.Slope.Low, &r.Slope.High, &r.Error, &r.Early, &r.Late, &r.Rounding,
		&r.Detectable,
	} {
		*rate /= each
	}
	r.Period *= g.Each
	r.Files = g.Run.Readings
	return r
}

// Rising returns the blocks in which the level grows: those from Result.From to the end.
func (g *Growth) Rising() []Block { return g.Blocks[g.Result.From:] }

// Swings reports whether the level was as high before as at the end, and was lower in between.
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
// blocks must be higher than the block before. High-water marks need this test, because they rise
// in random values too, but more and more rarely: the n-th value is the largest so far with a
// probability of 1/n.
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

// Given returns how much memory was given back at most: the largest fall of the blocks' lowest
// readings in bytes, without outliers.
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

// Above divides the growing blocks into so many parts, and returns how far the median of the last
// part lies above that of the part before. The function value returns the value of a block.
func (g *Growth) Above(value func(Block) float64, parts int) float64 {
	rising := g.Rising()
	n := max(2, len(rising)/parts)
	last, before := rising[len(rising)-n:], rising[len(rising)-2*n:len(rising)-n]
	return Median(last, value) - Median(before, value)
}

// Median returns the median of the values that the function value returns for the blocks.
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
