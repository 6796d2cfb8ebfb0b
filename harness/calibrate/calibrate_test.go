package calibrate_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/fixtures"
	"vramsoak/harness/calibrate"
	"vramsoak/harness/check"
	"vramsoak/harness/compare"
)

const mib = 1 << 20

// levels returns clean runs whose only metric is the idle level, made as spec says.
func levels(runs int, spec fixtures.LevelSpec) []*compare.Baseline {
	var all []*compare.Baseline
	for seed := range runs {
		spec.Seed = uint64(seed)
		s := fixtures.Levels(spec)
		m := check.Measurements{Metrics: []check.Metric{{
			Name: check.IdleLevel, Unit: check.Bytes,
			Resolution: float64(s.Resolution),
		}}}
		for i := range s.Bytes {
			m.Files = append(m.Files, check.MeasuredFile{
				Path: fmt.Sprintf("%d.wav", i), Index: i + 1,
				AudioSeconds: s.AudioSeconds[i],
			})
			m.Metrics[0].Values = append(m.Metrics[0].Values, float64(s.Bytes[i]))
		}
		all = append(all, compare.New(m, compare.RunInfo{
			Log:     fmt.Sprintf("run %d", seed),
			Verdict: check.Pass,
		}))
	}
	return all
}

func only(gate string) check.Policy {
	p := check.DefaultPolicy()
	p.Gate = []string{gate}
	return p
}

func calibrated(t *testing.T, runs []*compare.Baseline, policy check.Policy,
	o calibrate.Options,
) *calibrate.Report {
	t.Helper()
	r, err := calibrate.Of(runs, policy, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// options returns the goals of a test. With 299 tries and no alarm, the rate is below 1 %.
func options(tries int) calibrate.Options {
	return calibrate.Options{FalseAlarms: 0.01, Power: 0.9, Tries: tries, Seed: 1}
}

// TestSeed: the same seed gives the same report on any number of processors.
func TestSeed(t *testing.T) {
	spec := fixtures.LevelSpec{Kind: "white", Files: 12, Sigma: 5}
	o := options(60)
	o.FalseAlarms = 0.05
	a := calibrated(t, levels(3, spec), check.DefaultPolicy(), o)
	before := runtime.GOMAXPROCS(1)
	b := calibrated(t, levels(3, spec), check.DefaultPolicy(), o)
	runtime.GOMAXPROCS(before)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("reports differ (-2 processors +1):\n%s", diff)
	}
}

// TestTrouble: if a calibration is impossible, an error says why.
func TestTrouble(t *testing.T) {
	runs := levels(3, fixtures.LevelSpec{Kind: "white", Files: 20, Sigma: 5})
	failed := *runs[0]
	failed.Run.Verdict = check.Fail
	damaged := *runs[1]
	damaged.Metrics = slices.Clone(damaged.Metrics)
	damaged.Metrics[0].Values = damaged.Metrics[0].Values[:3]
	for _, c := range []struct {
		runs []*compare.Baseline
		o    calibrate.Options
		want string
	}{
		{runs[:1], options(300), "expected at least 2 runs that did not fail, found 1"},
		{
			[]*compare.Baseline{&failed, runs[1]},
			options(300),
			"found 1; 1 failed and may have leaked, the first is run 0; if they did not leak, use them " +
				"too with --all",
		},
		// 0.99^299 < 0.05.
		{
			runs, options(298),
			"298 tries cannot show that false alarms are rarer than 1 %; at least 299 can",
		},
		{
			[]*compare.Baseline{runs[0], &damaged},
			options(300),
			"run 1: expected a value for each of its 20 files in the metric \"idle level\", found 3",
		},
		{
			runs,
			calibrate.Options{FalseAlarms: 0, Power: 0.9, Tries: 10},
			"expected a rate of false alarms between 0 and 100 %",
		},
		{
			runs,
			calibrate.Options{FalseAlarms: 0.1, Power: 1, Tries: 100},
			"expected a power between 0 and 100 %",
		},
	} {
		if _, err := calibrate.Of(c.runs, check.DefaultPolicy(), c.o); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
	o := options(300)
	o.All = true
	if r := calibrated(t, []*compare.Baseline{&failed, runs[1]}, only(check.Leak),
		o); len(r.Runs) != 2 || len(r.LeftOut) != 0 {
		t.Errorf("with all runs: %q, left out %q", r.Runs, r.LeftOut)
	}
	short := levels(2, fixtures.LevelSpec{Kind: "white", Files: 5, Sigma: 5})
	r := calibrated(t, short, check.DefaultPolicy(), options(300))
	for i, want := range []string{
		"8 files in one process; the longest here has 5",
		"no run has it", "no run has it",
	} {
		if !strings.Contains(r.Growth[i].Skipped, want) {
			t.Errorf("%s: skipped for %q, want %q", r.Growth[i].Check, r.Growth[i].Skipped, want)
		}
	}
}
