package comparison

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/reports/plots"
)

const mib = 1 << 20

// run returns a run of n files with a peak, the equal peak of a stage, a recovery and the number of
// open files. The parameter more is how many MiB the peak lies above 1000 MiB.
func run(n int, more float64) *compare.Baseline {
	m := check.Measurements{Metrics: []check.Metric{
		{Name: "peak", Unit: check.Bytes},
		{Name: "peak of Transcription", Unit: check.Bytes},
		{Name: "recovery of Whisper Cleanup", Unit: check.Ratio, HigherIsBetter: true},
		{Name: "file descriptors", Unit: check.Count},
	}}
	for i := range n {
		m.Files = append(m.Files, check.MeasuredFile{Path: fmt.Sprintf("%d.wav", i), Index: i + 1})
		noise := float64(i * 7 % 5) // 0 to 4 MiB, the same in every run
		peak := (1000 + more + noise) * mib
		for k, v := range []float64{peak, peak, 0.99 - more/10000, 8} {
			m.Metrics[k].Values = append(m.Metrics[k].Values, v)
		}
	}
	return compare.New(m, compare.RunInfo{Log: fmt.Sprintf("runs/%g", more)})
}

func chartOf(base, now *compare.Baseline, verdict check.Verdict) *Chart {
	return New(compare.Runs(base, now, check.DefaultPolicy()), base, now, verdict)
}

// words returns the texts of a picture.
func words(t *testing.T, c *Chart, opts plots.Options) []string {
	t.Helper()
	var out bytes.Buffer
	if err := c.Plot(&out, "svg", opts); err != nil {
		t.Fatal(err)
	}
	timelines.WellFormedXML(t, out.Bytes())
	var all []string
	for _, m := range regexp.MustCompile(`>([^<>]+)</text>`).FindAllStringSubmatch(out.String(), -1) {
		all = append(all, html.UnescapeString(m[1]))
	}
	return all
}

// TestWords: the new run needs 50 MiB of 1002 MiB more in every file, which is 5.0 %.
func TestWords(t *testing.T) {
	c := chartOf(run(20, 0), run(20, 50), check.Fail)
	for _, size := range []plots.Options{{}, {Width: 600}, {Width: 600, Height: 360}} {
		got := "\n" + strings.Join(words(t, c, size), "\n") + "\n"
		for _, want := range []string{
			"FAIL: peak of Transcription 5.0 % worse (1.03 GiB, was", "2 of 5 metrics worse",
			"base: runs/0\n", "new: runs/50\n",
			"peak\n", "+5.0 % (+5.0 % to +5.0 %)\n", "no change\n", "limit\n", "better\n", "worse\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%+v: the plot lacks %q:\n%s", size, want, got)
			}
		}
	}
	got := strings.Join(words(t, c, plots.Options{}), "\n")
	for _, want := range []string{
		"1002 MiB to 1.03 GiB: +5.0 %", "FAIL: peak; the same: peak of Transcription\n", "\nfile\n",
		"\na file of the base\n", "\na file of the new run\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the plot lacks %q:\n%s", want, got)
		}
	}
}

// TestRows: 50 MiB are 4.99 limits, because 1 % of 1002 MiB is 10.02 MiB. A recovery that falls is
// worse, and so to the right of no change. The limit of a recovery is 1 % of 0.99.
func TestRows(t *testing.T) {
	c := chartOf(run(20, 0), run(20, 50), check.Fail)
	at := func(name string) row {
		return c.rows[slices.IndexFunc(c.rows, func(r row) bool { return r.name == name })]
	}
	for name, want := range map[string]float64{
		"peak": 50 / 10.02, "recovery of Whisper Cleanup": 0.005 / 0.0099, "file descriptors": 0,
	} {
		r := at(name)
		if math.Abs(r.worse-want) > 0.001 || math.Abs(r.low-want) > 0.001 ||
			math.Abs(r.high-want) > 0.001 {
			t.Errorf("%s: got %.3f limits (%.3f to %.3f), want %.3f", name, r.worse, r.low, r.high,
				want)
		}
	}
	a := newAxis(c.rows, 0, 100)
	if none, one, ten := a.x(0), a.x(1), a.x(10); none <= 0 || one <= none || ten < one ||
		a.x(math.Inf(1)) != 100 || a.x(math.Inf(-1)) != 0 {
		t.Errorf("the axis has no change at %g, the limit at %g, ten limits at %g", none, one, ten)
	}
	if inLimits(5, 0) != math.Inf(1) || inLimits(0, 0) != 0 || inLimits(-5, 0) != math.Inf(-1) {
		t.Error("a limit of 0 does not lie at the end of the axis")
	}
}

