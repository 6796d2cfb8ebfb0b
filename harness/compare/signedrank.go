package compare

import (
	"cmp"
	"math"
	"slices"
)

// A shift is by how much one sample lies above another: an estimate, and the ends of an interval that holds the true shift
// with the probability [Confidence]. The ends are infinite where there are too few values for any.
type shift struct{ estimate, low, high float64 }

// Confidence is that of the intervals.
const Confidence = 0.95

// tail is what is left out at each end of an interval.
const tail = (1 - Confidence) / 2

// exactPairs is how many pairs get the exact distribution of ranks. With more, the normal one takes its place; its tail is
// the heavier one.
const exactPairs = 200

// signedRank is the probability that differences such as these, or larger ones, come from a distribution that is symmetric
// about 0: the one-sided test of Wilcoxon (Individual Comparisons by Ranking Methods, 1945). Equal sizes share their mean
// rank; zeros are ranked and then left out (Pratt, Remarks on Zeros and Ties in the Wilcoxon Signed Rank Procedures, 1959).
// Given the ranks, each sign is as likely as the other: the distribution is exact with ties too.
func signedRank(differences []float64) float64 {
	sorted := slices.SortedFunc(slices.Values(differences), func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	var ranks []int // twice the rank, so that means of two are whole
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
		return normalAbove((float64(positive) - 1 - mean) / math.Sqrt(variance)) // 1 is half a rank: twice 1/2
	}
	p := 0.0
	for _, q := range signSums(ranks)[positive:] {
		p += q
	}
	return min(1, p)
}

// signSums has the probability of each sum of those ranks that get a plus, each with the probability 1/2.
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

// normalAbove is the probability that a standard normal variable is above z.
func normalAbove(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// normalQuantile is the z that is exceeded with the probability p.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*p) }

// signedRankOrder is which of the sorted Walsh averages of n differences is the lower end of an interval, from 1: the largest
// c with P(W < c) <= tail for the sum W of n ranks with random signs. 0 where there is none: n is below 6.
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

// pairedShift is the centre of differences, by Hodges and Lehmann (Estimates of Location Based on Rank Tests, 1963): the
// median of the means of every two, and of each with itself. The interval's ends are two of these means (Tukey; see
// Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, section 3.3).
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
