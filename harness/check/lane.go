package check

import (
	"slices"

	"vramsoak/harness/check/peak"
	"vramsoak/harness/check/readings"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A lane holds the readings of one device, as one rank sees it.
type lane struct {
	id record.Lane

	// The following fields are the state of the current file.

	open    bool
	level   record.Quantity // the quantity by which the file's cleanups and idle level are judged
	count   [len(levels)]int
	last    *record.Checkpoint // the last checkpoint that is not a sample
	highest record.Size        // the file's highest level
	lowest  *record.Checkpoint // the sample with the lowest level
	// lastPinned is the last checkpoint that is not a sample and gives pinned memory.
	lastPinned *record.Checkpoint
	// highestReserved is the largest reserved memory in the file.
	highestReserved record.Size
	// printedPeak is the largest peak= that the file reached, in bytes, or 0.
	printedPeak int64

	// The following fields are the state of the current process. atBirth is the process's first
	// reading. It stays empty if the process's first checkpoint is in a cleanup or ends something,
	// because that reading does not show what the process began with.

	process int
	begun   bool
	atBirth record.Reading
	printed int64                   // the last peak= of the process
	sums    []*recoverySum          // one for each cleanup and stage, in the order of the log
	byName  map[string]*recoverySum // finds the later sums; nil if there are few
	named   bool                    // some reading is not a sample
	peak    peak.Marks
	reserve reserveMark
	idles   []idle
	points  points
	order   orderMark
	mix     mixMark
	// firstLine and lastLine are the lines of the lane's first and last checkpoint.
	firstLine, lastLine int
	readings            readings.Kinds // of samples, and of lines outside of files

	// The field need is of the file; pairs and nextPair are of pairAt.
	need     fileNeed
	pairs    []namedPair
	nextPair int

	// The following columns have a value for each file: its highest level, its largest reserved
	// memory, the peaks of its stages, and its ledgers. The field sums holds the recovered ratios.
	peaks, reserves column
	stagePeaks      []*stagePeak
	usual           usualNeed       // of the files
	ledgers         []*ledgerColumn // levels at the ends of files, of ledgers that have any
	dark            *darkSamples    // nil if samples cannot supply dark memory
	device          *deviceSamples  // nil if no samples are of the device
	// wholeDevice is set if a checkpoint's used= counts the memory of all processes on the device.
	wholeDevice bool
	growing     []grownLedger // those that fail
}

// A ledgerColumn holds the levels of the [Ledger] with this name over the files.
type ledgerColumn struct {
	name string
	column
}

// columnFiles is the largest number of files that a column keeps, because a log may have millions
// of files. Columns of ledgers keep all files: gating checks need them, and a process of few files
// would otherwise have too few values left.
const columnFiles = 8192

// A stagePeak holds two columns over the files: peak is the high-water mark of a stage, and took is
// that mark less the level at the stage's start.
type stagePeak struct {
	name       string
	peak, took column
	need       usualNeed
}

// levels lists the quantities that can serve as the level of a file. A file's level is the quantity
// that most of its readings have or, if several have as many, the first of them in this list. All
// readings of a file use the same quantity, because allocated memory cannot be compared with
// reserved memory.
var levels = [...]record.Quantity{record.Allocated, record.Used, record.Reserved}

// openLanes begins the file for each device and rank (a lane) of which the file has readings, and
// chooses the quantity that is its level.
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
				l.count[q] += 1 << 32 // named checkpoints outweigh all samples
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
	l.open, l.last, l.lastPinned, l.lowest, l.points.next = true, nil, nil, nil, 0
	l.highest, l.highestReserved, l.count = record.Size{}, record.Size{}, [len(levels)]int{}
	l.printedPeak, l.need, l.nextPair = 0, fileNeed{}, 0
}

// noteFirstReading records the first reading of a process. It records nothing if the process's
// first checkpoint ends a stage or belongs to a cleanup, because other readings came before.
func (j *Judge) noteFirstReading(l *lane, f *timeline.File, c *record.Checkpoint) {
	hasLevel := c.Has(levels[0]) || c.Has(levels[1]) || c.Has(levels[2])
	if l.begun && l.process == f.Process || c.Sampled && !hasLevel { // a sample without a level
		return
	}
	l.begun, l.process, l.atBirth, l.printed = true, f.Process, record.Reading{}, 0
	if n := j.naming(c); !n.cleanup && !n.after {
		l.atBirth = c.Reading
	}
}

// placedLanes is the most devices and ranks of a file for which stages of fragmentation findings
// are searched for. Each search goes through the file's checkpoints, and a file may have 20,000
// ranks.
const placedLanes = 64

// closeLanes ends the file for each device and rank. The file is Timeline.Files[n] or, if it lies
// between files, Timeline.Outside[n].
func (j *Judge) closeLanes(f *timeline.File, n int32) {
	if !f.Outside {
		j.findSigns(f)
	}
	for _, l := range j.open {
		if len(j.open) <= placedLanes {
			l.reserve.endFile(j, f, l.id)
		}
		if !f.Outside {
			j.noteIdle(l, f, n)
			l.endFile(f, n)
			l.mix.endFile(f)
		}
		l.open = false
	}
	j.open = j.open[:0]
}

