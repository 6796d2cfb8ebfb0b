package shape

import (
	"math"
	"slices"
)

const (
	// neighbours is the number of values on each side that a value is compared with. A burst of up to
	// this many values counts as outliers.
	neighbours = 5
	// outlierLimit is the distance of an outlier from the values on both sides, in standard
	// deviations.
	outlierLimit = 5
	// normalMAD converts a median absolute deviation to the standard deviation of a normal
	// distribution.
	normalMAD = 1.4826
)

// cleaned replaces outliers by the values next to them, and returns their indexes. An outlier lies
// above the medians of the values on both sides, or below both. A step or steep growth therefore
// contains no outliers. This is the Hampel identifier (Davies and Gather 1993) with its window cut
// in two.
//
// The last two values have neighbours on only one side. They are outliers only if they are farther
// from their neighbours than the neighbours are from each other; otherwise steep growth continues.
// A replaced value may reveal other outliers, so cleaned repeats the search.
func cleaned(y []float64, floor float64) (clean []float64, outliers []int) {
	clean = slices.Clone(y)
	if len(y) <= 2*neighbours {
		return clean, nil
	}
	limit := 0.0
	is := make([]bool, len(y))
	for round := range neighbours {
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

// apart returns, for each value, its distance off from the nearer median, and that median as level.
// off is 0 for a value between the medians of its two sides. typical is the median distance of
// values from the median of the values before them.
func apart(y []float64) (off, level []float64, typical float64) {
	n := len(y)
	off, level = make([]float64, n), make([]float64, n)
	distances := make([]float64, 0, n)
	buffer := make([]float64, 0, neighbours)
	for i := range y {
		left := median(append(buffer[:0], y[max(0, i-neighbours):i]...))
		right := median(append(buffer[:0], y[i+1:min(n, i+1+neighbours)]...))
		a, b := y[i]-left, y[i]-right
		switch {
		case i < 2 && b < 0: // lower first values are a warm-up
		case i < 2:
			off[i], level[i] = b, right
		case i >= n-2:
			if before := y[i-neighbours : i]; math.Abs(a) > slices.Max(before)-slices.Min(before) {
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

// Median returns the middle value, or the mean of the two middle ones. It returns NaN for no
// values.
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
