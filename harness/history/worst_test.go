package history

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/waiver"
)

// TestWorstFirst: regressions are sorted by how much worse they are as a part of their level, at
// once or slowly. An equal one of a stage comes first.
func TestWorstFirst(t *testing.T) {
	of := func(metric string) *Series {
		return &Series{SeriesKey: SeriesKey{Metric: metric, Statistic: Worst}, Unit: check.Bytes}
	}
	steps := []Change{
		{Series: of("peak"), Before: 1000, After: 1050},
		{Series: of("idle level"), Before: 100, After: 120},
		{Series: of("peak of Decoding"), Before: 2000, After: 2100},
		{Series: &Series{
			SeriesKey: SeriesKey{Metric: "recovery of Cleanup"}, HigherIsBetter: true,
		}, Before: 1, After: 0.7},
	}
	drifts := []Drift{{Series: of("peak reserved"), First: 1000, Last: 1100}}
	var got []string
	for _, r := range WorstFirst(steps, drifts) {
		got = append(got, r.Series().Metric)
	}
	want := []string{
		"recovery of Cleanup", "idle level", "peak reserved", "peak of Decoding", "peak",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestStepBesideAcceptedDrift: a slow rise that became steps is accepted. When it has one more
// step, only this one is reported, because the whole rise would repeat what was accepted.
func TestStepBesideAcceptedDrift(t *testing.T) {
	const mib = 1 << 20
	policy := check.DefaultPolicy().Regression
	r := rand.New(rand.NewPCG(3, 7))
	all := of(80, func(i int) float64 {
		return (6000 + 12*float64(max(0, i-3)) + r.NormFloat64()) * mib
	})
	for i := range all.Runs {
		all.Runs[i].Started = time.Date(2026, 9, 1+i, 2, 0, 0, 0, time.UTC)
	}
	accepted := false
	for n := MinRuns; n <= len(all.Runs); n++ {
		h, err := all.Until(int64(n))
		if err != nil {
			t.Fatal(err)
		}
		h.Accepted = all.Accepted
		o := h.Gate(policy)
		if o.Verdict != check.Fail {
			continue
		}
		steps, drifts := o.Reported()
		if !accepted {
			if len(drifts) != 1 || len(steps) != 0 {
				t.Fatalf("run %d: %d drifts, %d steps before anything is accepted", n, len(drifts),
					len(steps))
			}
			all.Accepted = o.Acceptances(h, h.Runs[n-1].Started, waiver.Waiver{})
			accepted = true
			continue
		}
		if len(drifts) > 0 || !slices.Equal(steps, o.New) {
			t.Fatalf("run %d: %d new and %d accepted regressions are reported as %d steps and %d "+
				"drifts", n, len(o.New), len(o.Known), len(steps), len(drifts))
		}
		if len(o.Known) > 0 {
			return
		}
	}
	t.Fatal("no step was new beside an accepted one")
}
