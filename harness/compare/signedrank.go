package compare

import (
	"cmp"
	"math"
	"slices"
)

// A shift is how far one sample of values lies above another: the estimate, and the ends low and
// high of an interval that contains the true shift with the probability [Confidence]. The ends are
// infinite if there are too few values.
type shift struct{ estimate, low, high float64 }

// Confidence is the probability with which an interval contains the true value.
const Confidence = 0.95

// tail is the probability that the true value lies beyond one end of an interval.
const tail = (1 - Confidence) / 2

// exactPairs is the largest number of pairs for which the exact distribution of rank sums is
// computed. For more pairs the normal distribution is used. Its tail is heavier, which makes it the
// more careful of the two.
const exactPairs = 200

// signedRank returns the probability that differences like these, or larger ones, come from a
// distribution that is symmetric about 0. It is the one-sided test of Wilcoxon (Individual
// Comparisons by Ranking Methods, 1945). Equal sizes get their mean rank. Zeros are ranked and then
// left out (Pratt, Remarks on Zeros and Ties in the Wilcoxon Signed Rank Procedures, 1959). A
// difference is positive or negative with equal probability, so the distribution is exact even if
// sizes are equal.
func signedRank(differences []float64) float64 {
	sorted := slices.SortedFunc(slices.Values(differences),
		func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	var ranks []int // each rank doubled, so that the mean of two ranks is an integer
	positive := 0
	for i := 0; i < len(sorted); {
		end := i + 1
		for end < len(sorted) && math.Abs(sorted[end]) == math.Abs(sorted[i]) {
			end++
		}
		rank := i + 1 + end
		for ; i < end; i++ {
			if sorted[i] == 0 {
				continue
			}
			ranks = append(ranks, rank)
			if sorted[i] > 0 {
				positive += rank
			}
		}
	}
	if len(ranks) > exactPairs {
		mean, variance := 0.0, 0.0
		for _, r := range ranks {
			mean += float64(r) / 2
			variance += float64(r) * float64(r) / 4
		}
		// The subtraction of 1 is the continuity correction: half a step of the sum, doubled because the
		// ranks are doubled.
		return normalAbove((float64(positive) - 1 - mean) / math.Sqrt(variance))
	}
	p := 0.0
	for _, q := range signSums(ranks)[positive:] {
		p += q
	}
	return min(1, p)
}

// signSums returns, for each possible sum of the positive ranks, its probability. Each rank is
// positive with the probability 1/2.
func signSums(ranks []int) []float64 {
	sum := 0
	for _, r := range ranks {
		sum += r
	}
	p := make([]float64, sum+1)
	p[0] = 1
	top := 0
	for _, r := range ranks {
		top += r
		for s := top; s >= 0; s-- {
			p[s] /= 2
			if s >= r {
				p[s] += p[s-r] / 2
			}
		}
	}
	return p
}

// normalAbove returns the probability that a standard normal variable is above z.
func normalAbove(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// normalQuantile returns the z that a standard normal variable exceeds with the probability p.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*p) }

// signedRankOrder returns where the lower end of an interval lies among the sorted Walsh averages
// of n differences (see [pairedShift]), counted from 1. It is the largest c with P(W < c) <= tail,
// where W is the sum of those of the ranks 1 to n that get a positive sign by chance. It is 0 if n
// is below 6.
func signedRankOrder(n int) int {
	if n > exactPairs {
		f := float64(n)
		return int(f*(f+1)/4 - normalQuantile(tail)*math.Sqrt(f*(f+1)*(2*f+1)/24))
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	below := 0.0
	for c, p := range signSums(ranks) {
		if below += p; below > tail {
			return c
		}
	}
	return 0
}

// pairedShift returns the shift of paired values from their differences, by the method of Hodges
// and Lehmann (Estimates of Location Based on Rank Tests, 1963). The estimate is the median of the
// Walsh averages: the means of every two differences, and of each difference with itself. The ends
// of the interval are two of these averages (Tukey; see Hollander, Wolfe and Chicken, Nonparametric
// Statistical Methods, section 3.3).
func pairedShift(differences []float64) shift {
	sorted := slices.Sorted(slices.Values(differences))
	n := len(sorted)
	means := n * (n + 1) / 2
	atMost := func(v float64) int {
		count, j := 0, n-1
		for i := range sorted {
			for j >= i && sorted[i]/2+sorted[j]/2 > v {
				j--
			}
			if j < i {
				break
			}
			count += j - i + 1
		}
		return count
	}
	s := shift{middle(means, atMost), math.Inf(-1), math.Inf(1)}
	if c := signedRankOrder(n); c > 0 {
		s.low, s.high = kth(c, atMost), kth(means+1-c, atMost)
	}
	return s
}
