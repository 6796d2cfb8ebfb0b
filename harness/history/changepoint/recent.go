package changepoint

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// MinBefore is the number of values that [Recent] needs before a change. MaxAfter is the number of
// values at the end of a series in which Recent looks for a change.
const (
	MinBefore = 8
	MaxAfter  = 8
)

// Recent returns the index of a new level that began in the last [MaxAfter] values, after a series
// without change, and whether there is one. It tests each possible position in two ways. All new
// values must lie on one side of all earlier values. The two means must also differ by Student's t
// test with a common variance; for a single new value, this test is its prediction interval. Each
// position gets an equal part of level (Bonferroni). In a series of normal noise, Recent therefore
// finds something with a probability of at most level. The parameter resolution is half a unit of
// the last digit of the values: Recent assumes at least the noise that such rounding makes.
func Recent(values []float64, resolution, level float64) (at int, found bool) {
	smallest := math.Inf(1)
	for n := 1; n <= MaxAfter && len(values)-n >= MinBefore; n++ {
		before, after := values[:len(values)-n], values[len(values)-n:]
		if slices.Max(before) >= slices.Min(after) && slices.Min(before) <= slices.Max(after) {
			continue
		}
		if p := tTest(before, after, resolution); p <= level/MaxAfter && p <= smallest {
			at, found, smallest = len(before), true, p
		}
	}
	return at, found
}

// tTest returns the two-sided p value of the difference between the means of a and b.
func tTest(a, b []float64, resolution float64) float64 {
	na, nb := float64(len(a)), float64(len(b))
	meanA, squaresA := meanAndSquares(a)
	meanB, squaresB := meanAndSquares(b)
	free := na + nb - 2
	// Rounding errors lie anywhere between -resolution and +resolution. Their variance is
	// resolution²/3.
	variance := max((squaresA+squaresB)/free, resolution*resolution/3)
	if variance == 0 {
		if meanA == meanB {
			return 1
		}
		return 0
	}
	t := math.Abs(meanA-meanB) / math.Sqrt(variance*(1/na+1/nb))
	return 2 * distuv.StudentsT{Sigma: 1, Nu: free}.Survival(t)
}

// meanAndSquares returns the mean, and the sum of the squared distances from it.
func meanAndSquares(values []float64) (mean, squares float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, squares
}
