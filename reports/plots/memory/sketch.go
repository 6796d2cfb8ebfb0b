package memory

import (
	"cmp"
	"slices"
	"time"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/plots"
)

// A Sketch keeps the data for a plot while a log is read. Its memory is limited, however many
// checkpoints the log has.
//
// It keeps all checkpoints of a short log. A longer log is divided into stretches, each at most
// about three columns of the plot wide. Of each stretch the sketch keeps the first and the last
// checkpoint, and the ones with the lowest and the highest reading of each drawn quantity. It also
// keeps failed cleanups, and stages that end in another stretch.
type Sketch struct {
	limit  int // the most checkpoints that are kept of a lane
	lanes  []*laneSketch
	byLane map[record.Lane]*laneSketch
	number int // the number of the last checkpoint
}

// sketchLimit is how many checkpoints of a lane are kept for a plot of the default width. For a
// wider plot, perColumn checkpoints are kept for each column.
const (
	sketchLimit = 1600 * perColumn
	perColumn   = 6
)

// NewSketch returns an empty sketch for a plot with this size.
func NewSketch(opts plots.Options) *Sketch {
	return &Sketch{limit: max(sketchLimit, perColumn*opts.PixelsWide())}
}

// A laneSketch holds the checkpoints that a sketch keeps of one lane, in the order of the log.
type laneSketch struct {
	lane  record.Lane
	marks []mark
	time  int64
	// A new stretch begins where the time in ms divided by step changes, or where the checkpoint's
	// number divided by stride changes. Both are necessary: only at the end of the log is it known
	// whether the x axis shows times or numbers.
	step, stride int64
	// labelled holds the names of the failures whose first occurrence is kept for a label.
	labelled map[failure]bool
}

// labelledMax is the most names of failed cleanups, or of failed stages, for which a label is kept.
// [picture.labelled] uses fewer.
const labelledMax = 8

type failure struct {
	name  string
	stage bool
}

// A mark is a checkpoint that the sketch keeps, with the data that a plot shows.
type mark struct {
	line int
	at   time.Time
	name string
	record.Reading
	lane   *laneSketch
	of     *sketchedFile
	index  int   // position in the file
	number int   // position in the log, from 1
	time   int64 // in ms; for a checkpoint without a time, that of the mark before
	failed []check.Recovered
	first  bool // the first failure of its name
}

// A sketchedFile is a file that has marks.
type sketchedFile struct {
	file   *timeline.File
	stages []timeline.Stage
}

// Add takes the next file, or the next stretch between files, in the order of the log. The
// parameter recovered is the result of [check.Judge.Add] for this file. Add copies the checkpoints
// that it keeps.
func (s *Sketch) Add(f *timeline.File, recovered []check.Recovered) {
	var failed []check.Recovered
	for _, r := range recovered {
		if r.Verdict == check.Fail {
			failed = append(failed, r)
		}
	}
	slices.SortStableFunc(failed, func(a, b check.Recovered) int { return a.After - b.After })
	of := &sketchedFile{f, f.Stages}
	var l *laneSketch
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		if l == nil || l.lane != c.Lane {
			l = s.laneOf(c.Lane)
		}
		s.number++
		m := mark{
			line: c.Pos.Line, at: c.Time, name: c.Name, Reading: c.Reading, lane: l, of: of,
			index: i, number: s.number,
		}
		for len(failed) > 0 && failed[0].After == i {
			m.fail(failed[0])
			failed = failed[1:]
		}
		l.add(m, s.limit)
	}
}

func (s *Sketch) laneOf(lane record.Lane) *laneSketch {
	if l := s.byLane[lane]; l != nil {
		return l
	}
	if s.byLane == nil {
		s.byLane = map[record.Lane]*laneSketch{}
	}
	l := &laneSketch{lane: lane, step: 1, stride: 1, labelled: map[failure]bool{}}
	s.lanes, s.byLane[lane] = append(s.lanes, l), l
	return l
}

