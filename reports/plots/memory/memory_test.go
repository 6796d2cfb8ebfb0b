package memory

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/parser/timeline"
	"vramsoak/reports/plots"
)

// TestPlot draws every sample small and looks at the picture. PLOTS=DIR draws them at full size and
// keeps them for a person to look at.
func TestPlot(t *testing.T) {
	small := plots.Options{Width: 800, Height: 450}
	dir := os.Getenv("PLOTS")
	if dir != "" {
		small = plots.Options{Width: 1600, Height: 900}
	}
	for name, s := range timelines.Samples {
		t.Run(name, func(t *testing.T) {
			tl, rep := s.Judged()
			var out bytes.Buffer
			if err := plotOf(&out, "png", tl, rep, small); err != nil {
				t.Fatal(err)
			}
			if dir != "" {
				if err := os.WriteFile(filepath.Join(dir, name+".png"), out.Bytes(),
					0o644); err != nil {
					t.Fatal(err)
				}
			}
			lookAt(t, out.Bytes(), small, s)
		})
	}
}

func TestPlotDefaultSize(t *testing.T) {
	s := timelines.Batch{Files: 3, Device: true}
	tl, rep := s.Judged()
	var out bytes.Buffer
	if err := plotOf(&out, "png", tl, rep, plots.Options{}); err != nil {
		t.Fatal(err)
	}
	lookAt(t, out.Bytes(), plots.Options{Width: 1600, Height: 900}, s)
}

// TestPlotIsDeterministic: the same input gives the same bytes each time.
func TestPlotIsDeterministic(t *testing.T) {
	s := timelines.Batch{Files: 4, KeepFrom: 2, Diarize: true}
	for _, format := range plots.Formats {
		var first, second bytes.Buffer
		for _, out := range []*bytes.Buffer{&first, &second} {
			tl, rep := s.Judged()
			if err := plotOf(out, format, tl, rep,
				plots.Options{Width: 800, Height: 450}); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: two plots of the same input differ", format)
		}
		if dates := regexp.MustCompile(`D:\d+`).FindAll(first.Bytes(), -1); format == "pdf" &&
			string(bytes.Join(dates, []byte(" "))) != "D:20000101000000 D:20000101000000" {
			t.Errorf("the PDF is dated %s", dates)
		}
	}
}

// lookAt decodes a picture and checks its size, its white background, and the colours of everything
// that it must show.
func lookAt(t *testing.T, data []byte, want plots.Options, s timelines.Batch) {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	img, ok := decoded.(*image.RGBA)
	if size := decoded.Bounds().Size(); !ok || size.X != want.Width || size.Y != want.Height {
		t.Fatalf("%T of %v pixels, want %+v", decoded, size, want)
	}
	pixels := map[color.RGBA]int{}
	for y := range want.Height {
		for x := range want.Width {
			c := img.RGBAAt(x, y)
			pixels[c]++
			if edge := x == 0 || y == 0 || x == want.Width-1 ||
				y == want.Height-1; edge && c != (color.RGBA{255, 255, 255, 255}) {
				t.Fatalf("the edge of the picture cuts something off at %d, %d", x, y)
			}
		}
	}
	seen := map[string]color.NRGBA{
		"allocated": plots.AllocatedColor,
		"reserved":  plots.ReservedColor,
	}
	if s.Device {
		seen["device used"] = plots.UsedColor
	}
	if s.Processes {
		seen["resident memory"] = plots.RssColor
	}
	if s.KeepFrom > 0 {
		seen["failed cleanup"] = plots.FailedColor
	}
	for what, c := range seen {
		if n := pixels[color.RGBA(c)]; n < 50 {
			t.Errorf("got %d pixels of %s", n, what)
		}
	}
}

