package memory

import (
	"cmp"
	"fmt"
	"image/color"
	"path"
	"slices"
	"strings"

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
	title, subtitle string // from the report
	titleInk        color.Color
	clock           clock
	lane            record.Lane
	lanes           int
	quantity        record.Quantity // the quantity of the high-water mark and the cleanups
	series          []series        // in the order of drawing
	dark            []gap           // in the order of the log
	files           []span
	stages          []span // outer before inner
	names           []string
	total           float64      // the size of the device in bytes; 0 if unknown
	high            float64      // the largest reading of the device, bytes
	top             float64      // the largest value that is drawn, bytes
	mark            *plots.Note  // the high-water mark
	failed          []plots.Note // the After of failed cleanups, or else of failed stages
	notes           []string
}

// A series is one line of the plot.
type series struct {
	name   string
	color  color.Color
	dashed bool
	points []plots.Point
}

// A span is the part of the x axis that a file or a stage takes.
type span struct {
	from, to float64
	name     string // of a stage; of a file that did not end well, its status
	index    int    // of a file, from 1; of a stage's name in Chart.names
}

// makeChart collects the data for a plot of the lane with the largest reading. If the timeline
// lacks some checkpoints of the log, the parameter numbers gives the number in the log of each
// checkpoint, else it is nil.
func makeChart(tl *timeline.Timeline, rep *check.Report, numbers map[record.Position]int) *Chart {
	c := &Chart{clock: makeClock(tl, numbers)}
	c.lane, c.lanes = pattern.BusiestLane(tl)
	c.quantity = pattern.MainQuantity(tl, c.lane)
	c.total = float64(pattern.Total(tl, c.lane))
	c.collectSeries(tl)
	c.collectSpans(tl)
	c.findMark(tl)
	c.findFailed(rep)
	c.takeVerdict(rep)
	c.addNotes(rep)
	if c.lanes > 1 {
		c.notes = append(c.notes, fmt.Sprintf("The plot shows %s, the busiest of %d devices.",
			wording.Lane(c.lane), c.lanes))
	}
	if c.clock.cut > 0 {
		c.notes = append(c.notes, fmt.Sprintf("The %s between the runs are left out.",
			c.clock.cut.Round(1e9)))
	}
	return c
}

