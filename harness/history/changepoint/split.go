package changepoint

import (
	"math"

	"vramsoak/harness/shape"
)

// minAfter is the smallest number of values on each side of a split.
const minAfter = 3

// farthest is the largest score that a value can have, in standard deviations of normal noise; see
// scores.
const farthest = 3

// scores returns how far each value lies from the median of the values, in units of their scatter.
// Distances above farthest are reduced to farthest (Huber 1964, "Robust estimation of a location
// parameter", Ann. Math. Stat. 35). The mean of the scores is subtracted, so that they add up to 0.
func scores(values []float64) []float64 {
	middle := shape.Median(values)
	distances := make([]float64, len(values))
	for i, v := range values {
		distances[i] = math.Abs(v - middle)
	}
	scale, _ := spread(distances)
	x := make([]float64, len(values))
	mean := 0.0
	for i, v := range values {
		if v != middle {
			x[i] = max(-farthest, min(farthest, (v-middle)/scale))
		}
		mean += x[i] / float64(len(x))
	}
	for i := range x {
		x[i] -= mean
	}
	return x
}

// leastT is the smallest t value with which a split is promising. At 3.5 the p value is 0.0005,
// many times what [Detector.nightly] asks for.
const leastT = 3.5

// bestSplit returns the number of values before the best split of scores, and whether it is worth a
// test. Let S be the sum of the first k of n scores. The best split has the largest
// |S| sqrt(n / (k (n-k))), the CUSUM. For normal noise that is the likelihood ratio (Hawkins 1977,
// "Testing a sequence of observations for a shift in location", JASA 72).
func bestSplit(x []float64) (at int, promising bool) {
	n := float64(len(x))
	most, sum, squares := 0.0, 0.0, 0.0
	for i, v := range x {
		squares += v * v
		sum += v
		if k := i + 1; k >= minAfter && k <= len(x)-minAfter {
			if between := sum * sum * n / (float64(k) * (n - float64(k))); between > most {
				at, most = k, between
			}
		}
	}
	return at, at > 0 && most*(n-2) >= leastT*leastT*(squares-most)
}

// place returns the number of values before a change, given a first guess. It is the number for
// which the values lie closest to the medians of the two sides. The distances are squared and, so
// that wild values count little, limited to farthest.
func place(values []float64, guess int) int {
	for range 2 { // the second time with better medians
		before, after := shape.Median(values[:guess]), shape.Median(values[guess:])
		distances := make([]float64, len(values))
		for i, v := range values {
			distances[i] = math.Abs(v - before)
			if i >= guess {
				distances[i] = math.Abs(v - after)
			}
		}
		scale, _ := spread(distances)
		if scale == 0 {
			return guess
		}
		far := func(v, level float64) float64 {
			z := min(farthest, math.Abs(v-level)/scale)
			return z * z
		}
		sum, least := 0.0, math.Inf(1)
		for k := 1; k <= len(values)-1; k++ {
			sum += far(values[k-1], before) - far(values[k-1], after)
			if sum < least && k >= minAfter && k <= len(values)-minAfter {
				least, guess = sum, k
			}
		}
	}
	return guess
}
