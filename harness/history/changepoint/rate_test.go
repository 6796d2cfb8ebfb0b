package changepoint_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"vramsoak/harness/history/changepoint"
)

var (
	histories = flag.Int("histories", 200, "clean histories of each kind in TestFalseAlarms")
	tries     = flag.Int("tries", 6, "histories with a step of each kind in TestPower")
)

// A noise returns a history of n nights without change.
type noise func(r *rand.Rand, n int) []float64

func normal(r *rand.Rand, n int) []float64 { return following(r, n, 0) }

// following returns normal noise in which each night resembles the night before: AR(1).
func following(r *rand.Rand, n int, correlation float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
		if i > 0 {
			x[i] = correlation*x[i-1] + math.Sqrt(1-correlation*correlation)*x[i]
		}
	}
	return x
}

// heavy returns noise in which some nights are far off: Student's t with 2 degrees of freedom.
func heavy(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = distuv.StudentsT{Sigma: 1, Nu: 2, Src: r}.Rand()
	}
	return x
}

// twoLevels returns the noise of an allocator that rounds: nearly always one value, and sometimes
// another.
func twoLevels(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		if r.IntN(10) == 0 {
			x[i] = 1
		}
	}
	return x
}

// foundRate returns the fraction of histories of n nights in which the function found reports a
// change.
func foundRate(n int, night noise, found func([]float64) bool) float64 {
	r := rand.New(rand.NewPCG(2026, uint64(n)))
	count := 0
	for range *histories {
		if found(night(r, n)) {
			count++
		}
	}
	return float64(count) / float64(*histories)
}

// TestFalseAlarms counts false alarms in clean histories, at levels of 0.1 % and 1 %. For
// comparison it counts the false alarms of E-divisive with a t test of its best split. It prints
// the table of docs/explanation/change-points.md.
func TestFalseAlarms(t *testing.T) {
	t.Logf("| noise | nights | level | Find | Recent | E-divisive and t test |")
	for _, kind := range []struct {
		name string
		noise
		exchangeable bool
		normal       bool
	}{
		{"normal", normal, true, true},
		{"heavy tails", heavy, true, false},
		{"two values", twoLevels, true, false},
		{
			"correlation 0.3", func(r *rand.Rand, n int) []float64 { return following(r, n, 0.3) }, false,
			false,
		},
		{
			"correlation 0.6", func(r *rand.Rand, n int) []float64 { return following(r, n, 0.6) }, false,
			false,
		},
	} {
		for _, nights := range []int{20, 50, 200} {
			for _, level := range []float64{0.001, 0.01} {
				find := foundRate(nights, kind.noise, func(x []float64) bool {
					return len(changepoint.Find(x,
						level)) > 0
				})
				recent := foundRate(nights, kind.noise, func(x []float64) bool {
					_, found := changepoint.Recent(x, 0, level)
					return found
				})
				plain := foundRate(nights, kind.noise, func(x []float64) bool {
					return plainEDivisive(x,
						level)
				})
				t.Logf("| %s | %d | %.1f %% | %.2f %% | %.2f %% | %.2f %% |", kind.name, nights, 100*level,
					100*find, 100*recent, 100*plain)

				// The count is binomial. If the level is kept, the count exceeds most with a probability of
				// about 1e-4.
				n := float64(*histories)
				most := level + 3.7*math.Sqrt(level*(1-level)/n) + 1/n
				if kind.exchangeable && find > most {
					t.Errorf("%s, %d nights: Find gives a false alarm in %.2f %% of the histories, want at most "+
						"%.2f %%",
						kind.name, nights, 100*find, 100*most)
				}
				if kind.normal && recent > most {
					t.Errorf("%d nights: Recent gives a false alarm in %.2f %% of the histories, want at most "+
						"%.2f %%",
						nights, 100*recent, 100*most)
				}
				if kind.normal && nights >= 50 && plain < 5*level {
					t.Errorf("%d nights: the plain test gives a false alarm in %.2f %% only, so that there was "+
						"nothing to mend", nights, 100*plain)
				}
			}
		}
	}
}

