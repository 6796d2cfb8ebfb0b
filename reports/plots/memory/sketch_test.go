package memory

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/plots"
)

// TestSketchOfShortLog: the sketch of a short log keeps everything. Its chart is that of the whole
// timeline.
func TestSketchOfShortLog(t *testing.T) {
	for _, s := range []timelines.Batch{
		{Files: 60, KeepFrom: 12, Diarize: true, Device: true},
		{Files: 8, Timeless: true, Printed: true},
		{Files: 9, CrashAt: 5},
	} {
		tl, rep := s.Judged()
		whole := makeChart(tl, rep, nil)
		got := sketchOf(tl, rep, plots.Options{}).Chart(tl, rep)
		if diff := cmp.Diff(whole, got, cmp.AllowUnexported(Chart{}, clock{}, series{}, span{},
			shortage{}, unit{}, plots.Note{}, plots.Point{}, gap{})); diff != "" {
			t.Errorf("%+v (-whole +sketch):\n%s", s, diff)
		}
	}
}

// TestSketchOfLongLog: the sketch of a long log keeps everything that can be seen: the bounds of
// each line, to within the width of three columns; the high-water mark with its text; all failed
// cleanups; and the files with their stages.
func TestSketchOfLongLog(t *testing.T) {
	const columns = 1400
	for name, s := range map[string]timelines.Batch{
		"many files":       {Files: 5000, Leak: timelines.MiB(3), KeepFrom: 1200, Device: true},
		"without times":    {Files: 5000, Timeless: true, KeepFrom: 4000},
		"stages within":    {Files: 4000, Diarize: true, KeepFrom: 3999},
		"one file crashed": {Files: 3000, CrashAt: 2000},
	} {
		t.Run(name, func(t *testing.T) {
			tl, rep := s.Judged()
			whole := makeChart(tl, rep, nil)
			sketch := sketchOf(tl, rep, plots.Options{})
			got := sketch.Chart(tl, rep)
			if n := len(sketch.lanes[0].marks); n > sketchLimit || n < sketchLimit/4 {
				t.Errorf("the sketch keeps %d of %d checkpoints", n, tl.Checkpoints)
			}
			if diff := cmp.Diff(whole.mark, got.mark,
				cmp.AllowUnexported(plots.Note{}, plots.Point{})); diff != "" {
				t.Errorf("the high-water mark (-whole +sketch):\n%s", diff)
			}
			if whole.clock.end != got.clock.end || whole.top != got.top ||
				whole.total != got.total {
				t.Errorf("end %g, top %g, total %g; want %g, %g, %g", got.clock.end, got.top,
					got.total, whole.clock.end, whole.top, whole.total)
			}
			width := 3 * whole.clock.end / columns
			if len(whole.series) != len(got.series) || len(whole.files) != len(got.files) {
				t.Fatalf("%d series, %d files; want %d, %d", len(got.series), len(got.files),
					len(whole.series), len(whole.files))
			}
			for i := range whole.files {
				a, b := whole.files[i], got.files[i]
				if math.Abs(a.from-b.from) > width || math.Abs(a.to-b.to) > width ||
					a.name != b.name || a.index != b.index {
					t.Fatalf("file %+v, want %+v", b, a)
				}
			}
			for i := range whole.series {
				comparePoints(t, whole.series[i], got.series[i], width)
			}
			if len(whole.failed) > 0 && (len(got.failed) == 0 || whole.failed[0] != got.failed[0]) {
				t.Fatalf("failed %v, want the first %+v", got.failed[:min(1, len(got.failed))],
					whole.failed[0])
			}
			for _, n := range whole.failed {
				if !slices.ContainsFunc(got.failed, func(m plots.Note) bool {
					return math.Abs(m.X-n.X) <= width
				}) {
					t.Fatalf("no failed cleanup is marked near %g", n.X)
				}
			}
		})
	}
}

// comparePoints checks that every point of the whole line lies within the sketch's points around
// it, and that each point of the sketch is in the whole line.
func comparePoints(t *testing.T, whole, got series, width float64) {
	t.Helper()
	if whole.name != got.name {
		t.Fatalf("series %q, want %q", got.name, whole.name)
	}
	known := map[plots.Point]bool{}
	wholePoints, gotPoints := slices.Concat(whole.pieces...), slices.Concat(got.pieces...)
	for _, p := range wholePoints {
		known[p] = true
	}
	for _, p := range gotPoints {
		if !known[p] {
			t.Fatalf("%s: the point %+v is not in the whole line", whole.name, p)
		}
	}
	from := 0
	for _, p := range wholePoints {
		for gotPoints[from].X < p.X-width {
			from++
		}
		low, high := math.Inf(1), math.Inf(-1)
		for _, q := range gotPoints[from:] {
			if q.X > p.X+width {
				break
			}
			low, high = min(low, q.Y), max(high, q.Y)
		}
		if p.Y < low || p.Y > high {
			t.Fatalf("%s: %+v is not within %g and %g", whole.name, p, low, high)
		}
	}
}

