package compare

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// rankSum returns the probability that the second sample lies this far above the first, or further,
// if both come from the same distribution. It is the one-sided test of Mann and Whitney (On a Test
// of Whether one of Two Random Variables is Stochastically Larger than the Other, 1947). benchmath
// gives the probability of both sides together; half of it belongs to each side.
func rankSum(first, second []float64) float64 {
	a := benchmath.NewSample(slices.Clone(first),
		&benchmath.DefaultThresholds) // sorts its argument
	b := benchmath.NewSample(slices.Clone(second), &benchmath.DefaultThresholds)
	half := benchmath.AssumeNothing.Compare(a, b).P / 2
	below := differences(a.Values, b.Values, math.Nextafter(0, -1))
	above := len(first)*len(second) - differences(a.Values, b.Values, 0)
	if above > below {
		return half
	}
	return 1 - half
}

// differences returns the number of pairs of values, one of each sample, in which the second value
// minus the first is at most v. Both samples must be sorted.
func differences(first, second []float64, v float64) int {
	count, j := 0, 0
	for _, x := range first {
		for j < len(second) && second[j]-x <= v {
			j++
		}
		count += j
	}
	return count
}

// exactSums is the largest sample size for which the ends of an interval come from the exact
// distribution. Larger samples use the normal distribution.
const exactSums = 25

// rankSumOrder returns where the lower end of an interval lies among the sorted differences between
// two samples of n and m values, counted from 1. It is the largest c with P(U < c) <= tail, where U
// is the statistic of Mann and Whitney's test. It is 0 if both samples have fewer than 4 values.
func rankSumOrder(n, m int) int {
	if max(n, m) > exactSums {
		product := float64(n) * float64(m)
		c := product/2 - normalQuantile(tail)*math.Sqrt(product*float64(n+m+1)/12)
		return max(0, int(c))
	}
	u := stats.UDist{N1: n, N2: m}
	below := 0.0
	for c := 0; ; c++ {
		if below += u.PMF(float64(c)); below > tail {
			return c
		}
	}
}

// unpairedShift returns how far the second sample lies above the first, by the method of Hodges and
// Lehmann. The estimate is the median of all differences between a value of the second sample and
// one of the first. The ends of the interval are two of these differences (Moses; see Hollander,
// Wolfe and Chicken, section 4.3).
func unpairedShift(first, second []float64) shift {
	a, b := slices.Sorted(slices.Values(first)), slices.Sorted(slices.Values(second))
	count := len(a) * len(b)
	atMost := func(v float64) int { return differences(a, b, v) }
	s := shift{middle(count, atMost), math.Inf(-1), math.Inf(1)}
	if c := rankSumOrder(len(a), len(b)); c > 0 {
		s.low, s.high = kth(c, atMost), kth(count+1-c, atMost)
	}
	return s
}
