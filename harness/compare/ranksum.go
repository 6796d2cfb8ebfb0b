package compare

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// rankSum is the probability that the second of two samples lies as far above the first, or further, where both come from
// one distribution: the one-sided test of Mann and Whitney (On a Test of Whether one of Two Random Variables is
// Stochastically Larger than the Other, 1947). It is half of benchmath's two-sided one, on the side that the samples are on.
func rankSum(first, second []float64) float64 {
	a := benchmath.NewSample(slices.Clone(first), &benchmath.DefaultThresholds) // sorts what it is given
	b := benchmath.NewSample(slices.Clone(second), &benchmath.DefaultThresholds)
	half := benchmath.AssumeNothing.Compare(a, b).P / 2
	below := differences(a.Values, b.Values, math.Nextafter(0, -1))
	above := len(first)*len(second) - differences(a.Values, b.Values, 0)
	if above > below {
		return half
	}
	return 1 - half
}

// differences counts those of a value of the second sample less one of the first that are v or less. Both are sorted.
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

// exactSums is how large two samples may be to get the exact distribution for their interval.
const exactSums = 25

// rankSumOrder is which of the sorted differences between samples of n and m values is the lower end of an interval, from 1:
// the largest c with P(U < c) <= tail. 0 where there is none: fewer than 4 in each.
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

// unpairedShift is by how much the second sample lies above the first, by Hodges and Lehmann: the median of all differences.
// The interval's ends are two of these (Moses; see Hollander, Wolfe and Chicken, section 4.3).
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
