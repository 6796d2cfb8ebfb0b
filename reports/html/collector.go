package html

import (
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A Collector keeps the readings that the page draws, while a log is read. Its memory is limited,
// however long the log is: it keeps at most pointsMax checkpoints and rowsMax files in all. Of a
// longer log it keeps the extremes: see [keepExtremes].
type Collector struct {
	tracks  []*track
	byPlace map[place]*track
	names   names
	points  int // the checkpoints that are kept, in all tracks
	rows    int // the same for files
}

// The limits of a [Collector]. 5,000 files with 19 checkpoints each are kept in full.
const (
	pointsMax = 120_000
	rowsMax   = 24_000
	tracksMax = 256
)

// NewCollector returns an empty collector.
func NewCollector() *Collector {
	return &Collector{byPlace: map[place]*track{}}
}

// A place is where readings come from: a device of one rank, in one log.
type place struct {
	log  string
	lane record.Lane
}

// A track holds the readings of one place in the order of the log.
type track struct {
	place
	points   []point
	values   values // of the points
	number   int    // the number of checkpoints that were added
	stride   int    // 1 if all checkpoints are kept, see [keepExtremes]
	rows     []row
	idle     values // at the last checkpoint of each row
	highest  values // the largest reading of each row
	rowCount int
	rowStep  int
	total    int64                    // bytes of the device; 0 if unknown
	digits   [record.Quantities]int64 // the coarsest resolution of each quantity
	file     *timeline.File           // the last file, and the index of its first point
	from     int
}

// A point is one checkpoint. Its readings are in track.values.
type point struct {
	file   *timeline.File
	number int   // position among the track's checkpoints, from 1
	line   int   // line of the log
	time   int64 // Unix time in ms; missing if unknown
	name   int32 // index in names
	stage  int32 // index in names of the innermost stage around it and the next one, or -1
	freed  int32 // how much the cleanup or stage that ends here freed, in 1/1000; -1 if none does
	failed bool  // that cleanup or stage failed
}

// A row is one file on one track.
type row struct {
	file   *timeline.File
	number int // position among the track's files, from 1
}

// values holds a column for each quantity that occurs, and nil for all others.
type values [record.Quantities]column

// add appends one reading. rows is the number of readings before it.
func (v *values) add(rows int, of func(record.Quantity) (int64, bool)) {
	for q := range v {
		bytes, ok := of(record.Quantity(q))
		if !ok {
			bytes = missing
			if v[q] == nil {
				continue
			}
		}
		for len(v[q]) < rows {
			v[q] = append(v[q], missing)
		}
		v[q] = append(v[q], bytes)
	}
}

func (v *values) columns() (all []column) {
	for _, c := range v {
		if c != nil {
			all = append(all, c)
		}
	}
	return all
}

func (v *values) compact(keep []bool) {
	for q, c := range v {
		if c != nil {
			v[q] = compact(c, keep)
		}
	}
}

// drawn are the quantities that the page shows.
var drawn = [...]record.Quantity{
	record.Allocated, record.Reserved, record.Used, record.Peak, record.PeakReserved, record.Active,
	record.InactiveSplit, record.Buffer, record.Pinned, record.Free,
}

// Add takes the next file, or the next stretch between files, in the order of the log. The
// parameter recovered is the result of [check.Judge.Add] for this file. Add keeps no reference to
// the checkpoints.
func (c *Collector) Add(f *timeline.File, recovered []check.Recovered) {
	stages := stagesAt(f)
	var used []*track // those with checkpoints of this file
	for i := range f.Checkpoints {
		at := &f.Checkpoints[i]
		t := c.trackOf(place{at.Pos.Path, at.Lane})
		if t == nil {
			continue
		}
		if t.file != f {
			t.file, t.from = f, len(t.points)
			used = append(used, t)
		}
		c.addPoint(t, f, at, stages[i])
	}
	c.noteFreed(f, recovered)
	if !f.Outside {
		for _, t := range used {
			c.addRow(t, f)
		}
	}
	c.thinPoints()
	c.thinRows()
}

// noteFreed notes at the last checkpoint of each cleanup and stage how much was freed.
func (c *Collector) noteFreed(f *timeline.File, recovered []check.Recovered) {
	for i := range recovered {
		r := &recovered[i]
		if r.Verdict == check.Skipped || r.Nothing || r.After >= len(f.Checkpoints) {
			continue
		}
		after := &f.Checkpoints[r.After]
		t := c.byPlace[place{after.Pos.Path, after.Lane}]
		if t == nil || t.file != f {
			continue
		}
		for k := len(t.points) - 1; k >= t.from; k-- {
			p := &t.points[k]
			if p.line != after.Pos.Line {
				continue
			}
			if p.freed < 0 || !r.Stage { // a cleanup says more than the stage around it
				p.freed = int32(max(0, min(1000*r.Share, 1e6)))
			}
			p.failed = p.failed || r.Verdict == check.Fail
			break
		}
	}
}

func (c *Collector) addPoint(t *track, f *timeline.File, at *record.Checkpoint, stage string) {
	t.number++
	p := point{
		file: f, number: t.number, line: at.Pos.Line, time: missing,
		name: c.names.of(at.Name), stage: -1, freed: -1,
	}
	if !at.Time.IsZero() {
		p.time = at.Time.UnixMilli()
	}
	if stage != "" {
		p.stage = c.names.of(stage)
	}
	t.values.add(len(t.points), func(q record.Quantity) (int64, bool) {
		size, ok := at.Get(q)
		t.digits[q] = max(t.digits[q], size.Resolution)
		if q == record.Total || q == record.Holds {
			ok = false
		}
		return size.Bytes, ok
	})
	t.total = max(t.total, at.Bytes(record.Total))
	t.points = append(t.points, p)
	c.points++
}

// addRow adds a file, whose points have been added.
func (c *Collector) addRow(t *track, f *timeline.File) {
	n := len(t.rows)
	t.rowCount++
	t.rows = append(t.rows, row{f, t.rowCount})
	t.idle.add(n, func(q record.Quantity) (int64, bool) { return last(t.values[q], t.from) })
	t.highest.add(n, func(q record.Quantity) (int64, bool) { return highest(t.values[q], t.from) })
	c.rows++
}

// last returns the last known value of a column, from an index on.
func last(c column, from int) (v int64, ok bool) {
	for i := len(c) - 1; i >= from; i-- {
		if c[i] != missing {
			return c[i], true
		}
	}
	return 0, false
}

// highest returns the highest known value of a column, from an index on.
func highest(c column, from int) (v int64, ok bool) {
	v = missing // less than every value
	for i := min(from, len(c)); i < len(c); i++ {
		v = max(v, c[i])
	}
	return v, v != missing
}

// trackOf returns the track of a place. It returns nil if there are too many.
func (c *Collector) trackOf(p place) *track {
	t, known := c.byPlace[p]
	if known {
		return t
	}
	if len(c.tracks) < tracksMax {
		t = &track{place: p, stride: 1, rowStep: 1}
		c.tracks = append(c.tracks, t)
	}
	if len(c.byPlace) < 1<<16 {
		c.byPlace[p] = t
	}
	return t
}

// thinPoints thins the tracks until the number of checkpoints is well below the limit. It begins
// with the buckets that are in use, because new checkpoints have not been thinned yet.
func (c *Collector) thinPoints() {
	if c.points < pointsMax {
		return
	}
	for _, t := range c.tracks {
		c.points -= t.thinPoints()
	}
	for c.points > pointsMax*2/3 {
		t := slices.MaxFunc(c.tracks, func(a, b *track) int { return len(a.points) - len(b.points) })
		if t.stride > t.number {
			return // each track has only one bucket left
		}
		t.stride *= 2
		c.points -= t.thinPoints()
	}
}

// thinPoints thins a track, and returns how many checkpoints it drops.
func (t *track) thinPoints() int {
	if t.stride == 1 {
		return 0
	}
	t.square()
	before := len(t.points)
	keep := keepExtremes(func(i int) int { return t.points[i].number }, before, t.stride,
		t.values.columns(), func(i int) bool { return t.points[i].failed })
	t.points = compact(t.points, keep)
	t.values.compact(keep)
	return before - len(t.points)
}

// thinRows does for files what thinPoints does for checkpoints.
func (c *Collector) thinRows() {
	if c.rows < rowsMax {
		return
	}
	for _, t := range c.tracks {
		c.rows -= t.thinRows()
	}
	for c.rows > rowsMax*2/3 {
		t := slices.MaxFunc(c.tracks, func(a, b *track) int { return len(a.rows) - len(b.rows) })
		if t.rowStep > t.rowCount {
			return
		}
		t.rowStep *= 2
		c.rows -= t.thinRows()
	}
}

// thinRows thins the files of a track, and returns how many it drops.
func (t *track) thinRows() int {
	if t.rowStep == 1 {
		return 0
	}
	t.square()
	before := len(t.rows)
	keep := keepExtremes(func(i int) int { return t.rows[i].number }, before, t.rowStep,
		append(t.idle.columns(), t.highest.columns()...), func(int) bool { return false })
	t.rows = compact(t.rows, keep)
	t.idle.compact(keep)
	t.highest.compact(keep)
	return before - len(t.rows)
}

// square makes all columns as long as their tables. A column ends early if the last readings lack
// its quantity.
func (t *track) square() {
	fill := func(v *values, rows int) {
		for q, c := range v {
			for c != nil && len(v[q]) < rows {
				v[q] = append(v[q], missing)
			}
		}
	}
	fill(&t.values, len(t.points))
	fill(&t.idle, len(t.rows))
	fill(&t.highest, len(t.rows))
}

// stagesAt returns, for each checkpoint of a file, the innermost stage between it and the next
// checkpoint. A stage that began and did not end, such as one that failed, is known by the name of
// its first checkpoint, "Before Decoding".
func stagesAt(f *timeline.File) []string {
	out := make([]string, len(f.Checkpoints))
	for _, s := range f.Stages { // in the order in which they begin: inner stages come later
		for i := s.Before; i < s.After && i < len(out); i++ {
			out[i] = s.Name
		}
	}
	for _, i := range f.Unpaired {
		if i >= len(out) || out[i] != "" {
			continue
		}
		if name, ok := strings.CutPrefix(f.Checkpoints[i].Name, "Before "); ok &&
			!strings.HasSuffix(name, " Cleanup") {
			out[i] = name
		}
	}
	return out
}

// names numbers the names of checkpoints and stages.
type names struct {
	all    []string
	number map[string]int32
}

// namesMax is how many different names are kept as they are. Of further names, the numbers in them
// are left out.
const namesMax = 1 << 14

// of returns the number of a name.
func (n *names) of(name string) int32 {
	if i, known := n.number[name]; known {
		return i
	}
	switch {
	case len(n.all) >= 2*namesMax:
		name = "(one of very many names)"
	case len(n.all) >= namesMax:
		name = timeline.WithoutNumbers(name)
	}
	if i, known := n.number[name]; known {
		return i
	}
	if n.number == nil {
		n.number = map[string]int32{}
	}
	i := int32(len(n.all))
	n.all = append(n.all, name)
	n.number[name] = i
	return i
}