// plainEDivisive reports whether the usual practice finds a change. It is known to give too many
// false alarms. It takes the split with the largest energy statistic (Matteson and James 2014, with
// exponent 1). Then it makes a t test as if that split had been fixed in advance.
func plainEDivisive(x []float64, level float64) bool {
	n := len(x)
	// within[k] is the sum of the distances of all pairs among the first k values. across[k] is the
	// sum over all pairs on different sides of the split.
	within, toEnd := make([]float64, n+1), make([]float64, n+1)
	for k := 1; k <= n; k++ {
		within[k] = within[k-1]
		for i := range k - 1 {
			within[k] += math.Abs(x[k-1] - x[i])
		}
	}
	for k := n - 1; k >= 0; k-- {
		toEnd[k] = toEnd[k+1]
		for i := k + 1; i < n; i++ {
			toEnd[k] += math.Abs(x[k] - x[i])
		}
	}
	at, most := 0, math.Inf(-1)
	for k := 3; k <= n-3; k++ {
		a, b := float64(k), float64(n-k)
		across := within[n] - within[k] - toEnd[k]
		energy := a * b / (a + b) * (2*across/(a*b) - within[k]/(a*(a-1)/2) - toEnd[k]/(b*(b-1)/2))
		if energy > most {
			at, most = k, energy
		}
	}
	return studentT(x[:at], x[at:]) < level
}

// studentT returns the two-sided p value of Student's test of two means.
func studentT(a, b []float64) float64 {
	moments := func(x []float64) (mean, squares float64) {
		for _, v := range x {
			mean += v / float64(len(x))
		}
		for _, v := range x {
			squares += (v - mean) * (v - mean)
		}
		return mean, squares
	}
	meanA, squaresA := moments(a)
	meanB, squaresB := moments(b)
	free := float64(len(a) + len(b) - 2)
	variance := (squaresA + squaresB) / free
	t := math.Abs(meanA-meanB) / math.Sqrt(variance*(1/float64(len(a))+1/float64(len(b))))
	return 2 * distuv.StudentsT{Sigma: 1, Nu: free}.Survival(t)
}

// TestPower counts how often a step is found, at levels of 0.1 % and 0.005 %. The second is 0.1 %
// divided among 20 metrics.
func TestPower(t *testing.T) {
	t.Logf("| nights | since | step, standard deviations | level | found | at the right night | " +
		"Find or Recent |")
	for _, c := range []struct {
		nights, since int
		step, level   float64
		find, either  float64 // the smallest accepted rates
	}{
		{20, 10, 5, 0.001, 0.99, 0.99},
		{20, 10, 5, 0.00005, 0.8, 0.8},
		{50, 1, 10, 0.001, 0, 0.95},
		{50, 3, 10, 0.001, 0.5, 0.95},
		{50, 25, 2, 0.001, 0.8, 0.8},
		{200, 5, 5, 0.00005, 0.5, 0.95},
		{200, 20, 3, 0.00005, 0.85, 0.85},
		{200, 100, 1, 0.00005, 0.6, 0.6},
	} {
		r := rand.New(rand.NewPCG(2026, uint64(c.nights)))
		found, right, either := 0, 0, 0
		for range *tries {
			x := normal(r, c.nights)
			at := c.nights - c.since
			for i := at; i < c.nights; i++ {
				x[i] += c.step
			}
			changes := changepoint.Find(x, c.level)
			if len(changes) > 0 {
				found++
			}
			if slices.Contains(changes, at) {
				right++
			}
			if _, recent := changepoint.Recent(x, 0, c.level); recent || len(changes) > 0 {
				either++
			}
		}
		of := func(n int) float64 { return float64(n) / float64(*tries) }
		t.Logf("| %d | %d | %g | %g %% | %.1f %% | %.1f %% | %.1f %% |",
			c.nights, c.since, c.step, 100*c.level, 100*of(found), 100*of(right), 100*of(either))
		if of(found) < c.find || of(either) < c.either {
			t.Errorf("%d nights, a step of %g standard deviations since %d: found %.1f %% and %.1f %% "+
				"with Recent, want %.1f %% and %.1f %%",
				c.nights, c.step, c.since, 100*of(found), 100*of(either), 100*c.find, 100*c.either)
		}
	}
}

// BenchmarkFind searches 1,000 nights of 20 metrics. Each metric has a step. Every fourth metric
// also has a rise that was fixed later.
func BenchmarkFind(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	series := make([][]float64, 20)
	for m := range series {
		series[m] = normal(r, 1000)
		for i := range series[m] {
			if i >= 300+20*m {
				series[m][i] += 10
			}
			if m%4 == 0 && i >= 100 && i < 140 {
				series[m][i] += 5
			}
		}
	}
	for b.Loop() {
		for _, x := range series {
			changepoint.Find(x, 0.001/20)
		}
	}
}
