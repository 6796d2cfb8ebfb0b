package profile

import (
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A Learner learns a profile from files, one after the other. It keeps a few numbers of each file
// and of each of its stages, and no checkpoints:
//
//	l := profile.Learner{}
//	b := parser.Builder{Builder: timeline.Builder{Done: l.Add}}
//	... b.Read(log, name)
//	p, err := l.Profile(b.Timeline())
type Learner struct {
	facts  []laneFacts
	stages []stageFacts
	last   map[record.Lane]int // the place in facts of the last one of a lane
	// files are those that ended well. bad are the others; nil if there are none.
	files []*timeline.File
	bad   map[*timeline.File]bool
}

// laneFacts are what a file says of one lane.
type laneFacts struct {
	file *timeline.File
	lane record.Lane
	// levels says that it has a level of allocated memory. named counts the levels at places of the
	// program that have a name.
	levels bool
	named  int32
	// begin and end are the levels at the first and the last checkpoint; total is the device's.
	begin, end, total int64
	// reserved and used are those at the last checkpoint, -1 if it does not have them. lookUp is
	// that checkpoint if the device's use must be looked up among the samples, else nil.
	reserved, used int64
	lookUp         *record.Header
	peaks          *peakFacts // nil where no line has peak=
}

// peakFacts are the readings of peak= in a file.
type peakFacts struct {
	first, last int64
	fell, above bool // one is less than the one before; one is above allocated
}

// stageFacts are what a file says of a stage.
type stageFacts struct {
	name       string
	fact       int     // the place in Learner.facts of its file and lane
	peak, kept int64   // bytes above the start: at most, and at the end
	reserved   float64 // over allocated; 0 where it is not known
	seconds    float64 // 0 where it is not known
	resolution int64
	hidden     bool // an earlier peak hides that of the stage, if peaks are never reset
}

// Add notes what a file says, for [parser.Builder.Done] to call. The file's checkpoints are not
// needed afterwards.
func (l *Learner) Add(f *timeline.File) {
	if f.Outside {
		return
	}
	if l.last == nil {
		l.last = map[record.Lane]int{}
	}
	from := len(l.facts)
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		peak, peaks := c.Get(record.Peak)
		level, levels := c.Get(record.Allocated)
		if !peaks && !levels {
			continue
		}
		at, known := l.last[c.Lane]
		if !known || at < from {
			at = len(l.facts)
			l.facts, l.last[c.Lane] = append(l.facts, laneFacts{file: f, lane: c.Lane}), at
		}
		fact := &l.facts[at]
		if peaks {
			fact.addPeak(peak.Bytes, level.Bytes)
		}
		if levels {
			fact.addLevel(c, level.Bytes)
		}
	}
	for i := from; i < len(l.facts); i++ {
		if at := l.facts[i].lookUp; at != nil {
			l.facts[i].lookUp = new(*at) // the checkpoint's place is used again
		}
	}
	for _, st := range f.Stages {
		if before := &f.Checkpoints[st.Before]; before.Has(record.Allocated) {
			s := stageOf(f, st)
			s.fact = l.last[before.Lane]
			l.stages = append(l.stages, s)
		}
	}
}

func (f *laneFacts) addPeak(peak, allocated int64) {
	if f.peaks == nil {
		f.peaks = &peakFacts{first: peak, last: peak}
	}
	f.peaks.fell = f.peaks.fell || peak < f.peaks.last
	f.peaks.above = f.peaks.above || peak > allocated
	f.peaks.last = peak
}

func (f *laneFacts) addLevel(c *record.Checkpoint, allocated int64) {
	if !f.levels {
		f.levels, f.begin = true, allocated
	}
	f.end = allocated
	if !c.Sampled {
		f.named++
	}
	f.total = max(f.total, c.Bytes(record.Total))
	f.reserved, f.used, f.lookUp = -1, -1, nil
	if reserved, ok := c.Get(record.Reserved); ok {
		f.reserved = reserved.Bytes
		if used, ok := c.Get(record.Used); ok {
			f.used = used.Bytes
		} else {
			f.lookUp = &c.Header
		}
	}
}

// stageOf reads a stage of a file from its checkpoints.
func stageOf(f *timeline.File, st timeline.Stage) stageFacts {
	before, after := &f.Checkpoints[st.Before], &f.Checkpoints[st.After]
	start, _ := before.Get(record.Allocated)
	top, reserved := start.Bytes, before.Bytes(record.Reserved)
	s := stageFacts{name: st.Name, resolution: start.Resolution}
	told := before.Bytes(record.Peak)
	s.hidden = told > start.Bytes
	for i := st.Before + 1; i <= st.After; i++ {
		c := &f.Checkpoints[i]
		if c.Lane != before.Lane {
			continue
		}
		level, _ := c.Get(record.Allocated)
		top, s.resolution = max(top, level.Bytes), max(s.resolution, level.Resolution)
		reserved = max(reserved, c.Bytes(record.Reserved))
		// A program that never resets its peak prints that of an earlier stage on and on. Only a
		// peak that changes is this stage's.
		if peak, ok := c.Get(record.Peak); ok && peak.Bytes != told {
			told, top, s.hidden = peak.Bytes, max(top, peak.Bytes), false
			reserved = max(reserved, c.Bytes(record.PeakReserved))
		}
	}
	s.peak, s.kept = top-start.Bytes, max(0, after.Bytes(record.Allocated)-start.Bytes)
	if reserved > 0 && top > 0 {
		s.reserved = max(1, float64(reserved)/float64(top))
	}
	if !before.Time.IsZero() && !after.Time.IsZero() {
		s.seconds = max(0, after.Time.Sub(before.Time).Seconds())
	}
	return s
}

// count finds the files that ended well, by the last attempt at each.
func (l *Learner) count(tl *timeline.Timeline) {
	for _, f := range tl.LastAttempts() {
		if f.Status == record.StatusOK || f.Status == record.StatusUnknown && len(f.OOMs) == 0 {
			l.files = append(l.files, f)
		}
	}
	if len(l.files) == len(tl.Files) {
		return
	}
	l.bad = map[*timeline.File]bool{}
	for _, f := range tl.Files {
		l.bad[f] = true
	}
	for _, f := range l.files {
		delete(l.bad, f)
	}
}

func (l *Learner) counts(f *timeline.File) bool { return !l.bad[f] }

// neverReset reports whether the peaks of the log are those of the whole process so far: they never
// fall. So it is with torch.cuda.max_memory_allocated without torch.cuda.reset_peak_memory_stats.
func (l *Learner) neverReset(lane record.Lane) bool {
	above := false
	last := map[int]int64{}
	for i := range l.facts {
		f := &l.facts[i]
		if f.lane != lane || f.peaks == nil || !l.counts(f.file) {
			continue
		}
		if f.peaks.fell || f.peaks.first < last[f.file.Process] {
			return false
		}
		last[f.file.Process] = f.peaks.last
		above = above || f.peaks.above
	}
	return above
}

// mainLane returns the device and rank that most checkpoints are of. Footprints of several are not
// added up.
func (l *Learner) mainLane() (lane record.Lane, ok bool) {
	counts := map[record.Lane]int{}
	for i := range l.facts {
		if f := &l.facts[i]; f.named > 0 && l.counts(f.file) {
			counts[f.lane] += int(f.named)
		}
	}
	most := 0
	for of, n := range counts {
		if n > most || n == most && (of.Rank < lane.Rank || of.Rank == lane.Rank &&
			of.Device < lane.Device) {
			lane, most = of, n
		}
	}
	return lane, most > 0
}
