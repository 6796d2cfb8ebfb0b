package changepoint

import (
	"math"
	"math/rand/v2"
	"slices"

	"vramsoak/harness/shape"
)

// MinSegment is the smallest number of values between two changes, and between a change and an end
// of the series.
const MinSegment = 3

// Find returns the indexes at which a new level begins, in ascending order. In a series without
// change, it finds a change with a probability of at most level. The values must be finite.
func Find(values []float64, level float64) []int {
	var found []int
	todo := [][2]int{{0, len(values)}}
	for len(todo) > 0 {
		from, to := todo[0][0], todo[0][1]
		todo = todo[1:]
		if at, ok := split(values[from:to], level); ok {
			found = append(found, from+at)
			todo = append(todo, [2]int{from, from + at}, [2]int{from + at, to})
		}
	}
	slices.Sort(found)
	return refine(values, found)
}

// refine moves each change to the best position between the changes next to it. Find cannot do so
// earlier, because it knows these changes only at the end.
func refine(values []float64, found []int) []int {
	for i := range found {
		from, to := 0, len(values)
		if i > 0 {
			from = found[i-1]
		}
		if i+1 < len(found) {
			to = found[i+1]
		}
		found[i] = from + bestSplit(sums(scores(values[from:to])))
	}
	return found
}

// split returns the index of the best split of a series, and whether the split is significant at
// the given level.
func split(values []float64, level float64) (at int, significant bool) {
	if len(values) < 2*MinSegment {
		return 0, false
	}
	x := scores(values)
	sum, layers := sums(x), intervals(len(x))
	most, from, to := bestInterval(layers, sum)
	// The factor is slightly below 1, because rounding errors may change the last digits of a sum if
	// the values are added in another order.
	if most < 1e-9 || !rare(layers, x, most*(1-1e-9), level) {
		return 0, false
	}
	return from + bestSplit(sum[from:to+1]), true
}

// farthest is the largest score that a value can have, in standard deviations of normal noise; see
// scores.
const farthest = 3

// scores returns how far each value lies from the median of the values, in units of their scatter.
// Distances above farthest are reduced to farthest (Huber 1964, "Robust estimation of a location
// parameter", Ann. Math. Stat. 35). The scatter is the median of the distances from the median. If
// that is 0, because at least half of the values are equal, the scatter is the median of the other
// distances. The mean of the scores is subtracted, so that they add up to 0.
func scores(values []float64) []float64 {
	middle := shape.Median(values)
	distances := make([]float64, len(values))
	for i, v := range values {
		distances[i] = math.Abs(v - middle)
	}
	scale := shape.Median(distances)
	if scale == 0 {
		scale = shape.Median(slices.DeleteFunc(distances, func(d float64) bool { return d == 0 }))
	}
	x := make([]float64, len(values))
	mean := 0.0
	for i, v := range values {
		if v != middle {
			// The factor turns the scale into the standard deviation of normal noise.
			z := (v - middle) / (1.4826 * scale)
			x[i] = max(-farthest, min(farthest, z))
		}
		mean += x[i] / float64(len(x))
	}
	for i := range x {
		x[i] -= mean
	}
	return x
}

// A layer holds all intervals of one length that are searched. Each interval overlaps the next one
// by about half.
type layer struct {
	length int
	starts []int
	tries  []try // every split near the ends, fewer towards the middle
}

// A try is one split of an interval, as bestInterval tests it.
type try struct {
	before   int     // number of values before the split
	fraction float64 // before divided by the length
	weight   float64
}

