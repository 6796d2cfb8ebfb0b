package check

import (
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A ledger is what is known of one device of one rank.
type ledger struct {
	lane record.Lane

	// Of the file that is judged.

	open  bool
	level record.Quantity // by which it is judged
	count [len(levels)]int
	last  *record.Checkpoint // at a place with a name
	most  record.Size        // largest level
	least *record.Checkpoint // the sample with the lowest level
	// mostReserved is the largest reserved.
	mostReserved record.Size

	// Of the process that is judged: its first reading, where that is not a cleanup's and not an After.

	process int
	born    bool
	birth   record.Reading

	sums   []*recoverySum          // in the order of their first appearance
	byName map[string]*recoverySum // nil where there are few
	named  bool                    // not every reading is a sample
	peak   peakMark
	share  shareMark
	idles  []idle
	points points
	// What the files reached, in their level and in reserved, and their stages; what lies beside the level when a file ends.
	// The columns of stages and recoveries are in sums and stagePeaks.
	peaks, reserves, unused column
	dark                    *darkLedger // nil where nothing is known of it
	stagePeaks              []*stagePeak
	order                   orderMark
	readings                []*readingSeries // of samples, and outside of files
}

// columnFiles is of how many files the columns are kept that gate nothing: a log may have millions. Those that gate are whole,
// because a process of few files would be left with too few of them.
const columnFiles = 8192

// A stagePeak is the high-water mark of a stage over the files, and how far it lies above the level at the stage's start.
type stagePeak struct {
	name       string
	peak, took column
}

// levels are the quantities by which a file may be judged, in a ledger by one: the one that most of its readings have, the
// first of these where several are as frequent. One for all, because allocated and reserved are not to be compared.
var levels = [...]record.Quantity{record.Allocated, record.Used, record.Reserved}

// openLedgers begins the file in the ledgers that it has readings of.
func (j *Judge) openLedgers(f *timeline.File) {
	var l *ledger
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		if l == nil || l.lane != c.Lane {
			l = j.ledger(c.Lane)
		}
		if !l.open {
			l.open, l.last, l.least, l.most, l.mostReserved, l.count, l.points.next = true, nil, nil, record.Size{}, record.Size{},
				[len(levels)]int{}, 0
			j.open = append(j.open, l)
			j.bear(l, f, c)
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

func (j *Judge) ledger(lane record.Lane) *ledger {
	l := j.byLane[lane]
	if l == nil {
		l = &ledger{lane: lane}
		l.peaks.most, l.reserves.most = columnFiles, columnFiles
		l.share.limit = float64(j.policy.Fragmentation.MaxShare)
		j.byLane[lane] = l
		j.ledgers = append(j.ledgers, l)
	}
	return l
}

// bear notes the first reading of a process: what it began with, or nothing where that closes something already.
func (j *Judge) bear(l *ledger, f *timeline.File, c *record.Checkpoint) {
	if l.born && l.process == f.Process || c.Sampled && !c.Has(levels[0]) && !c.Has(levels[1]) && !c.Has(levels[2]) {
		return // the latter is the device's total, or a peak
	}
	l.born, l.process, l.birth = true, f.Process, record.Reading{}
	if n := j.naming(c); !n.cleanup && !n.after {
		l.birth = c.Reading
	}
}

// closeLedgers ends the file.
func (j *Judge) closeLedgers(f *timeline.File, ref fileRef) {
	for _, l := range j.open {
		if !f.Outside {
			j.idle(l, ref)
			l.endColumns(ref, f.Supervised)
		}
		l.open = false
	}
	j.open = j.open[:0]
}

// endColumns notes what is known when the file ends.
func (l *ledger) endColumns(ref fileRef, supervised bool) {
	if l.most.Bytes > 0 {
		l.peaks.addLevel(l.level, ref, l.most)
	}
	if l.mostReserved.Bytes > 0 {
		l.reserves.addLevel(record.Reserved, ref, l.mostReserved)
	}
	if l.last == nil {
		return
	}
	reserved, hasReserved := l.last.Get(record.Reserved)
	difference := func(c *column, a, b record.Size) {
		c.add(ref, float64(a.Bytes-b.Bytes), float64(a.Resolution+b.Resolution))
	}
	if allocated, ok := l.last.Get(record.Allocated); ok && hasReserved {
		difference(&l.unused, reserved, allocated)
	}
	l.darkEnd(ref, l.last, supervised)
}

// stagePeak is that of a stage.
func (l *ledger) stagePeak(name string) *stagePeak {
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
func (l *ledger) add(f *timeline.File, ref fileRef, c *record.Checkpoint) {
	if size, ok := l.get(c); ok {
		if size.Bytes > l.most.Bytes {
			l.most = size
		}
		if c.Sampled && (l.least == nil || size.Bytes < l.least.Bytes(l.level)) {
			l.least = c
		}
		if !c.Sampled && !ref.outside {
			l.points.at(c.Name).level.addLevel(l.level, ref, size)
		}
	}
	for _, q := range [...]record.Quantity{record.Reserved, record.PeakReserved} {
		if size, ok := c.Get(q); ok && size.Bytes > l.mostReserved.Bytes {
			l.mostReserved = size
		}
	}
	if !c.Sampled {
		l.last, l.named = c, true
	}
	l.reading(f, ref, c)
	l.peak.add(f, ref, c)
	l.share.add(f.Process, ref, c)
	l.order.add(ref, c)
}

// get is a checkpoint's level.
func (l *ledger) get(c *record.Checkpoint) (record.Size, bool) { return c.Get(l.level) }
