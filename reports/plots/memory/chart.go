package memory

import (
	"fmt"
	"image/color"
	"maps"
	"path"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/pattern"
	"vramsoak/reports/plots"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A Chart holds the data of a plot of memory over time. It holds no reference to the timeline or
// the report, so that their memory can be freed.
type Chart struct {
	title          string // from the report
	details, facts string // the lines below the title
	titleInk       color.Color
	clock          clock
	lane           record.Lane
	lanes          []pattern.Lane  // of the log
	ranks          bool            // some lane of the log has a rank
	fails          bool            // the run failed in this lane
	others         []*side         // further lanes, in the order of drawing
	rest           int64           // the largest reading of the lanes that are in neither, bytes
	quantity       record.Quantity // the quantity of the high-water mark and the cleanups
	series         []series        // in the order of drawing
	idle           series          // the idle levels of the files; without pieces if unknown
	starts         []float64       // where each process but the first begins
	units          []unit          // see collectUnits
	dark           []gap           // in the order of the log
	files          []span
	stages         []span // outer before inner
	names          []string
	total          float64      // the size of the device in bytes; 0 if unknown
	high           float64      // the largest reading of the device, bytes
	top            float64      // the largest value that is drawn, bytes
	mark           *plots.Note  // the high-water mark
	failed         []plots.Note // the After of failed cleanups, or else of failed stages
	shortages      []shortage   // in the order of the log
	shortageNote   plots.Note   // the label of one of them
	notes          []string
}

// A span is the part of the x axis that a file or a stage takes.
type span struct {
	from, to float64
	name     string // of a stage; of a file that did not end well, its status
	index    int    // of a file, from 1; of a stage's name in Chart.names
}

// makeChart collects the data for a plot of the first of [pattern.Lanes], with small plots of the
// others. If the timeline lacks some checkpoints of the log, the parameter kept says where those
// that it has were in the log. Else kept is nil.
func makeChart(tl *timeline.Timeline, rep *check.Report, kept *places) *Chart {
	c := &Chart{clock: makeClock(tl, kept)}
	lanes, fails := pattern.Lanes(tl, rep)
	if len(lanes) > 0 {
		c.lane = lanes[0].Lane
	}
	c.lanes, c.fails = lanes, fails
	c.ranks = slices.ContainsFunc(lanes, func(l pattern.Lane) bool { return l.Rank != 0 })
	c.collectLane(tl, rep, kept)
	c.takeVerdict(rep)
	c.addNotes(rep)
	if len(lanes) > 1 {
		c.collectSides(tl, rep, kept)
	}
	if c.clock.cut > 0 {
		c.notes = append(c.notes, fmt.Sprintf("The %s between the runs are left out.",
			c.clock.cut.Round(1e9)))
	}
	return c
}

// collectLane collects what is drawn of the chart's lane.
func (c *Chart) collectLane(tl *timeline.Timeline, rep *check.Report, kept *places) {
	c.quantity = pattern.MainQuantity(tl, c.lane)
	c.total = float64(pattern.Total(tl, c.lane))
	isOfOtherLane := c.isOfOtherLane(tl)
	c.collectSeries(tl)
	c.collectIdle(tl, kept, isOfOtherLane)
	c.collectUnits(tl, kept)
	c.collectStarts(tl)
	c.collectSpans(tl, isOfOtherLane)
	c.findMark(tl)
	c.findShortages(tl)
	c.findFailed(rep)
}

// addNotes adds the report's notes, and its findings about a device that was in use before or after
// the run.
func (c *Chart) addNotes(rep *check.Report) {
	for _, f := range wording.WithVerdict(rep.Findings, check.Fail, check.Undecided) {
		if f.Check == check.CleanStart {
			c.notes = append(c.notes, sink.Line(f.Check+", "+f.Subject+": "+f.Message))
		}
	}
	for i, note := range rep.Notes {
		if i == 3 {
			break
		}
		c.notes = append(c.notes, sink.Line(note))
	}
}

// collectStarts finds where each process but the first begins.
func (c *Chart) collectStarts(tl *timeline.Timeline) {
	begins := map[process]float64{}
	for f, at := range tl.All() {
		if at.Lane != c.lane {
			continue
		}
		of, x := process{f.Run, f.Process}, c.clock.at[at.Pos]
		if first, known := begins[of]; !known || x < first {
			begins[of] = x
		}
	}
	c.starts = slices.Sorted(maps.Values(begins))
	c.starts = c.starts[min(1, len(c.starts)):]
}

func (c *Chart) collectSpans(tl *timeline.Timeline, isOfOtherLane func(*timeline.File) bool) {
	for i := range tl.Files {
		f := tl.Files[i]
		if isOfOtherLane(f) {
			continue
		}
		ended := ""
		if f.Status != record.StatusOK && f.Status != record.StatusUnknown {
			ended = sink.Line(string(f.Status))
		}
		c.files = append(c.files, span{
			from: c.clock.at[f.Pos], to: c.clock.at[f.EndPos],
			name: ended, index: f.Index,
		})
		for _, s := range f.Stages {
			from, to := &f.Checkpoints[s.Before], &f.Checkpoints[s.After]
			if from.Lane != c.lane {
				continue
			}
			name := slices.Index(c.names, s.Name)
			if name < 0 {
				name = len(c.names)
				c.names = append(c.names, s.Name)
			}
			c.stages = append(c.stages, span{
				from: c.clock.at[from.Pos], to: c.clock.at[to.Pos],
				name: s.Name, index: name,
			})
		}
	}
}

// findMark finds the high-water mark: the largest level or peak in all checkpoints.
func (c *Chart) findMark(tl *timeline.Timeline) {
	var most int64
	var at *record.Checkpoint
	var in *timeline.File
	for f, p := range tl.All() {
		if p.Lane != c.lane {
			continue
		}
		level := p.Bytes(c.quantity)
		if c.quantity == record.Allocated {
			level = max(level, p.Bytes(record.Peak))
		}
		if level > most {
			most, at, in = level, p, f
		}
	}
	if at == nil {
		return
	}
	text := fmt.Sprintf("highest %s: %s at %s", wording.Quantity(c.quantity),
		record.FormatBytes(most), wording.Shorten(sink.Line(at.Name), 60))
	if len(tl.Files) > 0 {
		text += ", " + fileLabel(in)
	}
	c.mark = &plots.Note{Point: plots.Point{X: c.clock.at[at.Pos], Y: float64(most)}, Text: text}
	c.high, c.top = max(c.high, float64(most)), max(c.top, float64(most))
}

// findFailed marks the After of each failed cleanup. If no cleanup failed, it marks failed stages
// instead. Only the first mark of each name gets a label.
func (c *Chart) findFailed(rep *check.Report) {
	var stages []plots.Note
	words := map[string]bool{}
	for i := range rep.Recoveries {
		r := &rep.Recoveries[i]
		if r.Verdict != check.Fail || r.Lane != c.lane {
			continue
		}
		after := &r.File.Checkpoints[r.After]
		size, ok := after.Get(c.quantity)
		if !ok {
			continue
		}
		n := plots.Note{Point: plots.Point{X: c.clock.at[after.Pos], Y: float64(size.Bytes)}}
		if !words[r.Name] {
			words[r.Name] = true
			n.Text = fmt.Sprintf("%s freed %.1f %%, %s", wording.Shorten(sink.Line(r.Name), 40),
				100*r.Share, fileLabel(r.File))
		}
		if r.Stage {
			stages = append(stages, n)
		} else {
			c.failed = append(c.failed, n)
		}
	}
	if len(c.failed) == 0 {
		c.failed = stages
	}
}

// fileLabel returns the name of a file for a label: "file 12: 0012.wav".
func fileLabel(f *timeline.File) string {
	name := wording.ShortenPath(sink.Line(path.Base(f.Path)), 40)
	switch {
	case f.Outside:
		return f.Name()
	case f.Path == "":
		return fmt.Sprintf("file %d", f.Index)
	case f.Index == 0: // the pipeline named the file, and the harness did not feed it
		return name
	}
	return fmt.Sprintf("file %d: %s", f.Index, name)
}
