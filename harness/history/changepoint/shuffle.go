package changepoint

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
)

// seed returns the seed of the random orders, computed from the values, so that a series always
// gets the same orders.
func seed(x []float64) uint64 {
	h := fnv.New64a()
	for _, v := range x {
		_ = binary.Write(h, binary.LittleEndian, v) // writing to a hash never fails
	}
	return h.Sum64()
}

// shuffler returns a function that puts the values into a new random order with each call. If each
// value resembles the value before it, the function shuffles blocks of consecutive values instead.
// The correlation within the blocks is then kept, and does not look like a change (Künsch 1989,
// "The jackknife and the bootstrap for general stationary observations", Ann. Stat. 17). Each call
// overwrites the slice that the call before returned.
func shuffler(x []float64, random *rand.Rand) func() []float64 {
	block := blockLength(x)
	out := slices.Clone(x)
	if block == 1 {
		return func() []float64 {
			for i := len(out) - 1; i > 0; i-- { // the shuffle of Fisher and Yates
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
		shift := random.IntN(len(x)) // blocks may begin anywhere, and wrap around at the end
		out = out[:0]
		for _, o := range order {
			end := (o + 1) * block
			if o == len(order)-1 { // the last block takes the rest
				end = len(x)
			}
			for i := o * block; i < end; i++ {
				out = append(out, x[(shift+i)%len(x)])
			}
		}
		return out
	}
}

// manyValues is the smallest number of values for which shuffler uses blocks. With fewer values,
// correlation cannot be told from chance, and there would be too few blocks.
const manyValues = 100

// blockLength returns the length of the blocks in values, or 1 if neighbouring values are not
// correlated. It is 1.5 times the best length for an autoregressive process (Carlstein 1986, "The
// use of subseries values for estimating the variance of a general statistic from a stationary
// sequence", Ann. Stat. 14).
func blockLength(x []float64) int {
	n := float64(len(x))
	near, far := roughness(x, 1), roughness(x, 2)
	if len(x) < manyValues || near == 0 {
		return 1
	}
	// In an autoregressive process with correlation r, far is (1 + r) times near.
	correlation := min(far/near-1, 0.9)
	if correlation < 2/math.Sqrt(n) {
		return 1
	}
	best := math.Pow(2*correlation/(1-correlation*correlation), 2.0/3) * math.Cbrt(n)
	return min(len(x)/8, int(math.Ceil(1.5*best)))
}

// roughness returns the mean of the squared differences between values that are `apart` positions
// apart. It ignores the largest tenth of the differences, because they may be changes of the level.
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
