package memory

import (
	"cmp"
	"image/color"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/plots"
	"vramsoak/reports/wording"
)

// A series is one line of the plot. It is broken where one process ends and the next begins,
// because nothing was read between the two.
type series struct {
	name   string
	color  color.Color
	dashed bool
	pieces [][]plots.Point // one for each process, sorted by x
}

// A reading is a point of a series, with the process that it is of. Readings of a whole device are
// of no process, so they make one line.
type reading struct {
	plots.Point
	of process
}

type process struct{ run, number int }

// pieces returns the readings of each process, sorted by x. The process that began first comes
// first.
func pieces(readings []reading) [][]plots.Point {
	of := map[process][]plots.Point{}
	for _, r := range readings {
		of[r.of] = append(of[r.of], r.Point)
	}
	out := make([][]plots.Point, 0, len(of))
	for _, points := range of {
		slices.SortStableFunc(points, func(a, b plots.Point) int { return cmp.Compare(a.X, b.X) })
		out = append(out, points)
	}
	slices.SortFunc(out, func(a, b []plots.Point) int {
		return cmp.Or(cmp.Compare(a[0].X, b[0].X), cmp.Compare(a[len(a)-1].X, b[len(b)-1].X),
			cmp.Compare(a[0].Y, b[0].Y))
	})
	return out
}

// count returns the number of points.
func (s *series) count() (n int) {
	for _, piece := range s.pieces {
		n += len(piece)
	}
	return n
}

func (c *Chart) collectSeries(tl *timeline.Timeline) {
	ofCheckpoints := func(q record.Quantity) []reading {
		var out []reading
		for f, at := range tl.All() {
			if size, ok := at.Get(q); ok && at.Lane == c.lane {
				out = append(out, reading{
					plots.Point{X: c.clock.at[at.Pos], Y: float64(size.Bytes)},
					process{f.Run, f.Process},
				})
			}
		}
		return out
	}
	var used, whole, rss []reading
	beside := timeline.NewDriverLedgers(tl, lanesOf(tl))
	others := false
	otherWorkers := c.otherWorkers(tl)
	for i := range tl.Samples {
		s := &tl.Samples[i]
		device, sampled := beside.DeviceNumber(s.Run, c.lane)
		at, of := c.clock.at[s.Pos], process{s.Run, s.PID}
		if size, ok := s.Get(record.Used); ok && sampled && s.Lane.Device == device {
			r := reading{plots.Point{X: at, Y: float64(size.Bytes)}, of}
			if s.Source == record.SourceDevice {
				r.of = process{}
			}
			used = append(used, r)
			if all, ok := s.UsedOnDevice(); ok {
				whole = append(whole, reading{plots.Point{X: at, Y: float64(all)}, process{}})
			}
			others = others || s.Others > 0
		}
		if s.RSS > 0 && !otherWorkers[s.Run] {
			rss = append(rss, reading{plots.Point{X: at, Y: float64(s.RSS)}, of})
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
	if len(used) == 0 && len(rss) > 0 {
		c.addResident(rss)
	}
}

// addResident adds the memory of the process on a machine without a GPU, unless its scale would
// make the other lines flat.
func (c *Chart) addResident(rss []reading) {
	largest := 0.0
	for _, r := range rss {
		largest = max(largest, r.Y)
	}
	if c.top > 0 && largest > 4*c.top {
		c.notes = append(c.notes,
			"Resident memory of the process goes up to "+wording.Bytes(largest)+
				" and is not drawn: it would flatten the other lines.")
		return
	}
	c.add("resident memory of the process (host)", plots.RssColor, rss)
	c.series[len(c.series)-1].dashed = true
}

func (c *Chart) add(name string, color color.Color, readings []reading) {
	if len(readings) == 0 {
		return
	}
	for _, r := range readings {
		c.top = max(c.top, r.Y)
	}
	c.series = append(c.series, series{name: name, color: color, pieces: pieces(readings)})
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

// isOfOtherLane returns a function that reports whether a file was worked on by a worker on another
// GPU, or by a rank that has no readings of this lane.
func (c *Chart) isOfOtherLane(tl *timeline.Timeline) func(*timeline.File) bool {
	type writer struct{ path, name string }
	here := map[writer]bool{} // whether a process has readings of this lane
	for f, at := range tl.All() {
		of := writer{f.Pos.Path, f.Writer}
		here[of] = here[of] || at.Lane == c.lane
	}
	otherWorkers := c.otherWorkers(tl)
	return func(f *timeline.File) bool {
		is, known := here[writer{f.Pos.Path, f.Writer}]
		return otherWorkers[f.Run] || known && !is
	}
}

// lanesOf returns the lanes of the log's checkpoints.
func lanesOf(tl *timeline.Timeline) []record.Lane {
	var lanes []record.Lane
	known := map[record.Lane]bool{}
	for _, c := range tl.All() {
		if !known[c.Lane] {
			known[c.Lane], lanes = true, append(lanes, c.Lane)
		}
	}
	return lanes
}
