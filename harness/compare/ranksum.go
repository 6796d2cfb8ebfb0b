package compare

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// rankSum returns the probability that the second sample lies this far above the first, or further,
// if both come from one distribution. It is the one-sided test of Mann and Whitney (On a Test of
// Whether one of Two Random Variables is Stochastically Larger than the Other, 1947). benchmath
// gives the two-sided probability; half of it belongs to the side on which the samples lie.
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

// differences counts the pairs in which the second value minus the first is at most v. Both samples
// are sorted.
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

// exactSums is the largest sample size for which an interval uses the exact distribution.
const exactSums = 25

// rankSumOrder returns the position, counted from 1, of an interval's lower end among the sorted
// differences between two samples of n and m values. It is the largest c with P(U < c) <= tail, or
// 0 if each sample has fewer than 4 values.
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
// Lehmann: the median of all differences. The ends of the interval are two of these differences
// (Moses; see Hollander, Wolfe and Chicken, section 4.3).
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
