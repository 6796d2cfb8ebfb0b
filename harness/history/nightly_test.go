package history

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/harness/history/changepoint"
	"vramsoak/harness/shape"
)

var nightlyTries = flag.Int("nightly.tries", 2, "histories of each kind in TestNightByNight")

// scatter returns noise of n nights: AR(1), with a standard deviation of 1.
func scatter(r *rand.Rand, n int, correlation float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
		if i > 0 {
			x[i] = correlation*x[i-1] + math.Sqrt(1-correlation*correlation)*x[i]
		}
	}
	return x
}

// TestNightByNight judges histories night by night, as a gate does. In each, the metric gets worse
// and stays so. A regression on which the gate fails must stay in every later night, unless the
// report says what made it no regression, and then what it says must be true. A real regression
// must hardly ever go.
func TestNightByNight(t *testing.T) {
	const level = 100.0 // a change of 1 % matters, and is one standard deviation
	policy := check.DefaultPolicy().Regression
	t.Logf("| nights | correlation | step, standard deviations | histories | failed | passed again |")
	for _, nights := range []int{20, 50, 200, 1000} {
		for _, correlation := range []float64{0, 0.3, 0.6} {
			for _, step := range []float64{0.9, 1.1, 2, 3, 5, 10} {
				t.Run(fmt.Sprintf("%d nights, correlation %g, step %g", nights, correlation, step),
					func(t *testing.T) {
						r := rand.New(rand.NewPCG(uint64(nights), uint64(10*step)))
						failed, again := 0, 0
						for range *nightlyTries {
							since := nights/4 + r.IntN(nights/2)
							s := &Series{Unit: check.Ratio, Values: scatter(r, nights, correlation)}
							for i := range s.Values {
								s.Values[i] += level
								s.Runs = append(s.Runs, i)
								if i >= since {
									s.Values[i] += step
								}
							}
							f, a := followGate(t, s, policy, since)
							failed += f
							again += a
						}
						t.Logf("| %d | %g | %g | %d | %d | %d |", nights, correlation, step, *nightlyTries, failed,
							again)
						// With strong correlation, a small step found in fewer than 40 nights is not credible later:
						// the report says so. Otherwise a rate of 2 % is exceeded with a probability of about 1e-4.
						n := float64(failed)
						plain := correlation < 0.5 && step >= 2 || step >= 5
						if plain && float64(again) > 1+0.02*n+3.7*math.Sqrt(0.02*n) {
							t.Errorf("of %d regressions, %d were lost", failed, again)
						}
					})
			}
		}
	}
}

// TestGateOfDrift: along a slow drift each night resembles the night before it, so scatter would
// explain any difference. And a step may return for a single night. In both, the gate must fail on
// every night from the first failure on while the level is up.
func TestGateOfDrift(t *testing.T) {
	policy := check.DefaultPolicy().Regression
	for _, c := range []struct {
		name  string
		noise float64
		level func(night int) float64 // above 500, in percent of which 1 matters
	}{
		{"a drift", 0.5, func(i int) float64 { return float64(i) }},
		{"a drift that begins late", 0.5, func(i int) float64 { return 3 * float64(max(0, i-60)) }},
		{"a slow drift in much noise", 5, func(i int) float64 { return float64(max(0, i-60)) }},
		{"a step", 0, func(i int) float64 { return 100 * float64(min(1, i/20)) }},
		{"a step that was back once", 0, func(i int) float64 {
			if i == 25 {
				return 0
			}
			return 100 * float64(min(1, i/20))
		}},
	} {
		for seed := range uint64(5) {
			r := rand.New(rand.NewPCG(seed, 7))
			s := &Series{Unit: check.Bytes}
			for i := range 400 {
				s.Runs = append(s.Runs, i)
				s.Values = append(s.Values, (500+c.level(i)+c.noise*r.NormFloat64())*1e6)
			}
			j := newJudge(s, policy, float64(policy.FalseAlarms))
			failed := false
			for n := 1; n <= len(s.Values); n++ {
				j.add(n)
				fails := slices.ContainsFunc(j.changes(), func(c Change) bool { return c.Lasting })
				if failed && !fails && c.level(n-1) > 0 {
					t.Errorf("%s: night %d passes at %.0f", c.name, n, s.Values[n-1]/1e6)
					break
				}
				failed = failed || fails
			}
			if !failed {
				t.Errorf("%s: no night fails", c.name)
			}
		}
	}
}

// followGate judges a series night by night. It returns 1 if the gate failed after the regression
// began, and 1 if it passed later.
func followGate(
	t *testing.T, s *Series, policy check.RegressionPolicy, since int,
) (failed, again int) {
	t.Helper()
	j := newJudge(s, policy, float64(policy.FalseAlarms))
	var lasting []Change
	for n := 1; n <= len(s.Values); n++ {
		j.add(n)
		was := lasting
		lasting = nil
		for _, c := range j.changes() {
			if c.Lasting {
				lasting = append(lasting, c)
			}
		}
		for _, c := range was {
			same := func(other Change) bool { return other.seen == c.seen }
			if !slices.ContainsFunc(lasting, same) {
				explained(t, j, s.Values[:n], c)
			}
		}
		switch {
		case len(lasting) > 0 && n > since:
			failed = 1
		case len(was) > 0 && failed > 0:
			again = 1
		}
	}
	return failed, again
}

func mean(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

// explained fails the test unless the judge says why the regression c of the night before is none
// after all values, and the values agree.
func explained(t *testing.T, j *judge, values []float64, c Change) {
	t.Helper()
	least := j.series.least(j.policy, c.Before)
	newest := j.levels[len(j.levels)-1].median
	for _, w := range j.taken() {
		if w.seen != c.seen || w.Until != len(values)-1 {
			continue
		}
		after := values[c.Bad:]
		found := slices.IndexFunc(j.detector.Gone,
			func(g changepoint.Gone) bool { return g.Seen == c.seen })
		switch back := mean(values[len(values)-w.Back:]) - c.Before; {
		case w.Back > 0 && math.Abs(back) > math.Abs(back-j.detector.Gone[found].Step):
			t.Errorf("night %d: %d runs are said to be back at %g, but are %g above it", len(values),
				w.Back, c.Before, back)
		case w.Back == 0 && w.Small && math.Abs(shape.Median(after)-c.Before) > least/2+1e-9:
			t.Errorf("night %d: the difference is said to be small, but is from %g to %g", len(values),
				c.Before, shape.Median(after))
		}
		return
	}
	for _, c2 := range j.changes() {
		if c2.seen == c.seen && newest-c.Before < least {
			return // the level came back
		}
	}
	t.Errorf("night %d: the regression from %g to %g since night %d vanished: %+v", len(values),
		c.Before, c.After, c.Bad, j.detector.Changes)
}
