package overruns

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"vramsoak/fixtures/pictures"
	"vramsoak/harness/check"
	"vramsoak/harness/history"
	"vramsoak/reports/plots"
)

// nights returns a history of sixty nights. With night 18 the idle level rises by 96 MiB, and with
// night 33 that is mended. With night 41 the peak rises by 600 MiB.
func nights() *history.History {
	rng := rand.New(rand.NewPCG(3, 7))
	const mib = 1 << 20
	h := &history.History{Suite: "nightly"}
	for n := range 60 {
		h.Runs = append(h.Runs, history.Entry{
			ID: int64(n + 1), Suite: "nightly",
			Started: time.Date(2026, 9, 1+n, 2, 0, 0, 0, time.UTC),
			Commit:  fmt.Sprintf("%07x%033d", 0x4d90437^n*0x9e3779, 0),
			Driver:  "550.54", Verdict: check.Pass, Files: 60, Log: "soak.log",
		})
	}
	add := func(metric string, of string, level, noise float64, rise func(n int) float64) {
		s := history.Series{
			SeriesKey: history.SeriesKey{Metric: metric, Statistic: of}, Unit: check.Bytes,
		}
		for n := range 60 {
			s.Runs = append(s.Runs, n)
			s.Values = append(s.Values, (level+noise*rng.NormFloat64()+rise(n))*mib)
		}
		h.Series = append(h.Series, s)
	}
	from := func(night int, rise float64) func(int) float64 {
		return func(n int) float64 {
			if n >= night {
				return rise
			}
			return 0
		}
	}
	add("peak", history.Worst, 7500, 40, from(41, 600))
	add("idle level", history.MedianOf, 620, 2, func(n int) float64 {
		return from(18, 96)(n) - from(33, 96)(n)
	})
	add("reserved - allocated", history.MedianOf, 310, 1, from(60, 0))
	add("peak of Transcription", history.Worst, 7400, 40, from(41, 600))
	return h
}

// TestWords: the title of a narrow picture is whole, and the legend has only what is drawn.
func TestWords(t *testing.T) {
	h := nights()
	words := func(changes []history.Change) string {
		var out bytes.Buffer
		if err := Plot(&out, "svg", h, h.Judged(), changes, nil, plots.Options{Width: 600}); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, m := range regexp.MustCompile(`>([^<>]+)</text>`).FindAllStringSubmatch(out.String(), -1) {
			all = append(all, m[1])
		}
		return strings.Join(all, " ")
	}
	changes, _ := h.Changes(h.Judged(), check.DefaultPolicy().Regression)
	got := words(changes)
	for _, want := range []string{
		"suite nightly: 60 runs from 2026-09-01 to 2026-10-30, 4 series, 4 changes; shown are 3",
		"first run that is worse", "first run that is better",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the plot lacks %q: %s", want, got)
		}
	}
	if got := words(nil); strings.Contains(got, "first run") {
		t.Errorf("the legend of a history without changes has changes: %s", got)
	}
}

// TestDocsPictures draws the picture of docs/how-to/history.md.
func TestDocsPictures(t *testing.T) {
	h := nights()
	changes, _ := h.Changes(h.Judged(), check.DefaultPolicy().Regression)
	if len(changes) != 4 {
		t.Errorf("got %d changes, want those of three metrics, one of which is mended", len(changes))
	}
	var out bytes.Buffer
	if err := Plot(&out, "png", h, h.Judged(), changes, nil, plots.Options{Width: 1200}); err != nil {
		t.Fatal(err)
	}
	pictures.Check(t, "../../../docs/pictures/trend.png", out.Bytes())
}

// TestDriftInPicture: a slow rise is drawn with its rate, its first run and the last good run.
func TestDriftInPicture(t *testing.T) {
	const mib = 1 << 20
	s := history.Series{
		SeriesKey: history.SeriesKey{Metric: check.Peak, Statistic: history.Worst}, Unit: check.Bytes,
	}
	h := &history.History{Suite: "nightly"}
	for n := range 14 {
		h.Runs = append(h.Runs, history.Entry{
			ID: int64(n + 1), Started: time.Date(2026, 9, 1+n, 2, 0, 0, 0, time.UTC),
		})
		s.Runs = append(s.Runs, n)
		s.Values = append(s.Values, (6000+12*float64(max(0, n-3)))*mib)
	}
	h.Series = []history.Series{s}
	drifts := h.Drifts(h.Judged(), nil, check.DefaultPolicy().Regression)
	var out bytes.Buffer
	if err := Plot(&out, "svg", h, h.Judged(), nil, drifts, plots.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		">suite nightly: 14 runs from 2026-09-01 to 2026-09-14, 1 series, no step; 1 series rises " +
			"slowly<",
		">+12.0 MiB a run since run 5; last good run 4<", ">a slow rise or fall, from its first run on<",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the plot lacks %q", want)
		}
	}
}

// TestBounds: an axis of shares ends at 100 %, and an axis of growth is not stretched to bytes.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		unit      string
		values    []float64
		low, high float64
	}{
		{check.Ratio, []float64{1, 1, 1}, 0.99, 1},
		{check.BytesPerFile, []float64{0, 0, 0}, -64 << 10, 64 << 10},
	} {
		low, high := bounds(&history.Series{Unit: c.unit, Values: c.values})
		if math.Abs(low-c.low) > 1e-9 || math.Abs(high-c.high) > 1e-9 {
			t.Errorf("%s: the axis goes from %v to %v, want %v to %v", c.unit, low, high, c.low, c.high)
		}
	}
}
