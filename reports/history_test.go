package reports_test

import (
	"bytes"
	"fmt"
	"image/png"
	"strings"
	"testing"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
	"vramsoak/reports/plots"
	"vramsoak/reports/plots/overruns"
	"vramsoak/reports/text"
)

const MiB = 1 << 20

// months returns a history of 60 nights. The level of its peak rises by 512 MiB with run 41, which
// also has another driver.
func months() *history.History {
	h := &history.History{Suite: "nightly", Series: []history.Series{
		{
			SeriesKey: history.SeriesKey{Metric: "peak", Statistic: history.Worst, Device: 1},
			Unit:      check.Bytes,
		},
		{
			SeriesKey: history.SeriesKey{Metric: "throughput", Statistic: history.MedianOf},
			Unit:      check.TimesRealTime, HigherIsBetter: true,
		},
	}}
	for n := range 60 {
		e := history.Entry{
			ID: int64(n + 1), Suite: "nightly",
			Started: time.Date(2026, 9, 1+n, 2, 0, 0, 0, time.UTC),
			Commit:  fmt.Sprintf("c%02d1234567", n+1),
			Driver:  "550.54", Verdict: check.Pass, Files: 60, Log: "soak.log",
		}
		peak := 2048.0 + float64(n%3)
		if n >= 40 {
			peak += 512
			e.Driver = "560.28"
		}
		h.Runs = append(h.Runs, e)
		for i, v := range []float64{peak * MiB, 30 + float64(n%2)} {
			h.Series[i].Runs = append(h.Series[i].Runs, n)
			h.Series[i].Values = append(h.Series[i].Values, v)
		}
	}
	return h
}

func TestTrend(t *testing.T) {
	h := months()
	var out strings.Builder
	changes, withdrawn := h.Changes(h.Judged(), check.DefaultPolicy().Regression)
	if err := text.Trend(&out, h, h.Judged(), changes, nil, withdrawn, text.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"suite nightly: 60 runs from 2026-09-01 to 2026-10-30, 2 series, 1 change",
		"peak, worst, device 1: 2.00 GiB up to run 40 (2026-10-10, c401234), 2.50 GiB since run " +
			"41 (2026-10-11, c411234).",
		"(git log c401234..c411234). The driver changed too: 560.28, before 550.54.",
	} {
		if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, want) {
			t.Errorf("expected %q in:\n%s", want, out.String())
		}
	}
	h.Runs[40].Commit = h.Runs[39].Commit
	out.Reset()
	if err := text.Trend(&out, h, h.Judged(), changes, nil, withdrawn,
		text.Options{Terminal: true, Width: 70}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "Both are of the same") {
		t.Errorf("with a single commit, got:\n%s", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(line)); n > 71 {
			t.Errorf("got a line of %d columns: %s", n, line)
		}
	}
}

// TestWithdrawnChanges: trend and gate say why a change is none any more.
func TestWithdrawnChanges(t *testing.T) {
	for _, tt := range []struct {
		after []float64 // the last nights' peaks, in MiB
		want  string
	}{
		{[]float64{2600, 2049}, "no longer a change: peak, worst, device 1: +551 MiB (+26.9 %) since " +
			"run 39 (2026-10-09, c391234). Run 40 (2026-10-10, c401234) is back at the old level, " +
			"2.00 GiB."},
		{[]float64{2600, 2601, 2050, 2049}, "The newest 2 runs up to run 40 (2026-10-10, c401234) are " +
			"back at the old level, 2.00 GiB."},
		{[]float64{2073, 2058, 2059}, "With 3 runs at the new level, up to run 40 (2026-10-10, " +
			"c401234), the difference is +10.0 MiB (+0.5 %). That is less than half of " +
			"what the policy reports."},
	} {
		h := months()
		h, err := h.Until(40)
		if err != nil {
			t.Fatal(err)
		}
		peaks := h.Series[0].Values
		for i, v := range tt.after {
			peaks[len(peaks)-len(tt.after)+i] = v * MiB
		}
		policy := check.DefaultPolicy().Regression
		changes, withdrawn := h.Changes(h.Judged(), policy)
		var trend, gate strings.Builder
		if err := text.Trend(&trend, h, h.Judged(), changes, nil, withdrawn, text.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := text.Gate(&gate, h, h.Gate(policy), text.Options{}); err != nil {
			t.Fatal(err)
		}
		for _, got := range []string{trend.String(), gate.String()} {
			if !strings.Contains(strings.Join(strings.Fields(got), " "), tt.want) {
				t.Errorf("expected %q in:\n%s", tt.want, got)
			}
		}
	}
}

func TestTrendPlot(t *testing.T) {
	h := months()
	changes, _ := h.Changes(h.Judged(), check.DefaultPolicy().Regression)
	for _, format := range plots.Formats {
		var first, second bytes.Buffer
		for _, w := range []*bytes.Buffer{&first, &second} {
			if err := overruns.Plot(w, format, h, h.Judged(), changes, nil,
				plots.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: the same history gives other bytes", format)
		}
		switch format {
		case "png":
			size, err := png.DecodeConfig(&first)
			if err != nil || size.Width != 1600 || size.Height != 360 {
				t.Errorf("a picture of %d x %d, %v, want 1600 x 360: what changed is one series",
					size.Width, size.Height, err)
			}
		case "svg":
			for _, want := range []string{
				"peak, worst, device 1",
				"+512 MiB (+25.0 %), run 41, c411234", "2026-09-01", "2.4 GiB",
			} {
				if !strings.Contains(first.String(), want) {
					t.Errorf("expected %q in the SVG", want)
				}
			}
			if strings.Contains(first.String(), "throughput") {
				t.Error("the plot shows a series that did not change next to one that did")
			}
		}
	}
	if err := overruns.Plot(&bytes.Buffer{}, "png", h, nil, nil, nil, plots.Options{}); err == nil {
		t.Error("got a plot of an empty history")
	}
	one := &history.History{
		Suite: "s", Runs: h.Runs[:1],
		Series: []history.Series{{Unit: check.Ratio, Runs: []int{0}, Values: []float64{0}}},
	}
	var out bytes.Buffer
	if err := overruns.Plot(&out, "svg", one, []*history.Series{&one.Series[0]}, nil, nil,
		plots.Options{}); err != nil {
		t.Errorf("a single run with a value of 0: %v", err)
	}
	const title = ">suite s: only 1 run, run 1 of 2026-09-01; a trend needs at least 2 runs<"
	if got := out.String(); !strings.Contains(got, title) || !strings.Contains(got, ": 0.0 %<") ||
		strings.Contains(got, "first run that is worse") {
		t.Errorf("the plot of a single run does not say so, or has an empty panel:\n%s", got)
	}
}
