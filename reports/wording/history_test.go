package wording

import (
	"testing"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
	"vramsoak/harness/shape"
)

// TestSlowRises: two peaks that rise by the same amount are one piece of news, of which the stage
// says most. A third series rises by another amount.
func TestSlowRises(t *testing.T) {
	const mib = 1 << 20
	rise := func(metric string, by, first float64) history.Drift {
		s := &history.Series{
			SeriesKey: history.SeriesKey{Metric: metric, Statistic: history.Worst}, Unit: check.Bytes,
		}
		return history.Drift{
			Series: s, Slope: shape.Interval{Estimate: by, Low: by - 2*mib, High: by + 2*mib},
			First: first, Last: first + 9*by, Runs: 10,
		}
	}
	drifts := []history.Drift{
		rise("peak", 64*mib, 4096*mib), rise("idle level", 16*mib, 1024*mib),
		rise("peak of Decoding", 64*mib, 4096*mib), rise("peak reserved", 64.3*mib, 5120*mib),
	}
	groups := SlowRises(drifts)
	if len(groups) != 2 || len(groups[0]) != 3 {
		t.Fatalf("got %d groups: %v", len(groups), groups)
	}
	for _, c := range []struct{ got, want string }{
		{Series(groups[0][0].Series.SeriesKey, true), "peak of Decoding, worst"},
		{TheSame(groups[0]), "the same: peak, worst; peak reserved, worst"},
		{TheSame(groups[1]), ""},
		{
			SlowRise(&groups[1][0]),
			"rises slowly, by 16.0 MiB a run (95 %: 14.0 MiB to 18.0 MiB) over 10 runs (+14.1 %), " +
				"from 1.00 GiB to 1.14 GiB",
		},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	for _, c := range []struct {
		early, from, late int
		want              string
	}{
		{4, 4, 4, ""},
		{3, 4, 4, "it may have begun 1 run earlier"},
		{3, 4, 6, "it may have begun 1 run earlier or 2 runs later"},
		{4, 4, 7, "it may have begun up to 3 runs later"},
	} {
		d := history.Drift{Early: c.early, From: c.from, Late: c.late}
		if got := RiseBounds(&d); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	day := func(n int) history.Entry {
		return history.Entry{Started: time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC)}
	}
	h := &history.History{Suite: "nightly", Runs: []history.Entry{day(1), day(10)}}
	for _, c := range []struct {
		changes []history.Change
		drifts  []history.Drift
		want    string
	}{
		{nil, nil, "too few runs for a trend, which needs 9"},
		{nil, drifts[:1], "no step; 1 series rises slowly"},
		{make([]history.Change, 2), drifts, "2 changes; 4 series rise slowly"},
	} {
		want := "suite nightly: 2 runs from 2026-11-01 to 2026-11-10, 0 series, " + c.want
		if got := HistoryHeadline(h, nil, c.changes, c.drifts); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestSeriesSubject: the statistic of a series is before its name in a sentence.
func TestSeriesSubject(t *testing.T) {
	for want, k := range map[string]history.SeriesKey{
		"worst peak of Transcription": {Metric: "peak of Transcription", Statistic: history.Worst},
		"median idle level, device 1": {
			Metric: "idle level", Statistic: history.MedianOf, Device: 1,
		},
		"growth of idle level": {Metric: "idle level", Statistic: history.GrowthRate},
		"peak":                 {Metric: "peak"},
	} {
		if got := SeriesSubject(k); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
