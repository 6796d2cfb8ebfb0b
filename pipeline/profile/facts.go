package profile

import (
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A Learner learns a profile from the files of a log, one file after the other. It keeps a few
// numbers for each file and stage, but no checkpoints, so that it can read logs of any size:
//
//	l := profile.Learner{}
//	b := parser.Builder{Builder: timeline.Builder{Done: l.Add}}
//	... b.Read(log, name)
//	p, err := l.Profile(b.Timeline())
type Learner struct {
	facts  []laneFacts
	stages []stageFacts
	last   map[record.Lane]int // for each lane, the index in facts of its last file
	// files are the files that ended with status ok. bad has the other files; it is nil if there
	// are none.
	files []*timeline.File
	bad   map[*timeline.File]bool
}

// laneFacts are the readings of one lane, that is one device and rank, in one file. Levels are
// bytes of allocated memory.
type laneFacts struct {
	file *timeline.File
	lane record.Lane
	// levels is true if a checkpoint of the lane has allocated memory. named is the number of such
	// checkpoints with a name.
	levels bool
	named  int32
	// begin and end are the levels at the first and the last checkpoint; total is the memory of the
	// device.
	begin, end, total int64
	// reserved and used are the readings at the last checkpoint, or -1 if the checkpoint lacks
	// them. If it lacks used, lookUp is the checkpoint's header, with which the memory in use at
	// that time is found in the harness's samples. Otherwise lookUp is nil.
	reserved, used int64
	lookUp         *record.Header
	peaks          *peakFacts // nil if no line has peak=
}

// peakFacts sum up the values of peak= in a file.
type peakFacts struct {
	first, last int64
	fell, above bool // a peak is below the one before; a peak is above allocated
}

// stageFacts are the readings of one stage in one file, on the lane of its first checkpoint.
type stageFacts struct {
	name       string
	fact       int     // index of its file and lane in Learner.facts
	peak, kept int64   // highest memory, and memory at the end, in bytes above the start
	reserved   float64 // highest reserved / highest allocated; 0 if unknown
	seconds    float64 // 0 if unknown
	resolution int64
	hidden     bool // an earlier peak hides the stage's own, if peaks are never reset
}

// Add records the readings of a file. [parser.Builder.Done] can be set to it. The caller may drop
// the file's checkpoints afterwards.
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
			l.facts[i].lookUp = new(*at) // a copy, because the checkpoint is reused
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

// stageOf returns the readings of a stage in a file, from its checkpoints.
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
		// A program that never resets its peak prints the peak of an earlier stage again at each
		// checkpoint. Only a peak that changes during the stage belongs to the stage.
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

// count finds the files that ended with status ok. If a file was tried several times, the last
// attempt counts.
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

// neverReset reports whether the peaks of a lane never fall during a process. In this case the
// pipeline logs torch.cuda.max_memory_allocated, but never calls
// torch.cuda.reset_peak_memory_stats.
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

// mainLane returns the lane, a device and rank, with the most named checkpoints. The profile
// describes this lane alone, because the memory of several devices cannot be added up.
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
