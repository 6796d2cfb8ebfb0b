package text

import (
	"strings"
	"testing"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
)

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
				"no step; 1 series rises slowly", "slowly worse: peak, worst rises slowly, by 12.0 MiB",
				"since run 5 (2026-11-05, c000005). The last good run is run 4 (2026-11-04, c000004). See " +
					"what changed: git log c000004..c000005.",
				"history gate looks for steps. It does not fail because of a slow rise without one.",
			},
			[]string{"PASS: no new regression up to run 10"},
			"new:",
		},
		{
			30,
			[]string{
				"no step; 1 series rises slowly", "slowly worse: peak, worst rises slowly, by 12.0 MiB",
				"over 26 runs (+5.2 %), from 5.86 GiB to 6.16 GiB, since run 5 (2026-11-05, c000005).",
			},
			[]string{
				"slowly worse (+5.2 %) since run 5 (2026-11-05, c000005); 1 new regression up to run 30",
				"new: peak, worst rises slowly, by 12.0 MiB a run",
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
				ID: int64(i + 1), Started: night, Commit: "c0000" + night.Format("02"),
			})
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