// TestSketchKeepsWideStages: stages that are wide enough to be seen stay, however many checkpoints
// they have.
func TestSketchKeepsWideStages(t *testing.T) {
	f := &timeline.File{Index: 1, Path: "a.wav", Status: record.StatusOK, Start: timelines.Start}
	tl := &timeline.Timeline{Files: []*timeline.File{f}}
	const n = 200_000
	for i := range n {
		c := record.Checkpoint{Header: record.Header{
			Pos:  record.Position{Path: "run.log", Line: i + 1},
			Time: timelines.Start.Add(time.Duration(i) * time.Millisecond),
		}, Name: fmt.Sprint("step ", i)}
		c.Set(record.Allocated, record.Exact(int64(1000+i%7)))
		f.Checkpoints = append(f.Checkpoints, c)
	}
	f.EndPos, f.End = f.Checkpoints[n-1].Pos, f.Checkpoints[n-1].Time
	f.Stages = []timeline.Stage{{Name: "Outer", Before: 100, After: 150_000}}
	for i := 1000; i < 101_000; i += 10 {
		f.Stages = append(f.Stages, timeline.Stage{Name: "Inner", Before: i, After: i + 9})
	}
	f.Stages = append(f.Stages, timeline.Stage{Name: "Late", Before: 160_000, After: 190_000})
	tl.Checkpoints = n
	rep := &check.Report{Verdict: check.Pass}
	wide := func(c *Chart) []span {
		return slices.DeleteFunc(slices.Clone(c.stages), func(s span) bool {
			return s.to-s.from < 1
		})
	}
	whole, got := wide(makeChart(tl, rep, nil)),
		wide(sketchOf(tl, rep, plots.Options{}).Chart(tl, rep))
	for _, stages := range [][]span{whole, got} {
		for i := range stages {
			stages[i].index = 0 // the sketch may have lost stages with other names
		}
	}
	if diff := cmp.Diff(whole, got, cmp.AllowUnexported(span{})); diff != "" || len(whole) != 2 {
		t.Errorf("%d stages (-whole +sketch):\n%s", len(whole), diff)
	}
}

// TestSketchOfOddTimes: a log whose times are equal, or run backwards, is sketched by the numbers
// of its checkpoints.
func TestSketchOfOddTimes(t *testing.T) {
	for name, at := range map[string]func(i int) time.Time{
		"all alike": func(int) time.Time { return timelines.Start },
		"backwards": func(i int) time.Time {
			return timelines.Start.Add(-time.Duration(i) * time.Second)
		},
		"back and forth": func(i int) time.Time {
			return timelines.Start.Add(time.Duration(i%2) * 24 * time.Hour)
		},
		"in the year 0": func(i int) time.Time { return time.Date(0, 1, 1, 0, 0, i, 0, time.UTC) },
	} {
		f := &timeline.File{Index: 1}
		const n = 50_000
		for i := range n {
			c := record.Checkpoint{Header: record.Header{Pos: record.Position{
				Path: "run.log",
				Line: i + 1,
			}, Time: at(i)}, Sampled: true}
			c.Set(record.Allocated, record.Exact(int64(1000+i)))
			f.Checkpoints = append(f.Checkpoints, c)
		}
		f.Pos, f.EndPos = f.Checkpoints[0].Pos, f.Checkpoints[n-1].Pos
		tl := &timeline.Timeline{Files: []*timeline.File{f}, Checkpoints: n}
		s := sketchOf(tl, &check.Report{}, plots.Options{})
		marks := s.lanes[0].marks
		if len(marks) > sketchLimit*3/2 || marks[0].number != 1 || marks[len(marks)-1].number != n {
			t.Errorf("%s: got %d marks", name, len(marks))
		}
		for i := 1; i < len(marks) && name != "back and forth"; i++ {
			if gap := marks[i].number - marks[i-1].number; gap > n/columnsAtLeast {
				t.Fatalf("%s: the sketch has none of %d checkpoints in a row", name, gap)
			}
		}
		var out bytes.Buffer
		if err := s.Chart(tl, &check.Report{}).Plot(&out, "svg", plots.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

const columnsAtLeast = 400
