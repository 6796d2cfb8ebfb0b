package calibrate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"vramsoak/harness/calibrate"
	"vramsoak/harness/check"
	"vramsoak/harness/compare"
)

// nights returns runs of 40 files with noise in their peaks. Their speed differs from night to
// night by a fraction of about sway. Their idle level has no noise.
func nights(n int, noise, sway float64) []*compare.Baseline {
	r := rand.New(rand.NewPCG(1, 2))
	var runs []*compare.Baseline
	for night := range n {
		m := check.Measurements{Metrics: []check.Metric{
			{Name: "peak", Unit: check.Bytes},
			{Name: "throughput", Unit: check.TimesRealTime, HigherIsBetter: true},
			{Name: "recovery of Whisper Cleanup", Unit: check.Ratio, HigherIsBetter: true},
			{Name: check.IdleLevel, Unit: check.Bytes},
		}}
		speed := 30 * math.Exp(sway*r.NormFloat64())
		for i := range 40 {
			m.Files = append(m.Files, check.MeasuredFile{Path: fmt.Sprintf("%d.wav", i), Index: i + 1})
			for k, v := range []float64{
				(4096 + float64(i) + noise*r.NormFloat64()) * mib, speed * math.Exp(0.01*r.NormFloat64()),
				0.98 + 0.001*r.Float64(), 100 * mib,
			} {
				m.Metrics[k].Values = append(m.Metrics[k].Values, v)
			}
		}
		runs = append(runs, compare.New(m, compare.RunInfo{
			Log:     fmt.Sprint("night ", night),
			Verdict: check.Pass,
		}))
	}
	return runs
}

func metric(t *testing.T, r *calibrate.Report, name string) calibrate.Metric {
	t.Helper()
	i := slices.IndexFunc(r.Regression.Metrics,
		func(m calibrate.Metric) bool { return m.Name == name })
	if i < 0 {
		t.Fatalf("no metric %s in %+v", name, r.Regression.Metrics)
	}
	return r.Regression.Metrics[i]
}

// TestAlike: equal runs never fail by the present limits, and the report says that these limits
// suffice.
func TestAlike(t *testing.T) {
	r := calibrated(t, nights(5, 10, 0), only(check.Regression), options(300))
	g := r.Regression
	if g.Pairs.Count != 0 || g.Pairs.Of != 20 || g.Shuffled.Count != 0 || !g.Fine ||
		len(r.Policy) > 0 {
		t.Errorf("found %+v, proposed %q, expected the present limits to do in 20 pairs", g, r.Policy)
	}
	// 5 runs have 2 independent pairs. For 0 of 2 the upper end is 1 - 0.05^(1/2) = 0.776.
	if math.Abs(g.Pairs.High-0.776) > 0.001 {
		t.Errorf("the pairs say below %g, expected 0.776", g.Pairs.High)
	}
	// Without noise, one byte above the limit fails. The limit is 8 MiB, because that is more than 1 %
	// of 100 MiB.
	if m := metric(t, r, check.IdleLevel); *m.Catches < 8*mib || *m.Catches > 8*mib+8 ||
		*m.Enough != 0 {
		t.Errorf("idle level: catches %g, enough %g, expected 8 MiB and 0", *m.Catches, *m.Enough)
	}
	// The mean of 40 differences has a standard deviation of 10 sqrt(2/40) = 2.2 MiB.
	if m := metric(t, r, "peak"); *m.Catches < m.Limit+3*mib || *m.Catches > m.Limit+20*mib {
		t.Errorf("peak: catches %g MiB, limit %g MiB", *m.Catches/mib, m.Limit/mib)
	}
}

// TestNightsThatDiffer: nights whose speed differs by about 2 % fail at a limit of 1 %. The
// proposed limit covers the largest difference.
func TestNightsThatDiffer(t *testing.T) {
	runs := nights(5, 10, 0.02)
	policy := only(check.Regression)
	policy.Regression.MinSlowdown = 0.01
	r := calibrated(t, runs, policy, options(300))
	g := r.Regression
	if g.Pairs.Count == 0 || g.Fine || g.MinEffect != 0.01 || g.MinBytes != 8*mib ||
		g.MinSlowdown <= 0.01 {
		t.Fatalf("found %+v, expected pairs that fail, and another min_slowdown", g)
	}
	if want := fmt.Sprintf("regression: {min_slowdown: %g%%}",
		100*g.MinSlowdown); !slices.Equal(r.Policy, []string{want}) {
		t.Errorf("proposed %q, want %q", r.Policy, want)
	}
	if m := metric(t, r, "throughput"); m.Fired == 0 || *m.Enough > g.MinSlowdown*m.Base ||
		*m.Catches < *m.Enough-m.Limit {
		t.Errorf("throughput: %+v", m)
	}
	// At the proposed limit no pair fails.
	policy.Regression.MinSlowdown = check.Share(g.MinSlowdown)
	again := calibrated(t, runs, policy, options(300))
	if again.Regression.Pairs.Count != 0 || !again.Regression.Fine {
		t.Errorf("with the proposed limits: %+v", again.Regression)
	}
}

// TestNoisyPeaks: if peaks are too noisy for a limit of 1 %, the report proposes a larger fraction,
// or more bytes.
func TestNoisyPeaks(t *testing.T) {
	runs := nights(4, 300, 0)
	policy := only(check.Regression)
	g := calibrated(t, runs, policy, options(300)).Regression
	if g.Undecided == 0 || g.Fine || g.MinEffect <= 0.01 {
		t.Fatalf("found %+v, expected undecided pairs and another min_effect", g)
	}
	policy.Regression.MinEffect = check.Share(g.MinEffect)
	if again := calibrated(t, runs, policy, options(300)).Regression; !again.Fine ||
		again.Undecided > 1 {
		t.Errorf("with the proposed limits: %+v", again)
	}
}

// TestExact: if runs with noise are compared byte by byte, they fail. The report then proposes the
// comparison by ranks.
func TestExact(t *testing.T) {
	policy := only(check.Regression)
	policy.Regression.Exact = true
	few := options(60)
	few.FalseAlarms = 0.05
	r := calibrated(t, nights(3, 1, 0), policy, few)
	if r.Regression.Pairs.Count != 6 || !slices.Equal(r.Policy,
		[]string{"regression: {exact: false}"}) {
		t.Errorf("found %+v, proposed %q", r.Regression.Pairs, r.Policy)
	}
}

// TestTimesOfNothing: times with a median of 0, which no log has, get no limits.
func TestTimesOfNothing(t *testing.T) {
	m := check.Measurements{Metrics: []check.Metric{{Name: "seconds a file", Unit: check.Seconds}}}
	for i := range 101 {
		m.Files = append(m.Files, check.MeasuredFile{Path: fmt.Sprintf("%d.wav", i), Index: i + 1})
		m.Metrics[0].Values = append(m.Metrics[0].Values, float64(max(0, i-51)))
	}
	run := compare.New(m, compare.RunInfo{})
	r := calibrated(t, []*compare.Baseline{run, run}, only(check.Regression), options(300))
	if g := r.Regression; len(g.Metrics) != 0 || g.Pairs.Count != 0 || !g.Fine {
		t.Errorf("found %+v, expected no metric", g)
	}
}
