package changepoint

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
)

// seed is of the values, so that the luck of the draw is another in every series, and the same in the same.
func seed(x []float64) uint64 {
	h := fnv.New64a()
	for _, v := range x {
		_ = binary.Write(h, binary.LittleEndian, v) // a hash takes anything
	}
	return h.Sum64()
}

// shuffler puts the values into a new random order with each call. Where a value resembles the one before it, that is an
// order of blocks of neighbours: what is left in their places does not make the series look as if it had changed (Künsch
// 1989, "The jackknife and the bootstrap for general stationary observations", Ann. Stat. 17). The slice is the shuffler's.
func shuffler(x []float64, random *rand.Rand) func() []float64 {
	block := blockLength(x)
	out := slices.Clone(x)
	if block == 1 {
		return func() []float64 {
			for i := len(out) - 1; i > 0; i-- { // Fisher and Yates
				j := random.IntN(i + 1)
				out[i], out[j] = out[j], out[i]
			}
			return out
		}
	}
	order := make([]int, len(x)/block)
	for i := range order {
		order[i] = i
	}
	return func() []float64 {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		shift := random.IntN(len(x)) // blocks begin anywhere, and go on at the start of the series
		out = out[:0]
		for _, o := range order {
			end := (o + 1) * block
			if o == len(order)-1 { // the last takes what is left over
				end = len(x)
			}
			for i := o * block; i < end; i++ {
				out = append(out, x[(shift+i)%len(x)])
			}
		}
		return out
	}
}

// manyValues is from how many values on their correlation can be told from chance, and enough blocks remain.
const manyValues = 100

// blockLength is 1 where no correlation between neighbours is seen, and else what is best for an autoregressive process
// (Carlstein 1986, "The use of subseries values for estimating the variance of a general statistic from a stationary
// sequence", Ann. Stat. 14), half as long again.
func blockLength(x []float64) int {
	n := float64(len(x))
	near, far := roughness(x, 1), roughness(x, 2)
	if len(x) < manyValues || near == 0 {
		return 1
	}
	// In such a process the squared differences over two steps are larger than over one by just this factor less 1.
	correlation := min(far/near-1, 0.9)
	if correlation < 2/math.Sqrt(n) {
		return 1
	}
	best := math.Pow(2*correlation/(1-correlation*correlation), 2.0/3) * math.Cbrt(n)
	return min(len(x)/8, int(math.Ceil(1.5*best)))
}

// roughness is the mean squared difference of values so far apart, without the largest tenth: where a level changes is no
// roughness.
func roughness(x []float64, apart int) float64 {
	var squares []float64
	for i := apart; i < len(x); i++ {
		squares = append(squares, (x[i]-x[i-apart])*(x[i]-x[i-apart]))
	}
	slices.Sort(squares)
	squares = squares[:len(squares)-len(squares)/10]
	sum := 0.0
	for _, v := range squares {
		sum += v
	}
	return sum / float64(len(squares))
}
