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

// A Sketch keeps of a log what a plot of it can show, while the log is read: its memory is bounded, however many checkpoints
// there are. Of few it keeps all. Of more it keeps, for stretches of the log that are at most about three of the plot's columns
// wide, the first and the last checkpoint, and those with the lowest and the highest reading of each quantity that is drawn,
// besides the failed cleanups and the stages that reach from one stretch into another.
type Sketch struct {
	limit  int // checkpoints of a lane
	lanes  []*laneSketch
	byLane map[record.Lane]*laneSketch
	number int // of the last checkpoint
}

// sketchLimit is how many checkpoints are kept of a lane at the default width; perColumn at least, for each column of a wider
// plot.
const (
	sketchLimit = 1600 * perColumn
	perColumn   = 6
)

// NewSketch is an empty sketch for a plot of this size.
func NewSketch(opts plots.Options) *Sketch {
	return &Sketch{limit: max(sketchLimit, perColumn*opts.PixelsWide())}
}

// A laneSketch is what is kept of one lane, in the order of the log.
type laneSketch struct {
	lane  record.Lane
	marks []mark
	time  int64
	// A stretch ends with a time that is divisible by step, in ms, and with a number that is by stride: which of the two the
	// plot will be drawn over is known only at the log's end.
	step, stride int64
	// worded are the names whose first failure is kept: it gets words.
	worded map[failure]bool
}

// wordedMax is how many names of failures get words; see [picture.worded], which takes fewer, of cleanups or of stages.
const wordedMax = 8

type failure struct {
	name  string
	stage bool
}

// A mark is a checkpoint that is kept: what a plot shows of it.
type mark struct {
	line int
	at   time.Time
	name string
	record.Reading
	lane   *laneSketch
	of     *sketched
	index  int   // in the file
	number int   // in the log, from 1
	time   int64 // ms; the last one's where it has none
	failed []check.Recovered
	first  bool // that fails, of its name
}

// A sketched is a file of which marks are kept.
type sketched struct {
	file   *timeline.File
	stages []timeline.Stage
}

// Add takes the next file, or stretch between files, in the order of the log, and what [check.Judge.Add] says of it. Nothing of
// the file's checkpoints is kept but copies.
func (s *Sketch) Add(f *timeline.File, recovered []check.Recovered) {
	var failed []check.Recovered
	for _, r := range recovered {
		if r.Verdict == check.Fail {
			failed = append(failed, r)
		}
	}
	slices.SortStableFunc(failed, func(a, b check.Recovered) int { return a.After - b.After })
	of := &sketched{f, f.Stages}
	var l *laneSketch
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		if l == nil || l.lane != c.Lane {
			l = s.of(c.Lane)
		}
		s.number++
		m := mark{line: c.Pos.Line, at: c.Time, name: c.Name, Reading: c.Reading, lane: l, of: of, index: i, number: s.number}
		for len(failed) > 0 && failed[0].After == i {
			m.fail(failed[0])
			failed = failed[1:]
		}
		l.add(m, s.limit)
	}
}

func (s *Sketch) of(lane record.Lane) *laneSketch {
	if l := s.byLane[lane]; l != nil {
		return l
	}
	if s.byLane == nil {
		s.byLane = map[record.Lane]*laneSketch{}
	}
	l := &laneSketch{lane: lane, step: 1, stride: 1, worded: map[failure]bool{}}
	s.lanes, s.byLane[lane] = append(s.lanes, l), l
	return l
}

// checkpoint is that of the mark, as far as it is kept.
func (m *mark) checkpoint() record.Checkpoint {
	return record.Checkpoint{
		Header: record.Header{Pos: record.Position{Path: m.of.file.Pos.Path, Line: m.line}, Time: m.at},
		Name:   m.name, Lane: m.lane.lane, Reading: m.Reading,
	}
}

