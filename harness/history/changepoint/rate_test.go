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
	histories = flag.Int("histories", 60, "clean histories of each kind in TestFalseAlarms")
	tries     = flag.Int("tries", 4, "histories with a step of each kind in TestPower")
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

// alarms counts histories with a false alarm.
type alarms struct {
	last  int // after the last night
	night int // after any night
	plain int // by the usual practice, after the last night
}

// quadratic is the largest number of nights that the usual practice judges here. Its time grows
// with the square of that number.
const quadratic = 200

// countAlarms judges histories of n nights without change, each night in turn.
func countAlarms(n, histories int, night noise, level float64) (a alarms) {
	r := rand.New(rand.NewPCG(2026, uint64(n)))
	for range histories {
		x := night(r, n)
		d := changepoint.NewDetector(level, 0)
		for _, v := range x {
			d.Add(v)
		}
		if len(d.Changes) > 0 {
			a.last++
		}
		if len(d.Changes)+len(d.Gone) > 0 {
			a.night++
		}
		if n <= quadratic && plainEDivisive(x, level) {
			a.plain++
		}
	}
	return a
}

// TestFalseAlarms counts false alarms in clean histories, at levels of 0.1 % and 1 %. For
// comparison it counts the false alarms of E-divisive with a t test of its best split. It prints
// the table of docs/explanation/change-points.md.
func TestFalseAlarms(t *testing.T) {
	t.Logf("| noise | nights | level | histories | E-divisive and t test | last night | any night |")
	for _, kind := range []struct {
		name string
		noise
		normal bool
	}{
		{"normal", normal, true},
		{"heavy tails", heavy, false},
		{"two values", twoLevels, false},
		{
			"correlation 0.3", func(r *rand.Rand, n int) []float64 { return following(r, n, 0.3) }, false,
		},
		{
			"correlation 0.6", func(r *rand.Rand, n int) []float64 { return following(r, n, 0.6) }, false,
		},
	} {
		for _, nights := range []int{20, 50, 200, 1000} {
			count := *histories
			if nights == 1000 {
				count = max(1, count/4) // they take long
			}
			for _, level := range []float64{0.001, 0.01} {
				a := countAlarms(nights, count, kind.noise, level)
				share := func(n int) float64 { return float64(n) / float64(count) }
				t.Logf("| %s | %d | %.1f %% | %d | %.2f %% | %.2f %% | %.2f %% |", kind.name, nights,
					100*level, count, 100*share(a.plain), 100*share(a.last), 100*share(a.night))

				// The count is binomial. If the level is kept, the count exceeds most with a probability of
				// about 1e-4. The level is that of the whole life of a history, give or take a factor of two.
				n := float64(count)
				most := 2*level + 3.7*math.Sqrt(2*level*(1-2*level)/n) + 1/n
				if kind.normal && share(a.night) > most {
					t.Errorf("%d nights: a false alarm in %.2f %% of the histories, want at most %.2f %%",
						nights, 100*share(a.night), 100*most)
				}
				// Whatever the noise, not more changes stay than the plain test gives.
				plain := float64(a.plain)
				if nights <= quadratic && float64(a.last) > plain+3.7*math.Sqrt(plain+1)+1 {
					t.Errorf("%s, %d nights: %d histories end with a change, and %d by the plain test", kind.name,
						nights, a.last, a.plain)
				}
				if kind.normal && level == 0.01 && nights >= 50 && nights <= quadratic &&
					share(a.plain) < 3*level {
					t.Errorf("%d nights: the plain test gives a false alarm in %.2f %% only, so that there was "+
						"nothing to mend", nights, 100*share(a.plain))
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

// stepAt returns noise with a step after n-since nights.
func stepAt(r *rand.Rand, n, since int, correlation, step float64) []float64 {
	x := following(r, n, correlation)
	for i := n - since; i < n; i++ {
		x[i] += step
	}
	return x
}

// TestPower counts how often a step is found, at levels of 0.1 % and 0.005 %. The second is 0.1 %
// divided among 20 metrics.
func TestPower(t *testing.T) {
	t.Logf("| nights | since | correlation | step, standard deviations | level | found | " +
		"at the right night |")
	type kind struct {
		nights, since            int
		correlation, step, level float64
		least                    float64 // the smallest accepted rate
	}
	kinds := []kind{
		{10, 4, 0, 20, 0.001, 0.99},
		{20, 10, 0, 5, 0.001, 0.95},
		{20, 10, 0, 5, 0.00005, 0.8},
		{50, 1, 0, 10, 0.001, 0.95},
		{50, 3, 0, 10, 0.001, 0.95},
		{50, 25, 0, 2, 0.001, 0.75},
		{200, 5, 0, 5, 0.00005, 0.95},
		{200, 20, 0, 3, 0.00005, 0.95},
		{200, 100, 0, 1, 0.00005, 0.6},
	}
	// The power does not fall with the length of the history, or if nights resemble each other.
	for _, correlation := range []float64{0, 0.3, 0.6} {
		for _, nights := range []int{99, 110, 200, 1000} {
			for _, since := range []int{5, nights / 10, nights / 2} {
				kinds = append(kinds, kind{nights, since, correlation, 10, 0.001, 0.95})
			}
		}
	}
	for _, c := range kinds {
		r := rand.New(rand.NewPCG(2026, uint64(c.nights)))
		found, right, tries := 0, 0, *tries
		if c.least < 0.9 { // of a few tries, even none found would be chance
			tries = max(tries, 20)
		}
		for range tries {
			changes := find(stepAt(r, c.nights, c.since, c.correlation, c.step), 0, c.level)
			if len(changes) > 0 {
				found++
			}
			if slices.Contains(changes, c.nights-c.since) {
				right++
			}
		}
		n := float64(tries)
		t.Logf("| %d | %d | %g | %g | %g %% | %.1f %% | %.1f %% |", c.nights, c.since, c.correlation,
			c.step, 100*c.level, 100*float64(found)/n, 100*float64(right)/n)
		// With a rate of least, fewer are found with a probability of about 1e-4.
		if float64(found) < n*c.least-3.7*math.Sqrt(n*c.least*(1-c.least))-1 {
			t.Errorf("%d nights, correlation %g, a step of %g standard deviations since %d: found %.1f %%, "+
				"want %.1f %%", c.nights, c.correlation, c.step, c.since, 100*float64(found)/n, 100*c.least)
		}
	}
}

// BenchmarkFind judges one series of 10,000 nights, every night in turn: one without change, and
// one whose level changes every 500 nights.
func BenchmarkFind(b *testing.B) {
	for name, every := range map[string]int{"10000 nights": 10000, "10000 nights with 19 steps": 500} {
		r := rand.New(rand.NewPCG(1, 1))
		x := normal(r, 10000)
		for i := range x {
			x[i] += float64(i / every % 2 * 10)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				find(x, 0, 0.001)
			}
		})
	}
}
