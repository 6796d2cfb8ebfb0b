package memory

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/reports/plots"
)

// TestIdleLevels: after file n, a leak of 4 MiB a file leaves 0.1 GiB + n x 4 MiB. File 5 crashed,
// so its last reading is no idle level.
func TestIdleLevels(t *testing.T) {
	tl, rep := timelines.Batch{Files: 9, Leak: timelines.MiB(4), CrashAt: 5}.Judged()
	c := makeChart(tl, rep, nil)
	var got []float64
	for _, p := range c.idle.pieces[0] {
		got = append(got, (p.Y-float64(timelines.GiB(0.1)))/float64(record.MiB))
	}
	want := []float64{4, 8, 12, 16, 24, 28, 32, 36}
	if len(got) != len(want) {
		t.Fatalf("got the levels %v MiB above the first, want %v", got, want)
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 0.01 {
			t.Errorf("level %d is %.2f MiB above the start, want %.0f", i+1, got[i], want[i])
		}
	}
	tl, rep = timelines.Batch{Files: 60, Leak: timelines.MiB(4), Diarize: true}.Judged()
	// 0.1 GiB = 102.4 MiB; with 4 MiB: 106 MiB, with 240 MiB: 342 MiB.
	const name = "idle level, when a file ends: 106 MiB after file 1, 342 MiB after file 60"
	if got := strings.Join(words(t, tl, rep, plots.Options{}), "\n"); !strings.Contains(got, name) {
		t.Errorf("the legend lacks %q:\n%s", name, got)
	}
}

// restarted returns the log of a run of four files. After two files the process crashes, and a new
// one begins 50 s later.
func restarted() string {
	var log strings.Builder
	line := func(format string, a ...any) { _, _ = fmt.Fprintf(&log, format+"\n", a...) }
	second := 0
	next := func(step int) string {
		second += step
		return fmt.Sprintf("2026-11-20T02:%02d:%02d.000Z", second/60, second%60)
	}
	line("[vramsoak] run-start time=%s files=4 feed=stdin version=1 command=x", next(0))
	for i := 1; i <= 4; i++ {
		if i == 3 {
			line("[vramsoak] exit time=%s code=1", next(1))
			next(50)
		}
		line("[vramsoak] file-start time=%s index=%d path=%d.wav", next(1), i, i)
		for _, level := range []int{1, 8, 1 + i%2} {
			line("%s [GPU Memory] Step %d: Allocated: %d.00GB", next(1), level, level)
		}
		line("[vramsoak] file-end time=%s index=%d path=%d.wav status=ok seconds=4.000", next(1), i, i)
	}
	line("[vramsoak] run-end time=%s files=4 reason=done", next(1))
	return log.String()
}

// TestLinesBreakBetweenProcesses: no line joins the readings of two processes, and a dotted line
// shows where the second one begins.
func TestLinesBreakBetweenProcesses(t *testing.T) {
	tl, rep := timelines.Judge(t, restarted(), check.DefaultPolicy())
	c := makeChart(tl, rep, nil)
	for name, s := range map[string]series{"allocated": c.series[0], "idle": c.idle} {
		if len(s.pieces) != 2 {
			t.Fatalf("%s: got %d pieces for two processes", name, len(s.pieces))
		}
		for _, piece := range s.pieces {
			if span := piece[len(piece)-1].X - piece[0].X; span > 15 {
				t.Errorf("%s: a line of %g s joins two processes", name, span)
			}
		}
	}
	if len(c.starts) != 1 || c.starts[0] != c.series[0].pieces[1][0].X {
		t.Errorf("got the starts %v, want the first reading of the second process", c.starts)
	}
	got := strings.Join(words(t, tl, rep, plots.Options{}), "\n")
	if !strings.Contains(got, "\na new process\n") {
		t.Errorf("the legend lacks the new process:\n%s", got)
	}
}

// TestIdleLevelsOfSketch: the sketch of a long log keeps the idle levels to within a stretch.
func TestIdleLevelsOfSketch(t *testing.T) {
	tl, rep := timelines.Batch{Files: 5000, Leak: timelines.MiB(3), Diarize: true}.Judged()
	c := sketchOf(tl, rep, plots.Options{}).Chart(tl, rep)
	points := c.idle.pieces[0]
	for i, p := range points {
		file := 1 + math.Round((p.Y-float64(timelines.GiB(0.1)))/float64(timelines.MiB(3))) - 1
		if x := c.clock.at[tl.Files[int(file)-1].EndPos]; math.Abs(x-p.X) > 1 {
			t.Fatalf("the level after file %.0f is drawn at %g s, and the file ended at %g s", file,
				p.X, x)
		}
		if i > 0 && p.X-points[i-1].X > c.clock.end/200 {
			t.Fatalf("there is no idle level from %g to %g s", points[i-1].X, p.X)
		}
	}
}

// TestOnlyIdle: if each file has one reading, its idle level, that level is drawn below the line of
// the readings and wider, so that the picture has both colours of the legend.
func TestOnlyIdle(t *testing.T) {
	var log strings.Builder
	for i := range 20 {
		fmt.Fprintf(&log, "[pipeline] file-start path=%d.wav\n[GPU Memory] After Work: Allocated: "+
			"%d.00GB\n[pipeline] file-end path=%d.wav status=ok\n", i, i+1, i)
	}
	tl, rep := timelines.Judge(t, log.String(), check.DefaultPolicy())
	var out bytes.Buffer
	if err := plotOf(&out, "png", tl, rep, plots.Options{}); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&out)
	if err != nil {
		t.Fatal(err)
	}
	pixels := map[color.RGBA]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			pixels[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	// The lines are over 1,000 pixels long, those of the legend about 30.
	for name, c := range map[string]color.Color{
		"allocated": plots.AllocatedColor, "idle level": plots.Ink,
	} {
		if n := pixels[color.RGBAModel.Convert(c).(color.RGBA)]; n < 1000 {
			t.Errorf("got %d pixels of %s", n, name)
		}
	}
}
