package changepoint

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"vramsoak/harness/shape"
)

// A noise describes how the values scatter around their levels: as an autoregressive process of
// order 1, in which a part of each deviation carries over to the next night.
type noise struct {
	variance    float64
	correlation float64 // of neighbouring nights, 0 to mostCorrelated
	free        float64 // degrees of freedom of the variance; infinite if it is taken as known
	// jump is the largest deviation if the noise is of rare jumps: at least half of the values are
	// equal. Otherwise it is 0.
	jump float64
}

// mostCorrelated limits the estimated correlation. At 1 a level would not exist.
const mostCorrelated = 0.99

// newNoise returns the noise of n values around k levels. The parameter squares is the sum of the
// squared deviations from the levels, and neighbours is the sum of the products of neighbouring
// deviations. The parameter lengths holds the number of values at each level. With fewer than
// window values, correlation cannot be told from a change, and newNoise assumes none.
//
// Deviations from an estimated level look less correlated than they are, and smaller. Both are
// corrected (Marriott and Pope 1954, "Bias in the estimation of autocorrelations", Biometrika
// 41). The degrees of freedom follow Bayley and Hammersley 1946, "The effective number of
// independent observations in an autocorrelated time series", J. R. Stat. Soc. Suppl. 8.
func newNoise(squares, neighbours float64, lengths []int, resolution float64) noise {
	n, k := 0.0, float64(len(lengths))
	for _, length := range lengths {
		n += float64(length)
	}
	r := 0.0
	if squares > 0 && n >= window {
		r = neighbours / squares
		r = max(0, min(mostCorrelated, r+k*(1+2*r)/n))
	}
	left := n
	for _, length := range lengths {
		left -= inflation(r, length)
	}
	const least = 0.02 // of the values are left, however correlated they are
	// Rounding errors lie anywhere between -resolution and +resolution.
	rounding := resolution * resolution / 3
	return noise{
		variance:    max(rounding, squares/max(left, least*n)),
		correlation: r,
		free:        max(1, (n-k)*(1-r*r)/(1+r*r)),
	}
}

// inflation returns by which factor the variance of a mean of n values is larger than that of
// independent values, if neighbouring values have the correlation r.
func inflation(r float64, n int) float64 {
	if r == 0 {
		return 1
	}
	m := float64(n)
	return (1+r)/(1-r) - 2*r*(1-math.Pow(r, m))/(m*(1-r)*(1-r))
}

// meanVariance returns the variance of the mean of n values.
func (e noise) meanVariance(n int) float64 {
	return e.variance * inflation(e.correlation, n) / float64(n)
}

// p returns the two-sided p value of the difference step between the means of b and of a values,
// by Student's t test.
func (e noise) p(step float64, b, a int) float64 {
	variance := e.meanVariance(b) + e.meanVariance(a)
	if variance == 0 {
		if step == 0 {
			return 1
		}
		return 0
	}
	t := math.Abs(step) / math.Sqrt(variance)
	if e.jump > 0 {
		// Means of rare jumps are not normal. Bernstein's inequality holds for any noise that
		// deviates by at most jump (Bernstein 1924; Hoeffding 1963, "Probability inequalities for
		// sums of bounded random variables", JASA 58).
		far := e.jump / math.Sqrt(variance) / float64(min(b, a))
		return min(1, 2*math.Exp(-t*t/2/(1+t*far/3)))
	}
	if math.IsInf(e.free, 1) {
		return 2 * distuv.UnitNormal.Survival(t)
	}
	return 2 * distuv.StudentsT{Sigma: 1, Nu: e.free}.Survival(t)
}

// minRobust is the smallest number of values that tell a wild night from the noise. With fewer,
// the median distance may be small by chance, and all large deviations would count as wild.
const minRobust = 20

// robust returns the noise of values around their levels, and the mean of each level. Values far
// from the median of their level are pulled towards it, as in [scores]. The parameter bounds
// holds the first index of each level, and the end of the last one.
func robust(values []float64, bounds []int, resolution float64) (means []float64, e noise) {
	distances := make([]float64, 0, bounds[len(bounds)-1]-bounds[0])
	medians := make([]float64, len(bounds)-1)
	lengths := make([]int, len(bounds)-1)
	for i := range medians {
		level := values[bounds[i]:bounds[i+1]]
		medians[i], lengths[i] = shape.Median(level), len(level)
		for _, v := range level {
			distances = append(distances, math.Abs(v-medians[i]))
		}
	}
	largest := slices.Max(distances)
	scale, rare := spread(distances)
	limit := farthest * scale
	if len(distances) < minRobust {
		limit = largest
	}
	squares, neighbours := 0.0, 0.0
	means = make([]float64, len(medians))
	for i, middle := range medians {
		level := values[bounds[i]:bounds[i+1]]
		mean := 0.0
		for _, v := range level {
			mean += max(-limit, min(limit, v-middle)) / float64(len(level))
		}
		means[i] = middle + mean
		last := 0.0
		for _, v := range level {
			d := max(-limit, min(limit, v-middle)) - mean
			squares += d * d
			neighbours += d * last
			last = d
		}
	}
	e = newNoise(squares, neighbours, lengths, resolution)
	if rare {
		e.jump = min(limit, largest)
	}
	return means, e
}

// spread returns the standard deviation of normal noise that has these distances from its median.
// It is the median distance times [shape.NormalMAD]. If at least half of the values are equal,
// spread takes the median of the other distances, and reports rare jumps.
func spread(distances []float64) (deviation float64, rare bool) {
	if scale := shape.Median(distances); scale > 0 {
		return shape.NormalMAD * scale, false
	}
	jumps := slices.DeleteFunc(slices.Clone(distances), func(d float64) bool { return d == 0 })
	if len(jumps) == 0 {
		return 0, true
	}
	return shape.NormalMAD * shape.Median(jumps), true
}