// intervals returns the seeded intervals of a series of n values, in layers. The first layer is the
// whole series. Each further layer has intervals of half the length.
func intervals(n int) []layer {
	var layers []layer
	for count, length := 1, n; length >= 2*MinSegment; count, length = 2*count+1, length/2 {
		l := layer{length: length, starts: make([]int, count)}
		for i := range l.starts {
			if count > 1 {
				l.starts[i] = i * (n - length) / (count - 1)
			}
		}
		add := func(k int) {
			l.tries = append(l.tries,
				try{k, float64(k) / float64(length), weight(k, length)})
		}
		for k := MinSegment; k <= length/2; k += max(1, k/4) {
			add(k)
			if 2*k < length {
				add(length - k)
			}
		}
		layers = append(layers, l)
	}
	return layers
}

// weight returns the factor that turns a difference of sums into a difference of means in standard
// errors. In an interval of L values with the sum T, let S be the sum of the first k values. The
// statistic of the split after k values is |S - kT/L| sqrt(L / (k (L-k))), the CUSUM. For normal
// noise it is the likelihood ratio (Hawkins 1977, "Testing a sequence of observations for a shift
// in location", JASA 72).
func weight(k, length int) float64 {
	return math.Sqrt(float64(length) / (float64(k) * float64(length-k)))
}

// sums returns the sums of the first 0, 1, 2 ... values.
func sums(x []float64) []float64 {
	sum := make([]float64, len(x)+1)
	for i, v := range x {
		sum[i+1] = sum[i] + v
	}
	return sum
}

// bestSplit returns the split with the largest statistic, from the sums of a series.
func bestSplit(sum []float64) int {
	at, most, n := 0, -1.0, len(sum)-1
	slope := (sum[n] - sum[0]) / float64(n)
	for k := MinSegment; k <= n-MinSegment; k++ {
		if v := math.Abs(sum[k]-sum[0]-float64(k)*slope) * weight(k, n); v > most {
			at, most = k, v
		}
	}
	return at
}

// bestInterval returns the largest statistic of all splits that are tried, and the interval that
// has it.
func bestInterval(layers []layer, sum []float64) (most float64, from, to int) {
	for _, l := range layers {
		for _, start := range l.starts {
			base := sum[start]
			all := sum[start+l.length] - base
			for _, t := range l.tries {
				if v := math.Abs(sum[start+t.before]-base-t.fraction*all) * t.weight; v > most {
					most, from, to = v, start, start+l.length
				}
			}
		}
	}
	return most, from, to
}

// rare reports whether a random order of the values x reaches the statistic most with a probability
// of at most level. It tries N random orders and allows b of them to reach the statistic. If the
// order of the values means nothing, at most b of N reach it with a probability of at most
// (b+1)/(N+1) (Dwass 1957, "Modified randomization tests for nonparametric hypotheses", Ann. Math.
// Stat. 28). With a larger b the answer depends less on chance, but takes longer. In a series
// without change, rare returns early, as soon as more than b orders reach the statistic (Besag and
// Clifford 1991, "Sequential Monte Carlo p-values", Biometrika 78).
func rare(layers []layer, x []float64, most, level float64) bool {
	allowed := min(9, 200/len(x))
	random := rand.New(rand.NewPCG(seed(x), 0))
	shuffle := shuffler(x, random)
	sum := make([]float64, len(x)+1)
	reached := 0
	for n := int(math.Ceil(float64(allowed+1)/level)) - 1; n > 0; n-- {
		for i, v := range shuffle() {
			sum[i+1] = sum[i] + v
		}
		if reaches(layers, sum, most) {
			if reached++; reached > allowed {
				return false
			}
		}
	}
	return true
}

// reaches reports whether any split that is tried reaches the statistic most. It does the same as
// bestInterval, but stops at the first success, because nearly all of the time is spent in this
// loop.
func reaches(layers []layer, sum []float64, most float64) bool {
	for i := range layers {
		l := &layers[i]
		for _, start := range l.starts {
			part := sum[start : start+l.length+1]
			base := part[0]
			all := part[l.length] - base
			for _, t := range l.tries {
				if v := (part[t.before] - base - t.fraction*all) * t.weight; v >= most || v <= -most {
					return true
				}
			}
		}
	}
	return false
}
