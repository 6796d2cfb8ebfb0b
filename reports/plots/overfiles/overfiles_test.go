package overfiles

import (
	"bytes"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramsoak/fixtures"
	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/harness/shape"
	"vramsoak/parser"
	"vramsoak/parser/timeline"
	"vramsoak/reports/plots"
)

// TestPlotOverFiles draws every sample with enough files. PLOTS=DIR keeps the pictures for a person
// to look at.
func TestPlotOverFiles(t *testing.T) {
	dir := os.Getenv("PLOTS")
	for name, s := range timelines.Samples {
		// Too few files ended ok, or too few in one process.
		if s.Files < shape.LeastFiles || s.Processes || name == "8-keep" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			_, rep := s.Judged()
			for _, opts := range []plots.Options{{Width: 600, Height: 360}, {Width: 1600}} {
				var out bytes.Buffer
				if err := New(rep).Plot(&out, "png", opts); err != nil {
					t.Fatal(err)
				}
				img, err := png.Decode(&out)
				if err != nil {
					t.Fatal(err)
				}
				size := img.Bounds().Size()
				if size.X != opts.Width || opts.Height != 0 && size.Y != opts.Height {
					t.Errorf("%v pixels, want %+v", size, opts)
				}
				for x := range size.X {
					for _, y := range []int{0, size.Y - 1} {
						if r, g, b, _ := img.At(x, y).RGBA(); r+g+b != 3*0xFFFF {
							t.Fatalf("the edge of the picture cuts something off at %d, %d", x, y)
						}
					}
				}
				if dir != "" && opts.Height == 0 {
					if err := New(rep).Plot(&out, "png", opts); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(dir, "files-"+name+".png"), out.Bytes(),
						0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// overFiles returns the plot of a report as SVG, which contains its text.
func overFiles(t *testing.T, rep *check.Report, opts plots.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := New(rep).Plot(&out, "svg", opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPlotOverFilesWords(t *testing.T) {
	rep := func(s timelines.Batch) *check.Report { _, r := s.Judged(); return r }
	for _, c := range []struct {
		name string
		plot string
		want []string // in this order
		not  []string
	}{
		{
			"a leak", overFiles(t,
				rep(timelines.Batch{Files: 60, Leak: timelines.MiB(200), Diarize: true}),
				plots.Options{}),
			[]string{
				">FAIL: leak 200 MiB/file (and reserved - allocated) since file 1",
				">60 files, 900 checkpoints",
				">a file<", ">what was found<", ">growth, 95 % interval<", ">FAIL: leak, idle level<",
				">idle level and reserved - allocated grow together from the first file on: idle level " +
					"grows by 200 MiB a file (95 %: ±", ">10 GiB<", ">grows from file 1 on<",
				">FAIL: fragmentation, reserved - allocated<",
				">UNDECIDED: drift", ">PASS: ",
			},
			[]string{"outlier"},
		},
		{
			"one column", overFiles(t,
				rep(timelines.Batch{Files: 60, Leak: timelines.MiB(200), Diarize: true}),
				plots.Options{Width: 700, Height: 400}),
			[]string{">Shown: 1 of 9 series, the worst first.<", ">FAIL: leak, idle level<"},
			[]string{">FAIL: fragmentation"},
		},
		{
			"many files", overFiles(t, rep(timelines.Batch{Files: 5000}), plots.Options{}),
			[]string{">many files (lowest to highest)<", ">5,000<"},
			nil,
		},
		{
			"late growth", overFiles(t, docsPictures[0].judged(t), plots.Options{}),
			[]string{">FAIL: leak, idle level<", ">300 MiB<", ">grows from file 22 on<"},
			nil,
		},
		{
			"outliers", overFiles(t, docsPictures[1].judged(t), plots.Options{}),
			[]string{">outlier, left out<", ">PASS: leak, idle level<"},
			[]string{"warm-up", "step"},
		},
		{
			"warm-up", overFiles(t, docsPictures[2].judged(t), plots.Options{}),
			[]string{">PASS: leak, idle level<", ">warm-up of 410 MiB ends at file 12<"},
			nil,
		},
		{
			"step", overFiles(t, docsPictures[3].judged(t), plots.Options{}),
			[]string{">PASS: leak", ">step of 409 MiB at file 36<"},
			nil,
		},
	} {
		rest := c.plot
		for _, w := range c.want {
			_, after, found := strings.Cut(rest, w)
			if !found {
				t.Errorf("%s: the plot lacks %q, or has it at another place", c.name, w)
				continue
			}
			rest = after
		}
		for _, w := range c.not {
			if strings.Contains(c.plot, w) {
				t.Errorf("%s: the plot has %q", c.name, w)
			}
		}
	}
}

// TestPlotOverFilesIsDeterministic: the same input gives the same bytes each time.
func TestPlotOverFilesIsDeterministic(t *testing.T) {
	for _, format := range plots.Formats {
		var first, second bytes.Buffer
		for _, out := range []*bytes.Buffer{&first, &second} {
			_, rep := timelines.Batch{Files: 10, Leak: timelines.MiB(2), Diarize: true}.Judged()
			if err := New(rep).Plot(out, format, plots.Options{Width: 800}); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: two plots of the same input differ", format)
		}
	}
}

// trendOf judges values as the leak check does, with a limit of 1 MiB a file.
func trendOf(falls bool, values ...float64) *check.Trend {
	t := &check.Trend{Unit: check.Bytes, Values: values, Falls: falls}
	t.Finding.Limit = new(float64(timelines.MiB(1)))
	s := shape.Series{Values: slices.Clone(values), Grain: 512}
	for i := range values {
		t.Files = append(t.Files, &timeline.File{Index: i + 1})
		if falls {
			s.Values[i] = -values[i]
		}
	}
	t.Result = shape.Of(s)
	return t
}

// TestFilesPanelFalls: falling values (100, 98, 96 MiB) are drawn at their places.
func TestFilesPanelFalls(t *testing.T) {
	var values []float64
	for i := range 20 {
		values = append(values, float64(timelines.MiB(100-2*float64(i))))
	}
	trend := trendOf(true, values...)
	p := newPanel(trend, trend.Finding)
	for i, v := range values {
		if math.Abs(p.fitted[i].Y-v) > 1 || p.low[i].Y > v+1 || p.high[i].Y < v-1 {
			t.Fatalf("file %d has %.0f; drawn are %.0f and %.0f to %.0f", i+1, v, p.fitted[i].Y,
				p.low[i].Y, p.high[i].Y)
		}
	}
}

// TestFilesPanelScale: noise of 1 MiB on 200 files, which may grow by 199 MiB without the outlier,
// is drawn on an axis of a tenth of that. An outlier of 5 GiB stays outside. The axis does not go
// below 0, because no value can.
func TestFilesPanelScale(t *testing.T) {
	var values []float64
	for i := range 200 {
		values = append(values, float64(timelines.MiB(1+float64(i%2))))
	}
	values[77] = float64(timelines.GiB(5))
	trend := trendOf(false, values...)
	p := newPanel(trend, trend.Finding)
	if span := p.top - p.bottom; math.Abs(span-19.9*(1<<20)) > 1 || p.bottom != 0 {
		t.Errorf("got an axis from %.0f to %.0f, want 0 to 19.9 MiB", p.bottom, p.top)
	}
	if want := []plots.Point{{X: 78, Y: float64(timelines.GiB(5))}}; !slices.Equal(p.outside,
		want) || len(p.files) != 199 {
		t.Errorf("got %v outside of the axis, want %v", p.outside, want)
	}
}

// TestFlatPanelScale: a flat series is drawn on an axis that fits the limit of 1 MiB a file and the
// level, with round marks.
func TestFlatPanelScale(t *testing.T) {
	for _, c := range []struct {
		level, bottom, top float64
		unit               string
	}{
		{0, 0, 6 * 1024 * 1024, check.Bytes},                                 // a tenth of 60 MiB
		{10240 * 1048576, 10188.8 * 1048576, 10291.2 * 1048576, check.Bytes}, // 1 % of the level
		{5, 3, 7, check.Count},
	} {
		values := slices.Repeat([]float64{c.level}, 60)
		trend := trendOf(false, values...)
		trend.Unit = c.unit
		if c.unit == check.Count {
			trend.Finding.Limit = new(0.0)
		}
		p := newPanel(trend, trend.Finding)
		if math.Abs(p.bottom-c.bottom) > 1 || math.Abs(p.top-c.top) > 1 {
			t.Errorf("level %g: the axis goes from %g to %g, want %g to %g", c.level, p.bottom, p.top,
				c.bottom, c.top)
		}
		for _, tick := range plots.ValueTicks(p.bottom, p.top, c.unit, 5) {
			if c.unit == check.Count && strings.Contains(tick.Label, ".") {
				t.Errorf("a mark of the axis is %s file descriptors", tick.Label)
			}
		}
	}
}

// TestFileNumbers: files have their numbers in the batch, unless these are unknown or occur twice.
func TestFileNumbers(t *testing.T) {
	for _, c := range []struct {
		index []int
		want  []float64
	}{
		{[]int{3, 4, 9}, []float64{3, 4, 9}},
		{[]int{0, 0, 0}, []float64{1, 2, 3}},
		{[]int{1, 2, 2}, []float64{1, 2, 3}},
	} {
		trend := &check.Trend{}
		for _, i := range c.index {
			trend.Files = append(trend.Files, &timeline.File{Index: i})
		}
		if got := fileNumbers(trend); !slices.Equal(got, c.want) {
			t.Errorf("%v: got the numbers %v, want %v", c.index, got, c.want)
		}
	}
}

func TestPlotOverFilesRefuses(t *testing.T) {
	_, few := timelines.Batch{Files: 2}.Judged()
	for _, c := range []struct {
		rep  *check.Report
		want string
	}{
		{few, "nothing to plot over files: growth over files needs 8 files in one " +
			"process; the longest here has 2"},
		{&check.Report{}, "nothing to plot over files: the log has no series over files that " +
			"could be judged"},
	} {
		if err := New(c.rep).Plot(&bytes.Buffer{}, "png", plots.Options{}); err == nil ||
			err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func BenchmarkPlotOverFiles(b *testing.B) {
	levels := fixtures.Levels(fixtures.LevelSpec{Kind: "outliers", Files: 100_000, Sigma: 20})
	var log bytes.Buffer
	if err := levels.WriteLog(&log); err != nil {
		b.Fatal(err)
	}
	tl, err := parser.Build(parser.Read(&log, "run.log"))
	if err != nil {
		b.Fatal(err)
	}
	rep := check.Of(tl, check.DefaultPolicy())
	for b.Loop() {
		var out bytes.Buffer
		if err := New(rep).Plot(&out, "png", plots.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
