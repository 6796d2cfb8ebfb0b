package shape

import (
	"math"
	"slices"
)

const (
	// besideMax is how many values on one side a value is compared with: bursts of up to as many are outliers.
	besideMax = 5
	// outlierLimit is how many standard deviations from the values on both sides make an outlier.
	outlierLimit = 5
	// normalMAD is the standard deviation of a normal distribution in median absolute deviations.
	normalMAD = 1.4826
)

// cleaned is the series with its outliers put back to the values beside them, and their places. An outlier lies above the
// medians of the values on both sides, or below both, so that steps and steep growth have none: the Hampel identifier
// (Davies and Gather 1993) with its window cut in two. At the ends there is one side only: of the last two values, those that
// lie no farther off than the values before them among themselves go on with a steep growth. What was put back may uncover others:
// it is done until none is found.
func cleaned(y []float64, floor float64) (clean []float64, outliers []int) {
	clean = slices.Clone(y)
	if len(y) <= 2*besideMax {
		return clean, nil
	}
	limit := 0.0
	is := make([]bool, len(y))
	for round := range besideMax {
		off, level, typical := apart(clean)
		if round == 0 {
			limit = outlierLimit * max(floor, normalMAD*typical)
		}
		found := false
		for i := range clean {
			if off[i] > limit {
				clean[i], is[i], found = level[i], true, true
			}
		}
		if !found {
			break
		}
	}
	for i := range is {
		if is[i] {
			outliers = append(outliers, i)
		}
	}
	return clean, outliers
}

// apart is how far each value is off both sides, the median of the nearer one, and how far values typically are from the
// median of the values before them.
func apart(y []float64) (off, level []float64, typical float64) {
	n := len(y)
	off, level = make([]float64, n), make([]float64, n)
	distances := make([]float64, 0, n)
	buffer := make([]float64, 0, besideMax)
	for i := range y {
		left := median(append(buffer[:0], y[max(0, i-besideMax):i]...))
		right := median(append(buffer[:0], y[i+1:min(n, i+1+besideMax)]...))
		a, b := y[i]-left, y[i]-right
		switch {
		case i < 2 && b < 0: // first files that have less are a warm-up
		case i < 2:
			off[i], level[i] = b, right
		case i >= n-2:
			if before := y[i-besideMax : i]; math.Abs(a) > slices.Max(before)-slices.Min(before) {
				off[i], level[i] = math.Abs(a), left
			}
		case (a > 0) == (b > 0) && math.Abs(a) < math.Abs(b):
			off[i], level[i] = math.Abs(a), left
		case (a > 0) == (b > 0):
			off[i], level[i] = math.Abs(b), right
		}
		if i > 0 {
			distances = append(distances, math.Abs(a))
		}
	}
	return off, level, median(distances)
}

// Median returns the middle value, or the mean of the two in the middle; NaN of none.
func Median(values []float64) float64 { return median(slices.Clone(values)) }

// median is [Median]. It sorts its argument.
func median(v []float64) float64 {
	slices.Sort(v)
	n := len(v)
	if n == 0 {
		return math.NaN()
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}