// endFile adds the levels of file n to the columns.
func (l *lane) endFile(f *timeline.File, n int32) {
	l.noteFileNeed(f)
	if l.highest.Bytes > 0 {
		l.peaks.addLevel(l.level, n, l.highest)
	}
	if l.highestReserved.Bytes > 0 {
		l.reserves.addLevel(record.Reserved, n, l.highestReserved)
	}
	if l.last == nil {
		return
	}
	last := l.lastLevel(f)
	l.wholeDevice = l.wholeDevice || last.Has(record.Used) && !last.Own
	for i := range Ledgers {
		c := last
		if Ledgers[i].ofProcess {
			c = l.lastPinned
		}
		if Ledgers[i].level == nil || c == nil {
			continue
		}
		if level, ok := Ledgers[i].level(c); ok {
			l.addLedger(Ledgers[i].Name, n, level)
		}
	}
	l.noteDark(f, n)
}

// lastLevel returns the file's last checkpoint that gives a current level of memory, and is no
// sample. If there is none, it returns the last checkpoint. Some programs print a high-water mark
// behind the level, which hides what the file leaves behind.
func (l *lane) lastLevel(f *timeline.File) *record.Checkpoint {
	if _, ok := l.get(l.last); ok {
		return l.last
	}
	for i := range slices.Backward(f.Checkpoints) {
		c := &f.Checkpoints[i]
		if c.Lane == l.id && !c.Sampled && slices.ContainsFunc(levels[:], c.Has) {
			return c
		}
	}
	return l.last
}

// ledger returns the ledger with this name, or nil if it has no level.
func (l *lane) ledger(name string) *ledgerColumn {
	for _, c := range l.ledgers {
		if c.name == name {
			return c
		}
	}
	return nil
}

// column returns the levels of the ledger with this name at the ends of files. It returns an empty
// column if there are none.
func (l *lane) column(name string) *column {
	if c := l.ledger(name); c != nil {
		return &c.column
	}
	return &column{}
}

// addLedger adds the level of file n to the ledger with this name.
func (l *lane) addLedger(name string, n int32, level record.Size) {
	c := l.ledger(name)
	if c == nil {
		c = &ledgerColumn{name: name}
		l.ledgers = append(l.ledgers, c)
	}
	c.add(n, float64(level.Bytes), float64(level.Resolution))
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

// notePeak records a printed peak, if the file reached it. The peak may be the process's since its
// start. It is this file's only if it changed: a higher one was reached now, and a lower one shows
// that the program reset it. An equal peak is not recorded.
func (l *lane) notePeak(c *record.Checkpoint) {
	peak, ok := c.Get(record.Peak)
	if !ok {
		return
	}
	if l.printed > 0 && peak.Bytes != l.printed {
		l.printedPeak = max(l.printedPeak, peak.Bytes)
	}
	l.printed = peak.Bytes
}

// add adds the next reading of file n to what is kept of the device.
func (l *lane) add(f *timeline.File, n int32, c *record.Checkpoint) {
	if l.lastLine = c.Pos.Line; l.firstLine == 0 {
		l.firstLine = c.Pos.Line
	}
	if size, ok := l.get(c); ok {
		if size.Bytes > l.highest.Bytes {
			l.highest = size
		}
		if c.Sampled && (l.lowest == nil || size.Bytes < l.lowest.Bytes(l.level)) {
			l.lowest = c
		}
		if !c.Sampled && !f.Outside {
			p := l.points.at(c.Name)
			p.level.addLevel(l.level, n, size)
			if unused, ok := difference(c, record.Reserved, record.Allocated); ok {
				p.unused.add(n, float64(unused.Bytes), float64(unused.Resolution))
			}
			if pinned, ok := c.Get(record.Pinned); ok {
				if p.pinned == nil {
					p.pinned = &column{most: pointFiles}
				}
				p.pinned.add(n, float64(pinned.Bytes), float64(pinned.Resolution))
			}
		}
	}
	l.notePeak(c)
	for _, q := range [...]record.Quantity{record.Reserved, record.PeakReserved} {
		if size, ok := c.Get(q); ok && size.Bytes > l.highestReserved.Bytes {
			l.highestReserved = size
		}
	}
	if !c.Sampled {
		l.last, l.named = c, true
		l.need.add(c, l.pairAt(c))
		if c.Has(record.Pinned) {
			l.lastPinned = c
		}
	}
	l.readings.Add(f, c)
	l.peak.Add(f, c)
	l.reserve.add(f, c)
	l.order.add(f, c)
}

// get returns how much of the quantity l.level a checkpoint shows, such as its allocated memory.
// The second result is false if the checkpoint does not show this quantity.
func (l *lane) get(c *record.Checkpoint) (record.Size, bool) { return c.Get(l.level) }

// mostHeld returns the most memory of the device that the run held, as far as its files show.
func (l *lane) mostHeld() float64 {
	most := 0.0
	for _, c := range []*column{&l.peaks, &l.reserves} {
		for _, v := range c.values {
			most = max(most, v)
		}
	}
	return most
}