func TestPlotWords(t *testing.T) {
	for _, c := range []struct {
		sample timelines.Batch
		want   []string
		not    []string
	}{
		{
			timelines.Batch{Files: 8, KeepFrom: 3},
			[]string{
				">FAIL: Whisper Cleanup frees 25.0 % in file 3",
				">allocated<", ">reserved<", ">Transcription<",
				">failed recovery<", ">Whisper Cleanup freed 25.0 %, file 3: 0003.wav<",
				">highest allocated: 7.59 GiB at Before Whisper Cleanup, file ",
				">The 70 % line (16.8 GiB of 24.0 GiB) lies above this plot: the highest reading " +
					"is 32.7 %.<",
				">Lines join readings; memory between two readings is not known.<",
				">time from the start (seconds)<", ">8 GiB<", ">file 1<",
			},
			[]string{">device used<", ">70 %: 16.8 GiB<"},
		},
		{
			timelines.Batch{Files: 60, Leak: timelines.MiB(200)},
			[]string{
				">70 %: 16.8 GiB<", ">85 %: 20.4 GiB<", ">total: 24.0 GiB<", ">file 1<",
				">10<", ">60<",
			},
			[]string{">failed recovery<", "lies above this plot"},
		},
		{
			timelines.Batch{Files: 8, CrashAt: 5, Device: true},
			[]string{">5 crashed<", ">device used<"},
			nil,
		},
		{
			timelines.Batch{Files: 4, Timeless: true},
			[]string{">checkpoint (the log has no times)<"},
			[]string{"time from the start"},
		},
		{
			timelines.Batch{Files: 4, Processes: true, Model: timelines.MiB(75)},
			[]string{">resident memory of the process (host)<"},
			[]string{">device used<"},
		},
		{
			timelines.Batch{Files: 5000, KeepFrom: 1200},
			[]string{
				">allocated (lowest to highest)<", ">4,500<",
				">Whisper Cleanup freed 25.0 %, file 1200: 1200.wav<",
			},
			[]string{">Transcription<"},
		},
	} {
		tl, rep := c.sample.Judged()
		var out bytes.Buffer
		if err := plotOf(&out, "svg", tl, rep, plots.Options{}); err != nil {
			t.Fatal(err)
		}
		for _, w := range c.want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%+v: the plot lacks %q", c.sample, w)
			}
		}
		for _, w := range c.not {
			if strings.Contains(out.String(), w) {
				t.Errorf("%+v: the plot has %q", c.sample, w)
			}
		}
	}
}

// TestPlotMarksFailed: the plot marks each After of a failed cleanup, and nothing else.
func TestPlotMarksFailed(t *testing.T) {
	tl, rep := timelines.Batch{Files: 8, KeepFrom: 3, CrashAt: 6, Diarize: true}.Judged()
	c := makeChart(tl, rep, nil)
	var want []float64
	for _, i := range []int{3, 4, 5, 7, 8} {
		want = append(want, c.clock.at[tl.Files[i-1].Checkpoints[5].Pos])
	}
	if len(c.failed) != len(want) {
		t.Fatalf("%d marks, want %d", len(c.failed), len(want))
	}
	for i, n := range c.failed {
		if n.X != want[i] || n.Y < float64(timelines.GiB(5.5)) || (n.Text != "") != (i == 0) {
			t.Errorf("mark %d: %+v, want it at %v", i, n, want[i])
		}
	}
	if clean := makeChart(tl, &check.Report{Verdict: check.Pass}, nil); len(clean.failed) > 0 {
		t.Errorf("got %d marks although no finding failed", len(clean.failed))
	}
}

