package history_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
	"vramsoak/harness/waiver"
)

// nights returns a history with one series, which has one of the values for each night.
func nights(metric, unit string, higherIsBetter bool, values ...float64) *history.History {
	statistic := history.MedianOf
	if strings.HasPrefix(metric, "peak") {
		statistic = history.Worst
	}
	s := history.Series{
		SeriesKey: history.SeriesKey{Metric: metric, Statistic: statistic}, Unit: unit,
		HigherIsBetter: higherIsBetter,
	}
	h := &history.History{Suite: "nightly"}
	for i, v := range values {
		h.Runs = append(h.Runs, history.Entry{ID: int64(100 + i), Started: firstNight.AddDate(0, 0, i)})
		if !math.IsNaN(v) {
			s.Runs = append(s.Runs, i)
			s.Values = append(s.Values, v)
		}
	}
	h.Series = []history.Series{s}
	return h
}

// around returns values at one or more levels, in a unit. The arguments are pairs: a number of
// nights and their level. The values alternate between 1 below and 1 above the level.
func around(unit float64, pairs ...float64) []float64 {
	var out []float64
	for i := 0; i < len(pairs); i += 2 {
		for n := range int(pairs[i]) {
			out = append(out, unit*(pairs[i+1]+float64(2*(n%2)-1)))
		}
	}
	return out
}

const mib = 1 << 20

var policy = check.DefaultPolicy().Regression

