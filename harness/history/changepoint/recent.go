package changepoint

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// What [Recent] needs: so many values before a change, and how many values after it at most.
const (
	MinBefore = 8
	MaxAfter  = 8
)

// Recent finds a new level that began with one of the last [MaxAfter] values, in a series that was level until then. All
// new values must lie beyond all earlier ones, on one side, and the two means must differ by Student's t test with a common
// variance: for a single new value that is its prediction interval. The level is shared evenly among the places that are
// tried (Bonferroni), so that the probability to find one in a series of normal noise is at most level. resolution is half
// the last digit of the values: noise is taken to be no less than what rounding makes.
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

// tTest is the two-sided p value of a difference of means.
func tTest(a, b []float64, resolution float64) float64 {
	na, nb := float64(len(a)), float64(len(b))
	meanA, squaresA := meanAndSquares(a)
	meanB, squaresB := meanAndSquares(b)
	free := na + nb - 2
	// Of a uniform error of ± resolution.
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

// meanAndSquares is the mean and the sum of the squared distances from it.
func meanAndSquares(values []float64) (mean, squares float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, squares
}
