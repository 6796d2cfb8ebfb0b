package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(a, b, by float64) bool { return math.Abs(a-b) <= by }

// TestSignedRank has probabilities that were counted by hand: of the 2^n ways to give the ranks
// signs, how many give at least this sum.
func TestSignedRank(t *testing.T) {
	for _, c := range []struct {
		name        string
		differences []float64
		want        float64
	}{
		{"none", nil, 1},
		{"only zeros", []float64{0, 0, 0}, 1},
		{"all above", []float64{5, 1, 2, 9, 3}, 1. / 32},
		{"all below", []float64{-5, -1, -2, -9, -3}, 1},
		{"the least is below", []float64{3, -1, 2}, 2. / 8}, // ranks 1 2 3, sum 5; one sum is 5, one is 6
		{"ties share a rank", []float64{1, 1, -1}, 4. / 8},
		// In the case above, the ranks are 2 2 2, and the positive ones add up to 4. Of the 8 sums three
		// are 4, and one is 6. In the case below, the ranks are 2 and 3, and the sum is 3. Of the 4 sums
		// one is 3, and one is 5.
		{"zeros take the low ranks", []float64{0, -1, 2}, 2. / 4},
		{"a zero and all above", []float64{0, 1, 2}, 1. / 4},
		// These are Hollander and Wolfe's depression scale factors. R's wilcox.test(x, y, paired = TRUE,
		// alternative = "greater") gives V = 40, p = 0.01953, which is 10/512.
		{"depression", depression, 10. / 512},
	} {
		if got := signedRank(c.differences); !near(got, c.want, 1e-12) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

var depression = []float64{
	1.83 - 0.878, 0.50 - 0.647, 1.62 - 0.598, 2.48 - 2.05, 1.68 - 1.06, 1.88 - 1.29, 1.55 - 1.06,
	3.06 - 3.14, 1.30 - 1.29,
}

// TestSignedRankOrder uses the critical values of the signed-rank test, two-sided 5 %, from
// published tables. The interval begins one rank after the critical value.
func TestSignedRankOrder(t *testing.T) {
	for n, critical := range map[int]int{
		6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25, 16: 29, 17: 34, 18: 40,
		19: 46, 20: 52, 25: 89,
	} {
		if got := signedRankOrder(n); got != critical+1 {
			t.Errorf("%d differences: got %d, want %d", n, got, critical+1)
		}
	}
	for n := range leastFiles {
		if got := signedRankOrder(n); got != 0 {
			t.Errorf("%d differences: got %d, want none", n, got)
		}
	}
}

// TestNormalTakesOver: at the largest number of pairs for which the exact distribution is used, the
// normal distribution gives nearly the same probabilities, mostly slightly larger ones.
func TestNormalTakesOver(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		d := make([]float64, exactPairs+1)
		for i := range d {
			d[i] = r.NormFloat64() + 0.15
		}
		exact, normal := signedRank(d[:exactPairs]),
			signedRank(append(slices.Clone(d[:exactPairs]), 1e-9))
		if exact < 1e-2 && (normal < 0.9*exact || normal > 2*exact) {
			t.Errorf("exact %v, normal %v", exact, normal)
		}
	}
	if a, b := signedRankOrder(exactPairs), signedRankOrder(exactPairs+1); b <= a || b > a+100 {
		t.Errorf("order of the interval: %d of 200, then %d of 201", a, b)
	}
}

// TestPairedShift: for their depression scale factors, Hollander and Wolfe give an estimate of 0.46
// and an interval from 0.010 to 0.786 at 96.1 %.
func TestPairedShift(t *testing.T) {
	got := pairedShift(depression)
	if !near(got.estimate, 0.46, 1e-9) || !near(got.low, 0.010, 1e-9) || !near(got.high, 0.786, 1e-9) {
		t.Errorf("got %+v", got)
	}
	few := pairedShift([]float64{1, 2, 4})
	if few.estimate != 2.25 || !math.IsInf(few.low, -1) ||
		!math.IsInf(few.high, 1) { // of 1 1.5 2 2.5 3 4
		t.Errorf("got %+v", few)
	}
}

var (
	atTerm  = []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	earlier = []float64{1.15, 0.88, 0.90, 0.74, 1.21}
)

// TestRankSum uses Hollander and Wolfe's permeability constants of the human chorioamnion. R's
// wilcox.test(x, y, alternative = "g") gives W = 35, p = 0.1272. The estimated difference is 0.305,
// with an interval from -0.15 to 0.76.
func TestRankSum(t *testing.T) {
	if got := rankSum(earlier, atTerm); !near(got, 0.1272, 5e-5) {
		t.Errorf("got %v", got)
	}
	if got := rankSum(atTerm, earlier); got < 0.5 {
		t.Errorf("the other way round: got %v", got)
	}
	if got := unpairedShift(earlier, atTerm); !near(got.estimate, 0.305, 1e-9) ||
		!near(got.low, -0.15, 1e-9) || !near(got.high, 0.76, 1e-9) {
		t.Errorf("got %+v", got)
	}
	// Of all orders of 6 values, in a share of 3! 3! / 6! = 1/20 one sample lies wholly above the
	// other.
	if got := rankSum([]float64{1, 2, 3}, []float64{4, 5, 6}); !near(got, 1./20, 1e-12) {
		t.Errorf("got %v", got)
	}
	if got := rankSum([]float64{1, 1}, []float64{1, 1}); got < 0.5 {
		t.Errorf("all alike: got %v", got)
	}
	if !slices.Equal(atTerm[:3], []float64{0.80, 0.83, 1.89}) {
		t.Error("the sample was sorted in its place")
	}
}

// TestRankSumOrder uses the critical values of U for a two-sided test at 5 %, from published
// tables.
func TestRankSumOrder(t *testing.T) {
	for _, c := range []struct{ n, m, critical int }{
		{4, 4, 0},
		{5, 5, 2},
		{6, 6, 5},
		{7, 7, 8},
		{8, 8, 13},
		{8, 10, 17},
		{10, 10, 23},
		{15, 15, 64},
		{20, 20, 127},
		{3, 3, -1},
	} {
		if got := rankSumOrder(c.n, c.m); got != c.critical+1 {
			t.Errorf("%d and %d: got %d, want %d", c.n, c.m, got, c.critical+1)
		}
	}
	if exact, normal := rankSumOrder(exactSums, exactSums),
		rankSumOrder(exactSums+1, exactSums); normal <= exact || normal > exact+15 {
		t.Errorf("the normal distribution takes over with %d after %d", normal, exact)
	}
}

// TestKth compares kth with sorting.
func TestKth(t *testing.T) {
	values := []float64{3, -7.5, 0, 1e300, -1e-300, 3, math.MaxFloat64}
	sorted := slices.Sorted(slices.Values(values))
	for k, want := range sorted {
		got := kth(k+1, func(v float64) int {
			n := 0
			for _, x := range values {
				if x <= v {
					n++
				}
			}
			return n
		})
		if got != want {
			t.Errorf("%d: got %v, want %v", k+1, got, want)
		}
	}
}