func TestChanges(t *testing.T) {
	gap := around(mib, 30, 500, 30, 600)
	gap[29], gap[30] = math.NaN(), math.NaN()
	for _, tt := range []struct {
		name string
		h    *history.History
		want []history.Change
	}{
		{"level", nights("peak", check.Bytes, false, around(mib, 60, 500)...), nil},
		{"a rise", nights("peak", check.Bytes, false, around(mib, 30, 500, 30, 600)...), []history.Change{
			{Good: 29, Bad: 30, Before: 500 * mib, After: 600 * mib, Worse: true, Lasting: true, Runs: 30},
		}},
		{"nights without a value", nights("peak", check.Bytes, false, gap...), []history.Change{
			{Good: 28, Bad: 31, Before: 499 * mib, After: 601 * mib, Worse: true, Lasting: true, Runs: 29},
		}},
		{
			"mended", nights("peak", check.Bytes, false, around(mib, 30, 500, 30, 600, 30, 500)...),
			[]history.Change{
				{Good: 29, Bad: 30, Before: 500 * mib, After: 600 * mib, Worse: true, Runs: 30},
				{Good: 59, Bad: 60, Before: 600 * mib, After: 500 * mib, Runs: 30},
			},
		},
		{
			"mended in part", nights("peak", check.Bytes, false, around(mib, 30, 500, 30, 600, 30, 550)...),
			[]history.Change{
				{Good: 29, Bad: 30, Before: 500 * mib, After: 600 * mib, Worse: true, Lasting: true, Runs: 30},
				{Good: 59, Bad: 60, Before: 600 * mib, After: 550 * mib, Runs: 30},
			},
		},
		{"tonight", nights("peak", check.Bytes, false, around(mib, 30, 500, 1, 600)...), []history.Change{
			{
				Good: 29, Bad: 30, Before: 500 * mib, After: 599 * mib, Worse: true, Lasting: true, Runs: 1,
				Young: true,
			},
		}},
		// The median distance from a level is 25 MiB. So the standard deviation is 1.4826 times 25 MiB,
		// and Off is 11 (37.1 / 100)^2 = 1.5.
		{
			"a rise in noise", nights("peak", check.Bytes, false, around(25*mib, 30, 20, 30, 24)...),
			[]history.Change{
				{
					Good: 29, Bad: 30, Before: 500 * mib, After: 600 * mib, Worse: true, Lasting: true, Runs: 30,
					Off: 1,
				},
			},
		},
		// 505 MiB is too near to both of its neighbours to matter. It must not hide that these differ.
		{
			"in two small steps", nights("peak", check.Bytes, false,
				around(mib/10.0, 30, 5000, 30, 5050, 30, 5100)...), []history.Change{{
				Good: 59, Bad: 60, Before: 500 * mib, After: 510 * mib, Worse: true, Lasting: true, Runs: 30,
			}},
		},
		// The level before the rise is 501 MiB, and not the mean with the 508 MiB before it.
		{
			"a rise after a small fall", nights("peak", check.Bytes, false,
				around(mib/10.0, 20, 5070, 26, 5010, 30, 5095)...), []history.Change{{
				Good: 45, Bad: 46, Before: 501 * mib, After: 509.5 * mib, Worse: true, Lasting: true, Runs: 30,
			}},
		},
		{
			"halved after six of ten runs", nights("throughput", check.TimesRealTime, true,
				around(1, 6, 100, 4, 50)...), []history.Change{{
				Good: 5, Bad: 6, Before: 100, After: 50, Worse: true, Lasting: true, Runs: 4, Young: true,
			}},
		},
		{"less than 8 MiB", nights("peak", check.Bytes, false, around(mib/10, 30, 500, 30, 560)...), nil},
		{"less than 1 %", nights("peak", check.Bytes, false, around(mib, 30, 5000, 30, 5040)...), nil},
		{
			"slower", nights("throughput", check.TimesRealTime, true, around(1, 30, 50, 30, 40)...),
			[]history.Change{
				{Good: 29, Bad: 30, Before: 50, After: 40, Worse: true, Lasting: true, Runs: 30},
			},
		},
		{
			"faster", nights("throughput", check.TimesRealTime, true, around(1, 30, 40, 30, 50)...),
			[]history.Change{
				{Good: 29, Bad: 30, Before: 40, After: 50, Runs: 30},
			},
		},
		{"a recovery 0.4 % less", nights("recovery of X", check.Ratio, true,
			around(0.0001, 30, 9900, 30, 9860)...), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i := range tt.want {
				tt.want[i].Series = &tt.h.Series[0]
			}
			got, _ := tt.h.Changes(tt.h.Judged(), policy)
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty(), cmpopts.EquateApprox(1e-9, 0),
				cmpopts.IgnoreUnexported(history.Change{})); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWithdrawn: a change that was reported is named when it is reported no more, with the reason.
func TestWithdrawn(t *testing.T) {
	ends := func(values ...float64) []float64 {
		out := around(mib, 30, 500)
		for _, v := range values {
			out = append(out, v*mib)
		}
		return out
	}
	for _, tt := range []struct {
		name         string
		values       []float64
		back, runs   int
		small, gates bool
	}{
		{"one wild night", ends(600, 500), 1, 2, false, true},
		{"one wild night, a while ago", append(ends(600), around(mib, 30, 500)...), 1, 2, false, false},
		{"two wild nights", ends(600, 601, 500, 501), 2, 4, false, true},
		// The step is 9 MiB in the first night. From the third run on it is 3 MiB, by their median.
		{"smaller than it seemed", ends(509, 503, 503, 503, 503), 0, 3, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := nights("peak", check.Bytes, false, tt.values...)
			changes, withdrawn := h.Changes(h.Judged(), policy)
			if len(changes) != 0 || len(withdrawn) != 1 {
				t.Fatalf("changes %+v, withdrawn %+v, want one withdrawn", changes, withdrawn)
			}
			w := withdrawn[0]
			if w.Bad != 30 || w.Back != tt.back || w.Runs != tt.runs || w.Small != tt.small {
				t.Errorf("found %+v", w)
			}
			o := h.Gate(policy)
			if o.Verdict != check.Pass || len(o.Withdrawn) > 0 != tt.gates {
				t.Errorf("Gate = %s, %+v", o.Verdict, o.Withdrawn)
			}
		})
	}
}

func TestGate(t *testing.T) {
	accepted := func(h *history.History, night int, step float64) *history.History {
		h.Accepted = append(h.Accepted, history.Acceptance{
			SeriesKey: h.Series[0].SeriesKey,
			Run:       h.Runs[night].ID, Step: step * mib,
		})
		return h
	}
	rise := func() *history.History {
		return nights("peak", check.Bytes, false,
			around(mib, 30, 500, 30, 600)...)
	}
	for _, tt := range []struct {
		name       string
		h          *history.History
		want       check.Verdict
		fresh, old int
		reason     string
	}{
		{"no runs", &history.History{Suite: "nightly"}, check.Undecided, 0, 0, "has no runs"},
		{
			"eight runs", nights("peak", check.Bytes, false, around(mib, 8, 500)...), check.Undecided, 0, 0,
			"at least 9 are needed",
		},
		{"nine runs", nights("peak", check.Bytes, false, around(mib, 9, 500)...), check.Pass, 0, 0, ""},
		{
			"nothing measured tonight", nights("peak", check.Bytes, false,
				append(around(mib, 20, 500), math.NaN())...),
			check.Undecided, 0, 0, "run 120 measured nothing",
		},
		{"a rise", rise(), check.Fail, 1, 0, ""},
		{"a known rise", accepted(rise(), 30, 100), check.Pass, 0, 1, ""},
		{"accepted where it was seen first", accepted(rise(), 33, 100), check.Pass, 0, 1, ""},
		{"another was accepted", accepted(rise(), 20, 100), check.Fail, 1, 0, ""},
		{"a smaller one was accepted", accepted(rise(), 30, 60), check.Fail, 1, 0, ""},
		{
			"mended", nights("peak", check.Bytes, false, around(mib, 30, 500, 30, 600, 30, 500)...),
			check.Pass, 0, 0, "",
		},
		{
			"better", nights("peak", check.Bytes, false, around(mib, 30, 600, 30, 500)...), check.Pass, 0, 0,
			"",
		},
		{
			"known, and one more tonight", accepted(nights("peak", check.Bytes, false,
				around(mib, 30, 500, 30, 600, 1, 700)...), 30, 100),
			check.Fail, 1, 1, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := tt.h.Gate(policy)
			if o.Verdict != tt.want || len(o.New) != tt.fresh || len(o.Known) != tt.old ||
				!strings.Contains(o.Reason, tt.reason) {
				t.Errorf("Gate = %s (%s), %d new, %d known, want %s (%s), %d new, %d known",
					o.Verdict, o.Reason, len(o.New), len(o.Known), tt.want, tt.reason, tt.fresh, tt.old)
			}
		})
	}
}