// TestPictures draws comparisons that differ in size. PLOTS=DIR keeps the pictures for a person to
// look at.
func TestPictures(t *testing.T) {
	for name, c := range map[string]*Chart{
		"worse":     chartOf(run(20, 0), run(20, 50), check.Fail),
		"equal":     chartOf(run(20, 0), run(20, 0), check.Pass),
		"better":    chartOf(run(20, 500), run(20, 0), check.Pass),
		"one-file":  chartOf(run(1, 0), run(1, 3), check.Undecided),
		"many":      chartOf(run(5000, 0), run(5000, 3), check.Pass),
		"fewer-new": chartOf(run(40, 0), run(12, 3), check.Pass),
	} {
		for _, opts := range []plots.Options{{}, {Width: 600, Height: 360}} {
			var first, second bytes.Buffer
			for _, out := range []*bytes.Buffer{&first, &second} {
				if err := c.Plot(out, "png", opts); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Errorf("%s: two plots of the same input differ", name)
			}
			if dir := os.Getenv("PLOTS"); dir != "" && opts.Height == 0 {
				if err := os.WriteFile(filepath.Join(dir, "compared-"+name+".png"), first.Bytes(),
					0o644); err != nil {
					t.Fatal(err)
				}
			}
			img, err := png.Decode(&first)
			if err != nil {
				t.Fatal(err)
			}
			size := img.Bounds().Size()
			for x := range size.X {
				for _, y := range []int{0, size.Y - 1} {
					if img.At(x, y) != color.Color(color.RGBA{255, 255, 255, 255}) {
						t.Fatalf("%s: the edge of the picture cuts something off at %d, %d", name, x, y)
					}
				}
			}
		}
		if err := c.Plot(&bytes.Buffer{}, "pdf", plots.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNothing(t *testing.T) {
	none := compare.New(check.Measurements{}, compare.RunInfo{})
	c := chartOf(none, run(9, 0), check.Undecided)
	if err := c.Plot(&bytes.Buffer{}, "png", plots.Options{}); !errors.Is(err, ErrNothing) {
		t.Errorf("got %v", err)
	}
	if err := chartOf(run(9, 0), run(9, 0), check.Pass).Plot(&bytes.Buffer{}, "gif",
		plots.Options{}); err == nil || !strings.Contains(err.Error(), "png, svg, pdf") {
		t.Errorf("gif: got %v", err)
	}
}

// TestHostileNames: a metric of a hostile log does not break the picture.
func TestHostileNames(t *testing.T) {
	base, now := run(9, 0), run(9, 80)
	for _, b := range []*compare.Baseline{base, now} {
		b.Metrics[0].Name, b.Run.Log = timelines.HostileText, timelines.HostileText
	}
	words(t, chartOf(base, now, check.Fail), plots.Options{})
}

// TestLegend: the legend has only what is drawn: dots, or bands if there is no room for dots.
func TestLegend(t *testing.T) {
	for _, c := range []struct {
		files     int
		want, not string
	}{
		{20, "a file of the base", "files of the base (lowest to highest)"},
		{2000, "files of the base (lowest to highest)", "a file of the base"},
	} {
		got := words(t, chartOf(run(c.files, 0), run(c.files, 50), check.Fail), plots.Options{})
		if !slices.Contains(got, c.want) || slices.Contains(got, c.not) {
			t.Errorf("%d files: the legend should have %q and not %q:\n%s", c.files, c.want, c.not,
				strings.Join(got, "\n"))
		}
	}
}