// TestPlotMarksStages: the After of a stage has a mark only if none of its cleanups failed. Of 7
// GB, the cleanup frees 1 GB, as it announced.
func TestPlotMarksStages(t *testing.T) {
	stage := func(holds string) string {
		return `[GPU Memory] Before Transcription: Allocated: 1.00GB
[GPU Memory] Before Whisper Cleanup: Allocated: 8.00GB` + holds + `
[GPU Memory] After Whisper Cleanup: Allocated: 7.00GB
[GPU Memory] After Transcription: Allocated: 7.00GB
`
	}
	said := stage(" | holds=1073741824 allocated=8589934592")
	for _, c := range []struct {
		log  string
		want []plots.Note
	}{
		{strings.ReplaceAll(said, "7.00GB", "7.00GB | allocated=7516192768"), []plots.Note{
			{
				Point: plots.Point{X: 4, Y: float64(timelines.GiB(7))},
				Text:  "Transcription freed 14.3 %, file 1",
			},
		}},
		{stage(""), []plots.Note{{
			Point: plots.Point{X: 3, Y: float64(timelines.GiB(7))},
			Text:  "Whisper Cleanup freed 14.3 %, file 1",
		}}},
		// the plot shows the device that fails, not the busiest
		{
			stage("") + "[GPU Memory] Before Transcription: Allocated: 20.00GB | device=1\n",
			[]plots.Note{{
				Point: plots.Point{X: 3, Y: float64(timelines.GiB(7))},
				Text:  "Whisper Cleanup freed 14.3 %, file 1",
			}},
		},
	} {
		tl, rep := timelines.Judge(t, c.log, check.DefaultPolicy())
		if diff := cmp.Diff(c.want, makeChart(tl, rep, nil).failed,
			cmp.AllowUnexported(plots.Note{}, plots.Point{})); diff != "" {
			t.Errorf("%s(-want +got):\n%s", c.log, diff)
		}
	}
}

func TestHighWaterMarkOutsideOfFiles(t *testing.T) {
	poll := "Sun Jan 25 17:25:39 2026\n| 30%   35C    P0    99W / 300W |   1835MiB / 46068MiB |  " +
		"   30%      Default |\n"
	for _, c := range []struct{ log, want string }{
		{poll, "highest device used: 1.79 GiB at nvidia-smi"},
		{
			poll + "[pipeline] file-start path=a.wav\n" +
				strings.Replace(poll, " 1835MiB", "  835MiB", 1),
			"highest device used: 1.79 GiB at nvidia-smi, outside of files",
		},
	} {
		tl, rep := timelines.Judge(t, c.log, check.DefaultPolicy())
		if mark := makeChart(tl, rep, nil).mark; mark == nil || mark.Text != c.want {
			t.Errorf("%s: expected the mark %q, found %+v", c.log, c.want, mark)
		}
	}
}

func TestPlotRefuses(t *testing.T) {
	tl, rep := timelines.Batch{Files: 2}.Judged()
	if err := plotOf(&bytes.Buffer{}, "gif", tl, rep, plots.Options{}); err == nil ||
		!strings.Contains(err.Error(), "png, svg, pdf") {
		t.Errorf("gif: got %v", err)
	}
	if err := plotOf(&bytes.Buffer{}, "png", tl, rep,
		plots.Options{Width: 100, Height: 100}); err == nil {
		t.Error("100 x 100: got a picture, want an error")
	}
	if err := plotOf(&bytes.Buffer{}, "png", &timeline.Timeline{}, &check.Report{},
		plots.Options{}); !errors.Is(err, ErrNothing) {
		t.Errorf("an empty log: got %v", err)
	}
}

func BenchmarkPlot5000(b *testing.B) {
	tl, rep := timelines.Batch{Files: 5000, Device: true}.Judged()
	for b.Loop() {
		if err := plotOf(&bytes.Buffer{}, "png", tl, rep, plots.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// plotOf draws memory over time from a timeline that has kept its checkpoints.
func plotOf(
	w io.Writer, format string, tl *timeline.Timeline, rep *check.Report, opts plots.Options,
) error {
	return sketchOf(tl, rep, opts).Chart(tl, rep).Plot(w, format, opts)
}

// sketchOf sketches a timeline that has kept its checkpoints.
func sketchOf(tl *timeline.Timeline, rep *check.Report, opts plots.Options) *Sketch {
	recovered := map[*timeline.File][]check.Recovered{}
	for _, r := range rep.Recoveries {
		recovered[r.File] = append(recovered[r.File], r)
	}
	s := NewSketch(opts)
	for f := range tl.InOrder() {
		s.Add(f, recovered[f])
	}
	return s
}
