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
// about three columns of the plot wide. A stretch consists of whole files, or is a part of one long
// file: with a half of a file, a stretch might lack the file's peak. Of each stretch the sketch
// keeps the first and the last checkpoint, the ones with the lowest and the highest reading of each
// drawn quantity, and the lowest and the highest idle level. It also keeps failed cleanups, and
// stages that end in another stretch.
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
	perColumn   = 8
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
	// number divided by stride changes: see [mark.stretch]. Both are necessary: only at the end of
	// the log is it known whether the x axis shows times or numbers.
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
	idle   bool // the lane's last checkpoint in the file that is no sample
}

// A sketchedFile is a file that has marks.
type sketchedFile struct {
	file   *timeline.File
	stages []timeline.Stage
	number int   // of its first checkpoint
	time   int64 // of its first checkpoint in ms
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
	of := &sketchedFile{file: f, stages: f.Stages, number: s.number + 1}
	idle := idleOf(f)
	var l *laneSketch
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		if l == nil || l.lane != c.Lane {
			l = s.laneOf(c.Lane)
		}
		s.number++
		m := mark{
			line: c.Pos.Line, at: c.Time, name: c.Name, Reading: c.Reading, lane: l, of: of,
			index: i, number: s.number, idle: idle[c.Lane] == i,
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

// position returns the position of the mark's checkpoint in the log.
func (m *mark) position() record.Position {
	return record.Position{Path: m.of.file.Pos.Path, Line: m.line}
}

// checkpoint returns the mark as a checkpoint.
func (m *mark) checkpoint() record.Checkpoint {
	return record.Checkpoint{
		Header: record.Header{Pos: m.position(), Time: m.at},
		Name:   m.name, Lane: m.lane.lane, Reading: m.Reading,
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
	if m.number == m.of.number {
		m.of.time = l.time
	}
	if len(l.marks) >= limit+limit/2 {
		l.thin(limit)
	}
	if len(l.marks) == cap(l.marks) { // append alone would grow by a quarter, and copy that often
		l.marks = slices.Grow(l.marks, min(max(4, len(l.marks)), limit+limit/2-len(l.marks)))
	}
	l.marks = append(l.marks, m)
}

// Chart returns the data for a plot. The timeline must contain the files that were added to the
// sketch, but may have dropped their checkpoints.
func (s *Sketch) Chart(tl *timeline.Timeline, rep *check.Report) *Chart {
	thinned, failed, places := s.timeline(tl)
	reduced := *rep
	reduced.Recoveries = failed
	return makeChart(thinned, &reduced, places)
}

// places says where the kept checkpoints were in the log. It is nil if all were kept.
type places struct {
	number map[record.Position]int
	idle   map[record.Position]bool // the idle levels of files: see [mark.idle]
	begins map[record.Position]bool // the first checkpoints of stretches that begin with a file
}

// timeline returns a timeline with the kept checkpoints, and the recoveries that failed.
func (s *Sketch) timeline(
	tl *timeline.Timeline,
) (thinned *timeline.Timeline, failed []check.Recovered, kept *places) {
	var marks []*mark
	for _, l := range s.lanes {
		l.thin(s.limit)
		for i := range l.marks {
			marks = append(marks, &l.marks[i])
		}
	}
	if len(marks) < s.number {
		kept = s.places(len(marks))
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
	return &copied, failed, kept
}

// places returns the places of the kept checkpoints.
func (s *Sketch) places(most int) *places {
	p := &places{
		number: make(map[record.Position]int, most),
		idle:   map[record.Position]bool{}, begins: map[record.Position]bool{},
	}
	for _, l := range s.lanes {
		for i := range l.marks {
			m := &l.marks[i]
			pos := m.position()
			p.number[pos] = m.number
			if m.idle {
				p.idle[pos] = true
			}
			if i == 0 || l.marks[i-1].of != m.of && !l.sameStretch(&l.marks[i-1], m) {
				p.begins[pos] = true
			}
		}
	}
	return p
}

// withoutCheckpoints returns a copy of a file without its checkpoints.
func withoutCheckpoints(f *timeline.File) *timeline.File {
	out := *f
	out.Checkpoints, out.Stages, out.Cleanups, out.Unpaired = nil, nil, nil, nil
	return &out
}
