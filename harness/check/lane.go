package check

import (
	"vramsoak/harness/check/peak"
	"vramsoak/harness/check/readings"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A lane is what is known of one device of one rank.
type lane struct {
	id record.Lane

	// Of the file that is judged.

	open    bool
	level   record.Quantity // by which its cleanups and its idle level are judged
	count   [len(levels)]int
	last    *record.Checkpoint // that is not a sample
	highest record.Size        // level
	lowest  *record.Checkpoint // the sample with the lowest level
	// highestReserved is the largest reserved.
	highestReserved record.Size

	// Of the process that is judged: its first reading, unless that was made at or after a cleanup.

	process  int
	begun    bool
	atBirth  record.Reading
	sums     []*recoverySum          // in the order of their first appearance
	byName   map[string]*recoverySum // nil where there are few
	named    bool                    // not every reading is a sample
	peak     peak.Marks
	reserve  reserveMark
	idles    []idle
	points   points
	order    orderMark
	readings readings.Kinds // of samples, and outside of files

	// Over the files: the highest level and the largest reserved of each, and each stage. The shares
	// that were recovered are in sums.
	peaks, reserves column
	stagePeaks      []*stagePeak
	ledgers         []ledgerColumn // at the ends of files; nil where there are none
	dark            *darkSamples   // nil where samples cannot tell it
}

// A ledgerColumn is the levels of a [Ledger] over the files.
type ledgerColumn struct {
	name string
	column
}

// columnFiles is how many files the columns keep that gate nothing: a log may have millions. The
// columns of ledgers are whole, because a process of few files would be left with too few of them.
const columnFiles = 8192

// A stagePeak is the high-water mark of a stage over the files, and how far it lies above the level
// at the stage's start.
type stagePeak struct {
	name       string
	peak, took column
}

// levels are the quantities that the level of a lane may be. It is the one that most of the file's
// readings have, the first of these where several are as frequent. A file has one for all its
// readings, because allocated cannot be compared with reserved.
var levels = [...]record.Quantity{record.Allocated, record.Used, record.Reserved}

// openLanes begins the file in the lanes that it has readings of.
func (j *Judge) openLanes(f *timeline.File) {
	var l *lane
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		if l == nil || l.id != c.Lane {
			l = j.lane(c.Lane)
		}
		if !l.open {
			l.beginFile()
			j.open = append(j.open, l)
			j.noteFirstReading(l, f, c)
		}
		for q, of := range levels {
			switch {
			case !c.Has(of):
			case c.Sampled:
				l.count[q]++
			default:
				l.count[q] += 1 << 32 // cleanups and files are judged by named ones
			}
		}
	}
	for _, l := range j.open {
		best := 0
		for q, n := range l.count {
			if n > l.count[best] {
				best = q
			}
		}
		l.level = levels[best]
	}
}

func (j *Judge) lane(id record.Lane) *lane {
	l := j.byLane[id]
	if l == nil {
		l = &lane{id: id}
		l.peaks.most, l.reserves.most = columnFiles, columnFiles
		l.reserve.limit = float64(j.policy.Fragmentation.MaxShare)
		j.byLane[id] = l
		j.lanes = append(j.lanes, l)
	}
	return l
}

func (l *lane) beginFile() {
	l.open, l.last, l.lowest, l.points.next = true, nil, nil, 0
	l.highest, l.highestReserved, l.count = record.Size{}, record.Size{}, [len(levels)]int{}
}

// noteFirstReading records the level at which a process begins, unless its first checkpoint closes
// something that began before.
func (j *Judge) noteFirstReading(l *lane, f *timeline.File, c *record.Checkpoint) {
	hasLevel := c.Has(levels[0]) || c.Has(levels[1]) || c.Has(levels[2])
	if l.begun && l.process == f.Process || c.Sampled && !hasLevel { // the device's total, or a peak
		return
	}
	l.begun, l.process, l.atBirth = true, f.Process, record.Reading{}
	if n := j.naming(c); !n.cleanup && !n.after {
		l.atBirth = c.Reading
	}
}

// closeLanes ends the file, whose place in the timeline is n.
func (j *Judge) closeLanes(f *timeline.File, n int32) {
	for _, l := range j.open {
		if !f.Outside {
			j.noteIdle(l, f, n)
			l.endFile(f, n)
		}
		l.open = false
	}
	j.open = j.open[:0]
}

// endFile notes the levels that are known when the file ends.
func (l *lane) endFile(f *timeline.File, n int32) {
	if l.highest.Bytes > 0 {
		l.peaks.addLevel(l.level, n, l.highest)
	}
	if l.highestReserved.Bytes > 0 {
		l.reserves.addLevel(record.Reserved, n, l.highestReserved)
	}
	if l.last == nil {
		return
	}
	for i := range Ledgers {
		if Ledgers[i].level == nil {
			continue
		}
		if level, ok := Ledgers[i].level(l.last); ok {
			if l.ledgers == nil {
				l.ledgers = make([]ledgerColumn, len(Ledgers))
			}
			l.ledgers[i].name = Ledgers[i].Name
			l.ledgers[i].add(n, float64(level.Bytes), float64(level.Resolution))
		}
	}
	l.noteDark(f, n)
}

// column returns the levels of a ledger at the ends of files.
func (l *lane) column(name string) *column {
	for i := range l.ledgers {
		if l.ledgers[i].name == name {
			return &l.ledgers[i].column
		}
	}
	return &column{}
}

func (l *lane) stagePeak(name string) *stagePeak {
	for _, p := range l.stagePeaks {
		if p.name == name {
			return p
		}
	}
	p := &stagePeak{name: name, peak: column{most: columnFiles}, took: column{most: columnFiles}}
	if len(l.stagePeaks) < pointsMax {
		l.stagePeaks = append(l.stagePeaks, p)
	}
	return p
}

// add takes the next reading of the file.
func (l *lane) add(f *timeline.File, n int32, c *record.Checkpoint) {
	if size, ok := l.get(c); ok {
		if size.Bytes > l.highest.Bytes {
			l.highest = size
		}
		if c.Sampled && (l.lowest == nil || size.Bytes < l.lowest.Bytes(l.level)) {
			l.lowest = c
		}
		if !c.Sampled && !f.Outside {
			l.points.at(c.Name).level.addLevel(l.level, n, size)
		}
	}
	for _, q := range [...]record.Quantity{record.Reserved, record.PeakReserved} {
		if size, ok := c.Get(q); ok && size.Bytes > l.highestReserved.Bytes {
			l.highestReserved = size
		}
	}
	if !c.Sampled {
		l.last, l.named = c, true
	}
	l.readings.Add(f, c)
	l.peak.Add(f, c)
	l.reserve.add(f, c)
	l.order.add(f, c)
}

// get returns a checkpoint's level.
func (l *lane) get(c *record.Checkpoint) (record.Size, bool) { return c.Get(l.level) }
