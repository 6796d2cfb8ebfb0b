package history_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
)

// TestDrifts: ten nights whose peak rises by 100 MiB each, without a step, are a drift. Steady
// nights, a fall, and a rise below the limit of a comparison (8 MiB) are none.
func TestDrifts(t *testing.T) {
	const mib = 1 << 20
	noise := []float64{3, -2, 1, -3, 2, -1, 0, 2, -2, 1}
	values := func(step float64) (v []float64) {
		for i, n := range noise {
			v = append(v, 6000*mib+(step*float64(i)+n*0.1)*mib)
		}
		return v
	}
	runs := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	series := func(step float64, higher bool) *history.Series {
		return &history.Series{
			SeriesKey: history.SeriesKey{Metric: "peak", Statistic: history.Worst},
			Unit:      check.Bytes, HigherIsBetter: higher, Runs: runs, Values: values(step),
		}
	}
	policy := check.DefaultPolicy().Regression
	for _, c := range []struct {
		name string
		s    *history.Series
		want bool
	}{
		{"rises by 100 MiB a night", series(100, false), true},
		{"steady", series(0, false), false},
		{"falls", series(-100, false), false},
		{"falls, and higher is better", series(-100, true), true},
		{"rises by 0.5 MiB a night, less than the limit", series(0.5, false), false},
	} {
		h := &history.History{Runs: make([]history.Entry, 10)}
		got := h.Drifts([]*history.Series{c.s}, nil, policy)
		if (len(got) == 1) != c.want {
			t.Errorf("%s: got %d drifts", c.name, len(got))
			continue
		}
		if !c.want {
			continue
		}
		d := got[0]
		if d.Runs != 10 || d.Slope.Low > 100*mib || d.Slope.High < 100*mib {
			t.Errorf("%s: %d runs, between %.1f and %.1f MiB a run, want 10 runs and 100 MiB", c.name,
				d.Runs, d.Slope.Low/mib, d.Slope.High/mib)
		}
	}
	changed := series(100, false)
	h := &history.History{Runs: make([]history.Entry, 10)}
	if got := h.Drifts([]*history.Series{changed},
		[]history.Change{{Series: changed, Lasting: true}}, policy); len(got) > 0 {
		t.Error("a series with a lasting change is a drift too")
	}
}

// TestNotesOfFlatSeries: of 500 flat series, the gate notes a slow rise in at most the share
// that the policy allows for false alarms, and in no more than chance explains.
func TestNotesOfFlatSeries(t *testing.T) {
	t.Parallel()
	policy := check.DefaultPolicy().Regression
	policy.FalseAlarms, policy.MinEffect, policy.MinBytes.Bytes = 0.02, 0, 0
	for _, nights := range []int{10, 20, 40} {
		r := rand.New(rand.NewPCG(5, uint64(nights)))
		const tries = 500
		noted := 0
		for range tries {
			h := &history.History{Series: []history.Series{{
				SeriesKey: history.SeriesKey{Metric: check.Peak, Statistic: history.Worst},
				Unit:      check.Bytes,
			}}}
			s := &h.Series[0]
			for i := range nights {
				h.Runs = append(h.Runs, history.Entry{ID: int64(i + 1)})
				s.Runs, s.Values = append(s.Runs, i), append(s.Values, 6e9+1e6*r.NormFloat64())
			}
			if len(h.Gate(policy).Noted) > 0 {
				noted++
			}
		}
		t.Logf("%d nights: %d of %d", nights, noted, tries)
		allowed := float64(policy.FalseAlarms)
		if most := allowed*tries + 3*math.Sqrt(allowed*tries); float64(noted) > most {
			t.Errorf("%d nights: %d of %d flat series are noted, expected at most %.0f", nights, noted,
				tries, most)
		}
	}
}
