package text

import (
	"strings"
	"testing"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
)

// TestSlowRiseCause: a slow rise says where to look for its cause, as a step does. If its beginning
// is uncertain, the cause is between the first and the last run at which it may have begun.
func TestSlowRiseCause(t *testing.T) {
	h := &history.History{}
	for i := range 12 {
		h.Runs = append(h.Runs, history.Entry{
			ID: int64(i + 1), Started: time.Date(2026, 11, 1+i, 2, 0, 0, 0, time.UTC), Commit: "c1",
		})
	}
	s := &history.Series{
		SeriesKey: history.SeriesKey{Metric: check.Peak, Statistic: history.Worst}, Unit: check.Bytes,
		Runs: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, Values: make([]float64, 12),
	}
	d := history.Drift{Series: s, From: 4, Good: 3, Early: 4, Late: 4, First: 1 << 30, Runs: 8}
	const same = " of the same commit: the cause is not in the repository."
	if got := DriftText(h, &d); !strings.HasSuffix(got, "Both are"+same) {
		t.Error(got)
	}
	d.Early, d.Late = 3, 6
	if got := DriftText(h, &d); !strings.HasSuffix(got, "Run 3 and run 7 are"+same) {
		t.Error(got)
	}
	h.Runs[6].Commit, h.Runs[6].Driver = "c2", "555"
	const changed = "The cause is between c1 and c2 (git log c1..c2). The driver changed too: 555, " +
		"before unknown."
	if got := DriftText(h, &d); !strings.HasSuffix(got, changed) {
		t.Error(got)
	}
}

// TestSlowRise: 12 MiB a night since night 5 are told as one rise with its start, and not as
// several steps. With few nights the gate ignores it, with many it fails.
func TestSlowRise(t *testing.T) {
	const mib = 1 << 20
	policy := check.DefaultPolicy().Regression
	for _, c := range []struct {
		nights      int
		trend, gate []string
		not         string
	}{
		{
			10,
			[]string{
				"no step; 1 series rises slowly", "slowly worse: worst peak rises slowly, by 12.0 MiB",
				"since run 5 (2026-11-05, c000005). The last good run is run 4 (2026-11-04, c000004). The " +
					"cause is between c000004 and c000005 (git log c000004..c000005). The driver changed " +
					"too: 555, before 550.",
				"history gate looks for steps. It does not fail because of a slow rise without one.",
			},
			[]string{
				"PASS: no new regression up to run 10",
				"noted: worst peak rises slowly, by 12.0 MiB a run since run 5 (2026-11-05, c000005); " +
					"history gate does not fail because of it; vramsoak history trend --suite nightly " +
					"shows it",
			},
			"new:",
		},
		{
			30,
			[]string{
				"no step; 1 series rises slowly", "slowly worse: worst peak rises slowly, by 12.0 MiB",
				"over 26 runs (+5.2 %), from 5.86 GiB to 6.16 GiB, since run 5 (2026-11-05, c000005).",
			},
			[]string{
				"slowly worse (+5.2 %) since run 5 (2026-11-05, c000005); 1 new regression up to run 30",
				"new: worst peak rises slowly, by 12.0 MiB a run",
			},
			"does not fail",
		},
	} {
		s := history.Series{
			SeriesKey: history.SeriesKey{Metric: check.Peak, Statistic: history.Worst},
			Unit:      check.Bytes,
		}
		h := &history.History{Suite: "nightly"}
		for i := range c.nights {
			night := time.Date(2026, 11, 1+i, 2, 0, 0, 0, time.UTC)
			h.Runs = append(h.Runs, history.Entry{
				ID: int64(i + 1), Started: night, Commit: "c0000" + night.Format("02"), Driver: "550",
			})
			if i >= 4 {
				h.Runs[i].Driver = "555"
			}
			s.Runs = append(s.Runs, i)
			s.Values = append(s.Values, (6000+12*float64(max(0, i-3))+0.3*float64(i%3))*mib)
		}
		h.Series = []history.Series{s}
		series := h.Judged()
		changes, withdrawn := h.Changes(series, policy)
		drifts := h.Drifts(series, changes, policy)
		var trend, gate strings.Builder
		opts := Options{Width: 2000}
		if err := Trend(&trend, h, series, history.Unexplained(changes, drifts), drifts, withdrawn,
			opts); err != nil {
			t.Fatal(err)
		}
		if err := Gate(&gate, h, h.Gate(policy), opts); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.trend {
			if !strings.Contains(trend.String(), want) {
				t.Errorf("%d nights: trend lacks %q:\n%s", c.nights, want, trend.String())
			}
		}
		for _, want := range c.gate {
			if !strings.Contains(gate.String(), want) {
				t.Errorf("%d nights: gate lacks %q:\n%s", c.nights, want, gate.String())
			}
		}
		if all := trend.String() + gate.String(); strings.Contains(all, c.not) {
			t.Errorf("%d nights: %q is told:\n%s", c.nights, c.not, all)
		}
	}
}