// checkpoint returns the mark as a checkpoint.
func (m *mark) checkpoint() record.Checkpoint {
	return record.Checkpoint{
		Header: record.Header{
			Pos:  record.Position{Path: m.of.file.Pos.Path, Line: m.line},
			Time: m.at,
		},
		Name: m.name, Lane: m.lane.lane, Reading: m.Reading,
	}
}

// fail notes that the mark is the After of a cleanup or stage that failed.
func (m *mark) fail(r check.Recovered) {
	l := m.lane
	m.failed = append(m.failed, r)
	name := failure{r.Name, r.Stage}
	if !l.labelled[name] && len(l.labelled) < 2*labelledMax {
		l.labelled[name], m.first = true, true
	}
}

// add appends a checkpoint. When there are 1.5 times as many marks as the limit allows, it thins
// them.
func (l *laneSketch) add(m mark, limit int) {
	if !m.at.IsZero() {
		l.time = m.at.UnixMilli()
	}
	m.time = l.time
	if len(l.marks) >= limit+limit/2 {
		l.thin(limit)
	}
	if len(l.marks) == cap(l.marks) { // append alone would grow by a quarter, and copy that often
		l.marks = slices.Grow(l.marks, min(max(4, len(l.marks)), limit+limit/2-len(l.marks)))
	}
	l.marks = append(l.marks, m)
}

// thin makes the stretches longer until the number of marks is within the limit. A longer stretch
// consists of whole old stretches, so their extremes are still there.
func (l *laneSketch) thin(limit int) {
	if len(l.marks) <= limit {
		return
	}
	for l.thinOnce(); len(l.marks) > limit; l.thinOnce() {
		times, numbers := 1, 1
		for i := 1; i < len(l.marks); i++ {
			a, b := &l.marks[i-1], &l.marks[i]
			if a.time/l.step != b.time/l.step {
				times++
			}
			if int64(a.number)/l.stride != int64(b.number)/l.stride {
				numbers++
			}
		}
		if times >= numbers {
			l.step *= 2
		} else {
			l.stride *= 2
		}
	}
}

// drawn are the quantities for which each stretch keeps its extremes.
var drawn = [...]record.Quantity{
	record.Allocated, record.Reserved, record.Used, record.Peak,
	record.Total,
}

func (l *laneSketch) thinOnce() {
	keep := make([]bool, len(l.marks))
	stretch := make([]int, len(l.marks)) // the first mark of the stretch of each mark
	for from, to := 0, 0; from < len(l.marks); from = to {
		for to = from; to < len(l.marks) && l.sameStretch(&l.marks[from], &l.marks[to]); to++ {
			stretch[to] = from
		}
		keepExtremes(l.marks[from:to], keep[from:to])
	}
	for from, to := 0, 0; from < len(l.marks); from = to {
		of := l.marks[from].of
		for to = from + 1; to < len(l.marks) && l.marks[to].of == of; {
			to++
		}
		keepStages(l.marks[from:to], keep[from:to], stretch[from:to], to == len(l.marks))
	}
	n := 0
	for i := range l.marks {
		if keep[i] {
			l.marks[n] = l.marks[i]
			n++
		}
	}
	clear(l.marks[n:])
	l.marks = l.marks[:n]
}

// sameStretch reports whether two marks are in the same stretch. All marks between them must be in
// this stretch too.
func (l *laneSketch) sameStretch(a, b *mark) bool {
	return a.time/l.step == b.time/l.step && int64(a.number)/l.stride == int64(b.number)/l.stride
}

// keepExtremes sets in keep which marks of a stretch are kept.
func keepExtremes(marks []mark, keep []bool) {
	keep[0], keep[len(keep)-1] = true, true
	for _, q := range drawn {
		low, high := -1, -1
		var lowest, highest int64
		for i := range marks {
			size, ok := marks[i].Get(q)
			if !ok {
				continue
			}
			if low < 0 || size.Bytes < lowest {
				low, lowest = i, size.Bytes
			}
			if high < 0 || size.Bytes > highest {
				high, highest = i, size.Bytes
			}
		}
		if high >= 0 {
			keep[low], keep[high] = true, true
		}
	}
	seen := [2]bool{} // a failed cleanup, and a failed stage
	for i := range marks {
		keep[i] = keep[i] || marks[i].first
		for _, r := range marks[i].failed {
			kind := 0
			if r.Stage {
				kind = 1
			}
			keep[i] = keep[i] || !seen[kind]
			seen[kind] = true
		}
	}
}