// takeVerdict sets the title and the subtitle from the report.
func (c *Chart) takeVerdict(rep *check.Report) {
	c.title, c.titleInk, c.subtitle = verdictLine(rep), plots.VerdictInk(rep.Verdict),
		wording.Facts(rep)
	failed := slices.DeleteFunc(wording.WithVerdict(rep.Findings, check.Fail),
		func(f check.Finding) bool { return f.Waived != nil })
	if n := len(failed); n > 1 {
		c.subtitle += "; " + wording.Count(n) + " findings failed"
	}
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

func (c *Chart) collectSeries(tl *timeline.Timeline) {
	ofCheckpoints := func(q record.Quantity) []plots.Point {
		var out []plots.Point
		for _, at := range tl.All() {
			if size, ok := at.Get(q); ok && at.Lane == c.lane {
				out = append(out, plots.Point{X: c.clock.at[at.Pos], Y: float64(size.Bytes)})
			}
		}
		return out
	}
	var used, whole, rss []plots.Point
	beside := timeline.NewDriverLedgers(tl, lanesOf(tl))
	others := false
	otherWorkers := c.otherWorkers(tl)
	for i := range tl.Samples {
		s := &tl.Samples[i]
		device, sampled := beside.DeviceNumber(s.Run, c.lane)
		if size, ok := s.Get(record.Used); ok && sampled && s.Lane.Device == device {
			at := c.clock.at[s.Pos]
			used = append(used, plots.Point{X: at, Y: float64(size.Bytes)})
			if all, ok := s.UsedOnDevice(); ok {
				whole = append(whole, plots.Point{X: at, Y: float64(all)})
			}
			others = others || s.Others > 0
		}
		if s.RSS > 0 && !otherWorkers[s.Run] {
			rss = append(rss, plots.Point{X: c.clock.at[s.Pos], Y: float64(s.RSS)})
		}
	}
	if !c.clock.timed { // samples lie between checkpoints, which this axis counts
		used, whole, rss = nil, nil, nil
	}
	if len(used) == 0 {
		used = ofCheckpoints(record.Used)
	}
	usedName := "device used"
	if others {
		usedName = "device used by the process"
	}
	c.add(usedName, plots.UsedColor, used)
	c.add("reserved", plots.ReservedColor, ofCheckpoints(record.Reserved))
	if c.clock.timed {
		c.dark = c.gaps(tl, beside)
	}
	c.add("allocated", plots.AllocatedColor, ofCheckpoints(record.Allocated))
	c.high = c.top
	if others && len(whole) > 0 { // drawn first, below the pipeline's own lines
		c.add("device used, all processes", plots.SoftInk, whole)
		last := len(c.series) - 1
		c.series[last].dashed = true
		c.series = slices.Insert(c.series[:last], 0, c.series[last])
	}
	if len(used) > 0 || len(rss) == 0 {
		return
	}
	// Without a GPU, the memory of the process is drawn too, unless its scale would make the other
	// lines flat.
	_, high := plots.Extremes(rss)
	if largest := rss[high].Y; c.top == 0 || largest <= 4*c.top {
		c.add("resident memory of the process (host)", plots.RssColor, rss)
		c.series[len(c.series)-1].dashed = true
	} else {
		c.notes = append(c.notes,
			"Resident memory of the process goes up to "+wording.Bytes(largest)+
				" and is not drawn: it would flatten the other lines.")
	}
}

func (c *Chart) add(name string, color color.Color, points []plots.Point) {
	if len(points) == 0 {
		return
	}
	slices.SortStableFunc(points, func(a, b plots.Point) int { return cmp.Compare(a.X, b.X) })
	_, high := plots.Extremes(points)
	c.top = max(c.top, points[high].Y)
	c.series = append(c.series, series{name: name, color: color, points: points})
}

// otherWorkers returns the runs of workers on other GPUs. These work on other files at the same
// time.
func (c *Chart) otherWorkers(tl *timeline.Timeline) map[int]bool {
	runs := map[int]bool{}
	for _, r := range tl.Runs {
		if r.Start.Workers > 1 && r.Start.GPU != c.lane.Device {
			runs[r.Number] = true
		}
	}
	return runs
}

func (c *Chart) collectSpans(tl *timeline.Timeline) {
	otherWorkers := c.otherWorkers(tl)
	for i := range tl.Files {
		f := tl.Files[i]
		if otherWorkers[f.Run] {
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

// verdictLine returns the title of a plot: the verdict and its reason.
func verdictLine(rep *check.Report) string {
	verdict := strings.ToUpper(string(rep.Verdict))
	findings := wording.Sorted(rep)
	for _, v := range []check.Verdict{check.Fail, check.Undecided} {
		if rep.Verdict != v {
			continue
		}
		for _, f := range findings {
			if f.Verdict == v && f.Gates {
				return fmt.Sprintf("%s: %s, %s: %s", verdict, sink.Line(f.Check),
					sink.Line(f.Subject), sink.Line(f.Message))
			}
		}
	}
	if rep.Verdict == check.Pass {
		return verdict + ": " + wording.Plural(len(wording.WithVerdict(findings, check.Pass)),
			"check") + " passed"
	}
	return verdict
}

// lanesOf returns the lanes of the log's checkpoints.
func lanesOf(tl *timeline.Timeline) []record.Lane {
	var lanes []record.Lane
	for _, c := range tl.All() {
		if !slices.Contains(lanes, c.Lane) {
			lanes = append(lanes, c.Lane)
		}
	}
	return lanes
}
