//go:build !race

package calibrate_test

import (
	"math"
	"testing"

	"vramsoak/fixtures"
	"vramsoak/harness/check"
	"vramsoak/harness/shape"
)

// These tests compare rates on many simulated runs with theory. The race detector would make them
// several times slower, and the other tests already run the same code with it.

// long skips a test in short mode.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: rates are not compared with theory")
	}
}

// TestWhiteNoise: on white noise the check fails at most 0.1 % of clean runs
// (docs/explanation/false-alarms.md). The standard error of a slope is sigma / sqrt(n^3 / 12). A
// leak fails with 90 % power at 3.27 standard errors, which certainty needs, plus 1.28 for the
// power, and a little more because the autocorrelation is unknown. A clean run passes if the slope
// plus two standard errors lies below the limit.
func TestWhiteNoise(t *testing.T) {
	long(t)
	const files, sigma = 50, 20.0
	se := sigma * mib / math.Sqrt(files*files*files/12.0)
	spec := fixtures.LevelSpec{Kind: "white", Files: files, Sigma: sigma}
	r := calibrated(t, levels(8, spec), only(check.Leak), options(600))
	g := r.Growth[0]
	if g.Fired.Low > 0.001 {
		t.Errorf("fired %+v, expected a rate that 0.1 %% can be", g.Fired)
	}
	if g.Catches == nil || *g.Catches < 4.2*se || *g.Catches > 7*se {
		t.Errorf("catches %v from on, expected 4.2 to 7 standard errors of %g", g.Catches, se)
	}
	if g.Enough == nil || *g.Enough < 3*se || *g.Enough > 5.5*se {
		t.Errorf("%v would be enough, expected 3 to 5.5 standard errors of %g", g.Enough, se)
	}
	if g.Fine || len(r.Policy) != 1 {
		t.Errorf("proposed %q, expected a limit for the leak", r.Policy)
	}
	if g.Noise < 0.8*sigma*mib || g.Noise > 1.2*sigma*mib {
		t.Errorf("noise of %g, made with %g", g.Noise, sigma*mib)
	}

	// Runs with FilesToPass files pass at the present limit, and runs with the present number of files
	// pass at the proposed limit.
	decided := func(files int, limit float64) (fraction float64) {
		const runs = 100
		for _, b := range levels(2*runs, fixtures.LevelSpec{
			Kind: "white", Files: files,
			Sigma: sigma,
		})[runs:] {
			one := shape.Of(shape.Series{Values: b.Metrics[0].Values, Grain: 512})
			if check.GrowthVerdict(&one, limit) == check.Pass {
				fraction += 1.0 / runs
			}
		}
		return fraction
	}
	if d := decided(g.FilesToPass, g.Limit); d < 0.8 || d > 0.98 {
		t.Errorf("of runs of %d files %g are decided, expected 0.9", g.FilesToPass, d)
	}
	if d := decided(files, *g.Enough); d < 0.8 {
		t.Errorf("with the proposed limit %g are decided, expected 0.9", d)
	}
}

// TestUnseenRuns: a calibration on eight runs also holds for other runs of the same kind, even with
// autocorrelated noise, and with a step.
func TestUnseenRuns(t *testing.T) {
	long(t)
	for _, kind := range []string{"white", "autoregressive", "step"} {
		spec := fixtures.LevelSpec{Kind: kind, Files: 40, Sigma: 20}
		const known, unseen = 8, 100
		g := calibrated(t, levels(known, spec), only(check.Leak), options(300)).Growth[0]
		fractionOf := func(growth, limit float64, want check.Verdict) (fraction float64) {
			leaking := spec
			leaking.Growth = growth / mib
			for _, b := range levels(known+unseen, leaking)[known:] {
				one := shape.Of(shape.Series{Values: b.Metrics[0].Values, Grain: 512})
				if check.GrowthVerdict(&one, limit) == want {
					fraction += 1.0 / unseen
				}
			}
			return fraction
		}
		if found := fractionOf(*g.Catches, g.Limit, check.Fail); found < 0.78 || found > 0.99 {
			t.Errorf("%s: of leaks of %g MiB a file %g are found, expected 0.9", kind, *g.Catches/mib, found)
		}
		if said, is := g.Undecided.Estimate(), fractionOf(0, g.Limit,
			check.Undecided); math.Abs(said-is) > 0.12 {
			t.Errorf("%s: %g are undecided, expected %g", kind, is, said)
		}
		if passed := fractionOf(0, *g.Enough, check.Pass); passed < 0.8 {
			t.Errorf("%s: by the proposed limit %g pass, expected 0.9", kind, passed)
		}
	}
}

// TestShapes: tries keep the shapes of clean runs, and hardly any try is a false alarm.
func TestShapes(t *testing.T) {
	long(t)
	for _, kind := range []string{"warm-up", "step", "sawtooth-5", "outliers", "audio"} {
		g := calibrated(t, levels(4, fixtures.LevelSpec{Kind: kind, Files: 30, Sigma: 1}),
			only(check.Leak), options(300)).Growth[0]
		if g.Fired.Low > 0.001 {
			t.Errorf("%s: fired %+v, expected a rate that 0.1 %% can be", kind, g.Fired)
		}
		if g.Noise > 4*mib {
			t.Errorf("%s: noise of %g MiB, made with 1", kind, g.Noise/mib)
		}
	}
}

// TestNoNoise: without noise every leak above the limit fails, and every clean run passes.
func TestNoNoise(t *testing.T) {
	g := calibrated(t, levels(2, fixtures.LevelSpec{Kind: "white", Files: 20}), only(check.Leak),
		options(4000)).Growth[0]
	if g.Fired.Count != 0 || g.Undecided.Count != 0 || g.Noise != 0 || !g.Fine {
		t.Errorf("found %+v, expected no alarm, nothing undecided and no noise", g)
	}
	if g.Catches == nil || *g.Catches < g.Limit || *g.Catches > 1.03*g.Limit {
		t.Errorf("catches %v, expected the limit %g", g.Catches, g.Limit)
	}
}
