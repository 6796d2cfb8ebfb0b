package shape

import (
	"math"
	"slices"
)

const (
	// neighbours is the number of values before a value, and after it, with which the value is
	// compared. A burst of up to this many values counts as outliers.
	neighbours = 5
	// outlierLimit is how far an outlier lies, in standard deviations, from the values before it and
	// from those after it.
	outlierLimit = 5
	// NormalMAD converts a median absolute deviation to the standard deviation of a normal
	// distribution.
	NormalMAD = 1.4826
)

// cleaned returns a copy of y in which outliers are replaced by the median of the values next to
// them, and the indexes of the outliers. An outlier lies far above both the median of the values
// before it and that of the values after it, or far below both. A step or steep growth therefore
// contains no outliers. This is the Hampel identifier (Davies and Gather 1993) with its window cut
// in two. The parameter floor is the smallest standard deviation that is assumed.
//
// The last two values have too few values after them. They are outliers only if they lie farther
// from the values before them than those lie from each other; otherwise the last values of steep
// growth would be outliers. A replaced value may reveal other outliers, so cleaned repeats the
// search.
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
			limit = outlierLimit * max(floor, NormalMAD*typical)
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

// apart returns two numbers for each value: its distance off from the nearer of two medians, and
// that median as level. The two medians are those of the values before it and of the values after
// it. off is 0 for a value that lies between them. typical is the median distance of the values
// from the median of the values before them.
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

// Median returns the middle value in sorted order, or the mean of the two middle values. It returns
// NaN for no values.
func Median(values []float64) float64 { return median(slices.Clone(values)) }

// median returns what [Median] returns, but changes the order of its argument.
func median(v []float64) float64 {
	n := len(v)
	if n == 0 {
		return math.NaN()
	}
	if n <= sortedMost || slices.ContainsFunc(v, math.IsNaN) {
		slices.Sort(v)
		return (v[(n-1)/2] + v[n/2]) / 2
	}
	upper := n / 2
	selectNth(v, upper)
	lower := v[upper]
	if n%2 == 0 {
		lower = slices.Max(v[:upper])
	}
	return (lower + v[upper]) / 2
}

// sortedMost is how many values are sorted faster than their median is selected.
const sortedMost = 16

// selectNth changes the order of the values so that v[n] is the value that a sorted slice would
// have there, and no value before it is larger (Hoare 1961).
func selectNth(v []float64, n int) {
	for rounds := 0; len(v) > sortedMost; rounds++ {
		if rounds > 64 { // the pivots were bad
			break
		}
		last := len(v) - 1
		pivot := max(min(v[0], v[last/2]), min(max(v[0], v[last/2]), v[last])) // the middle of three
		i, j := 0, last
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case n <= j:
			v = v[:j+1]
		case n >= i:
			v, n = v[i:], n-i
		default:
			return
		}
	}
	slices.Sort(v)
}