// fail notes that the mark is the After of what failed.
func (m *mark) fail(r check.Recovered) {
	l := m.lane
	m.failed = append(m.failed, r)
	name := failure{r.Name, r.Stage}
	if !l.worded[name] && len(l.worded) < 2*wordedMax {
		l.worded[name], m.first = true, true
	}
}

// add takes the next checkpoint, and makes room once there are half as many again as are to be kept.
func (l *laneSketch) add(m mark, limit int) {
	if !m.at.IsZero() {
		l.time = m.at.UnixMilli()
	}
	m.time = l.time
	if len(l.marks) >= limit+limit/2 {
		l.thin(limit)
	}
	if len(l.marks) == cap(l.marks) { // append by itself would grow by a quarter, and copy as often
		l.marks = slices.Grow(l.marks, min(max(4, len(l.marks)), limit+limit/2-len(l.marks)))
	}
	l.marks = append(l.marks, m)
}

// thin makes the stretches longer until no more marks are left than the limit. Each then is made of whole former ones, whose
// extremes are there.
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

// drawn are the quantities whose extremes are kept.
var drawn = [...]record.Quantity{record.Allocated, record.Reserved, record.Used, record.Peak, record.Total}

func (l *laneSketch) thinOnce() {
	keep := make([]bool, len(l.marks))
	stretch := make([]int, len(l.marks)) // the first mark of each one's
	for from, to := 0, 0; from < len(l.marks); from = to {
		for to = from; to < len(l.marks) && l.together(&l.marks[from], &l.marks[to]); to++ {
			stretch[to] = from
		}
		keepOf(l.marks[from:to], keep[from:to])
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

// together says that two marks are in one stretch, where those between them are.
func (l *laneSketch) together(a, b *mark) bool {
	return a.time/l.step == b.time/l.step && int64(a.number)/l.stride == int64(b.number)/l.stride
}

// keepOf says what is kept of a stretch.
func keepOf(marks []mark, keep []bool) {
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
	seen := [2]bool{} // a failed cleanup, and a stage
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

// keepStages keeps the ends of a file's stages that reach over a stretch's end. open says that the file may have more
// checkpoints than are added.
func keepStages(marks []mark, keep []bool, stretch []int, open bool) {
	find := func(index int) (int, bool) {
		return slices.BinarySearchFunc(marks, index, func(m mark, index int) int { return m.index - index })
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

// Chart is what a plot shows. The timeline is that of the files that were added; it need not have their checkpoints.
func (s *Sketch) Chart(tl *timeline.Timeline, rep *check.Report) *Chart {
	thinned, failed, numbers := s.timeline(tl)
	reduced := *rep
	reduced.Recoveries = failed
	return makeChart(thinned, &reduced, numbers)
}

// timeline is a timeline with the checkpoints that are kept, and the recoveries that failed. numbers are the checkpoints'
// places in the log, nil where all are kept.
func (s *Sketch) timeline(tl *timeline.Timeline) (thinned *timeline.Timeline, failed []check.Recovered, numbers map[record.Position]int) {
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
		f := bare(of.file)
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
				f.Stages = append(f.Stages, timeline.Stage{Name: stage.Name, Before: before, After: after, Cleanups: stage.Cleanups})
			}
		}
	}
	all := func(originals []*timeline.File) []*timeline.File {
		out := slices.Clone(originals)
		for i, f := range out {
			if of := files[f]; of != nil {
				out[i] = of
			} else if len(f.Checkpoints) > 0 {
				out[i] = bare(f)
			}
		}
		return out
	}
	copied := *tl
	copied.Files, copied.Outside = all(tl.Files), all(tl.Outside)
	return &copied, failed, numbers
}

// bare is a copy of a file without its checkpoints.
func bare(f *timeline.File) *timeline.File {
	out := *f
	out.Checkpoints, out.Stages, out.Cleanups, out.Unpaired = nil, nil, nil, nil
	return &out
}