// keepStages keeps both checkpoints of each stage that begins and ends in different stretches. The
// parameter open is set if the file may get more checkpoints.
func keepStages(marks []mark, keep []bool, stretch []int, open bool) {
	find := func(index int) (int, bool) {
		return slices.BinarySearchFunc(marks, index, func(m mark, index int) int {
			return m.index - index
		})
	}
	last := marks[len(marks)-1].index
	for _, s := range marks[0].of.stages {
		before, ok := find(s.Before)
		if !ok {
			continue
		}
		if open && s.After > last {
			keep[before] = true
		} else if after, ok := find(s.After); ok && stretch[before] != stretch[after] {
			keep[before], keep[after] = true, true
		}
	}
}

// Chart returns the data for a plot. The timeline must contain the files that were added to the
// sketch, but may have dropped their checkpoints.
func (s *Sketch) Chart(tl *timeline.Timeline, rep *check.Report) *Chart {
	thinned, failed, numbers := s.timeline(tl)
	reduced := *rep
	reduced.Recoveries = failed
	return makeChart(thinned, &reduced, numbers)
}

// timeline returns a timeline with the kept checkpoints, and the recoveries that failed. numbers
// holds the number of each checkpoint in the log, or is nil if all checkpoints were kept.
func (s *Sketch) timeline(
	tl *timeline.Timeline,
) (thinned *timeline.Timeline, failed []check.Recovered, numbers map[record.Position]int) {
	var marks []*mark
	for _, l := range s.lanes {
		l.thin(s.limit)
		for i := range l.marks {
			marks = append(marks, &l.marks[i])
		}
	}
	if len(marks) < s.number {
		numbers = make(map[record.Position]int, len(marks))
	}
	slices.SortFunc(marks, func(a, b *mark) int { return cmp.Compare(a.number, b.number) })
	files := make(map[*timeline.File]*timeline.File, len(marks)/2)
	for from, to := 0, 0; from < len(marks); from = to {
		of := marks[from].of
		for to = from + 1; to < len(marks) && marks[to].of == of; {
			to++
		}
		f := withoutCheckpoints(of.file)
		files[of.file] = f
		f.Checkpoints = make([]record.Checkpoint, to-from)
		places := make(map[int]int, to-from)
		for i, m := range marks[from:to] {
			places[m.index] = i
			c := m.checkpoint()
			f.Checkpoints[i] = c
			if numbers != nil {
				numbers[c.Pos] = m.number
			}
			for _, r := range m.failed {
				r.File, r.Before, r.After = f, i, i
				failed = append(failed, r)
			}
		}
		for _, stage := range of.stages {
			before, begins := places[stage.Before]
			after, ends := places[stage.After]
			if begins && ends {
				f.Stages = append(f.Stages, timeline.Stage{
					Name: stage.Name, Before: before,
					After: after, Cleanups: stage.Cleanups,
				})
			}
		}
	}
	all := func(originals []*timeline.File) []*timeline.File {
		out := slices.Clone(originals)
		for i, f := range out {
			if of := files[f]; of != nil {
				out[i] = of
			} else if len(f.Checkpoints) > 0 {
				out[i] = withoutCheckpoints(f)
			}
		}
		return out
	}
	copied := *tl
	copied.Files, copied.Outside = all(tl.Files), all(tl.Outside)
	return &copied, failed, numbers
}

// withoutCheckpoints returns a copy of a file without its checkpoints.
func withoutCheckpoints(f *timeline.File) *timeline.File {
	out := *f
	out.Checkpoints, out.Stages, out.Cleanups, out.Unpaired = nil, nil, nil, nil
	return &out
}