// TestAccept: an accepted regression stays accepted, even after more nights show its position more
// exactly.
func TestAccept(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, name string) {
		s := create(t, name)
		for n := range 41 {
			level := 500.0 + float64(n%2)
			if n >= 40 {
				level = 600
			}
			add(t, s, night(n, level, level-10, level-20))
		}
		load := func() *history.History {
			h, err := s.Load(t.Context(), "nightly")
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		h := load()
		o := h.Gate(policy)
		if o.Verdict != check.Fail || len(o.New) != 1 {
			t.Fatalf("a rise tonight: %+v", o)
		}
		at := time.Date(2026, 10, 11, 9, 0, 0, 0, time.UTC)
		larger := waiver.Waiver{Reason: "a larger model"}
		for range 2 { // accepting twice changes nothing
			if err := s.Accept(t.Context(), o.Acceptances(h, at, larger)); err != nil {
				t.Fatal(err)
			}
		}
		for n := 41; n < 50; n++ {
			add(t, s, night(n, 600, 590, 580))
		}
		h = load()
		o = h.Gate(policy)
		if o.Verdict != check.Pass || len(o.Known) != 1 || len(h.Accepted) != 1 {
			t.Fatalf("after it was accepted: %+v", o)
		}
		if k := o.Known[0]; k.Waiver != larger || !k.At.Equal(at) || k.Bad != 40 || k.Young {
			t.Errorf("the known one: %+v", k)
		}
	})
}
