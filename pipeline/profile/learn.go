package profile

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"vramsoak/parser"
)

// Learn reads the footprints of stages from a timeline. It is an error where no file that ended well has a stage.
func Learn(tl *parser.Timeline) (*Profile, error) {
	l := &learner{stages: map[string]*samples{}, idle: map[int][]point{}}
	for _, f := range tl.LastAttempts() {
		if f.Status == parser.StatusOK || f.Status == parser.StatusUnknown && len(f.OOMs) == 0 {
			l.files = append(l.files, f)
		}
	}
	if len(l.files) == 0 {
		return nil, errors.New("expected files that ended well, found none; soak the pipeline again once it passes")
	}
	lane, ok := l.mainLane()
	if !ok {
		return nil, errors.New("expected checkpoints with allocated, found none; vramsoak check says what the log has")
	}
	l.ever = l.neverReset(lane)
	beside := parser.NewBeside(tl, []parser.Lane{lane})
	p := &Profile{Log: l.files[0].Pos.Path, Files: len(l.files)}
	seen := map[int]bool{} // processes
	for _, f := range l.files {
		if f.AudioSeconds > 0 && (p.Shortest == 0 || f.AudioSeconds < p.Shortest) {
			p.Shortest = f.AudioSeconds
		}
		p.Longest = max(p.Longest, f.AudioSeconds)
		l.file(f, lane, !seen[f.Process], beside)
		seen[f.Process] = true
	}
	if len(l.order) == 0 {
		return nil, errors.New(`expected stages, pairs of checkpoints such as "Before Transcription" and "After Transcription", found none`)
	}
	if len(l.order) > stagesMax {
		return nil, fmt.Errorf("expected at most %d stages of different names, found %d, the last %q; "+
			"give a stage one name in all files", stagesMax, len(l.order), l.order[len(l.order)-1])
	}
	p.Total = l.total
	p.Context, p.Contexts = int64(median(l.dark)), len(l.dark)
	p.Resident = int64(median(l.resident))
	p.Growth = l.growth()
	for _, name := range l.order {
		p.Stages = append(p.Stages, l.stages[name].fit(name))
	}
	return p, nil
}

// stagesMax bounds the stages of a profile: more than some 180 of them are more than is read as a file.
const stagesMax = 128

// neverReset says that the peaks of the log are those of the whole process so far, as torch.cuda.max_memory_allocated is without
// torch.cuda.reset_peak_memory_stats: they never fall.
func (l *learner) neverReset(lane parser.Lane) bool {
	above := false
	last := map[int]int64{}
	for _, f := range l.files {
		for i := range f.Checkpoints {
			c := &f.Checkpoints[i]
			peak, ok := c.Get(parser.Peak)
			if !ok || c.Lane != lane {
				continue
			}
			if peak.Bytes < last[f.Process] {
				return false
			}
			last[f.Process] = peak.Bytes
			above = above || peak.Bytes > c.Bytes(parser.Allocated)
		}
	}
	return above
}

// A learner collects what the files say.
type learner struct {
	files    []*parser.File
	stages   map[string]*samples
	order    []string // of stages, as they first occur
	total    int64
	dark     []float64       // device used - reserved at files' ends
	resident []float64       // allocated at files' first checkpoints
	ever     bool            // peak= is of the whole process, never reset
	idle     map[int][]point // of each process: the file's number, its last level
}

// A point is a reading y at x.
type point struct{ x, y float64 }

// samples are what the files say of a stage.
type samples struct {
	peaks      []point // seconds of audio, bytes above the start
	first      []bool  // whether it is the first file of a process
	hidden     []bool  // whether an earlier peak hides that of the stage
	kept       []point // at the stage's end
	reserved   []float64
	seconds    []float64 // per second of audio
	resolution int64
}

// mainLane is the device and rank that most checkpoints are of. Footprints of several are not added up.
func (l *learner) mainLane() (lane parser.Lane, ok bool) {
	counts := map[parser.Lane]int{}
	for _, f := range l.files {
		for i := range f.Checkpoints {
			if c := &f.Checkpoints[i]; c.Has(parser.Allocated) && !c.Sampled {
				counts[c.Lane]++
			}
		}
	}
	most := 0
	for of, n := range counts {
		if n > most || n == most && (of.Rank < lane.Rank || of.Rank == lane.Rank && of.Device < lane.Device) {
			lane, most = of, n
		}
	}
	return lane, most > 0
}

// file adds what a file says.
func (l *learner) file(f *parser.File, lane parser.Lane, first bool, beside *parser.Beside) {
	ledger := beside.Of(f.Run, lane)
	var begin, end *parser.Checkpoint
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		if c.Lane != lane || !c.Has(parser.Allocated) {
			continue
		}
		begin, end = cmp.Or(begin, c), c
		l.total = max(l.total, c.Bytes(parser.Total))
	}
	if end == nil {
		return
	}
	if !first {
		l.resident = append(l.resident, float64(begin.Bytes(parser.Allocated)))
	}
	l.idle[f.Process] = append(l.idle[f.Process], point{float64(len(l.idle[f.Process])), float64(end.Bytes(parser.Allocated))})
	if reserved, ok := end.Get(parser.Reserved); ok {
		used, known := end.Get(parser.Used)
		if !known && ledger != nil {
			used, known = ledger.At(end.Header)
		}
		if known && used.Bytes >= reserved.Bytes {
			l.dark = append(l.dark, float64(used.Bytes-reserved.Bytes))
		}
	}
	for _, st := range f.Stages {
		if f.Checkpoints[st.Before].Lane == lane && f.Checkpoints[st.Before].Has(parser.Allocated) {
			l.stage(f, st, first)
		}
	}
}

// stage adds what a file says of a stage.
func (l *learner) stage(f *parser.File, st parser.Stage, first bool) {
	s := l.stages[st.Name]
	if s == nil {
		s = &samples{}
		l.stages[st.Name] = s
		l.order = append(l.order, st.Name)
	}
	before, after := &f.Checkpoints[st.Before], &f.Checkpoints[st.After]
	start, _ := before.Get(parser.Allocated)
	top, reserved := start.Bytes, before.Bytes(parser.Reserved)
	resolution := start.Resolution
	told := before.Bytes(parser.Peak)
	hidden := l.ever && told > start.Bytes
	for i := st.Before + 1; i <= st.After; i++ {
		c := &f.Checkpoints[i]
		if c.Lane != before.Lane {
			continue
		}
		level, _ := c.Get(parser.Allocated)
		top, resolution = max(top, level.Bytes), max(resolution, level.Resolution)
		reserved = max(reserved, c.Bytes(parser.Reserved))
		// A program that never resets its peak prints that of an earlier stage on and on: only where it changes it is this one's.
		if peak, ok := c.Get(parser.Peak); ok && peak.Bytes != told {
			told, top, hidden = peak.Bytes, max(top, peak.Bytes), false
			reserved = max(reserved, c.Bytes(parser.PeakReserved))
		}
	}
	s.resolution = max(s.resolution, resolution)
	s.peaks = append(s.peaks, point{f.AudioSeconds, float64(top - start.Bytes)})
	s.first, s.hidden = append(s.first, first), append(s.hidden, hidden)
	s.kept = append(s.kept, point{f.AudioSeconds, float64(max(0, after.Bytes(parser.Allocated)-start.Bytes))})
	if reserved > 0 && top > 0 {
		s.reserved = append(s.reserved, max(1, float64(reserved)/float64(top)))
	}
	if took := after.Time.Sub(before.Time).Seconds(); !before.Time.IsZero() && !after.Time.IsZero() && took > 0 && f.AudioSeconds > 0 {
		s.seconds = append(s.seconds, took/f.AudioSeconds)
	}
}

// growth is the growth of the level at files' ends, a file, the median over processes of those with eight files or more.
func (l *learner) growth() int64 {
	const least = 8 // files, as for a verdict on a leak
	var all []float64
	for _, points := range l.idle {
		if len(points) >= least {
			all = append(all, slope(points[1:])) // the first file loads what stays
		}
	}
	g := int64(median(all))
	if g < leastGrowth {
		return 0
	}
	return g
}

// leastVaried is how much of the longest file's length the lengths must differ by for a slope.
const leastVaried = 0.2

// fit is what the files say of a stage together.
func (s *samples) fit(name string) Stage {
	st := Stage{Name: name, Files: len(s.peaks), Reserved: rounded(median(s.reserved), 1e4), Seconds: rounded(median(s.seconds), 1e6)}
	for _, p := range s.peaks {
		st.Peak = max(st.Peak, int64(p.y))
	}
	points := s.warm(s.peaks, s.hidden)
	st.Base, st.PerSecond, st.Spread, st.Note = line(points)
	st.Shortest, st.Longest = lengths(points)
	st.Spread = max(s.resolution, st.Spread)
	st.Kept, st.KeptPerSecond, _, _ = line(s.warm(s.kept, nil))
	return st
}

func rounded(f, parts float64) float64 { return math.Round(f*parts) / parts }

// line is the line through the points, and how far the highest lies above it; note says why it has no slope.
func line(points []point) (base int64, perSecond float64, spread int64, note string) {
	perSecond, note = slopeOf(points)
	perSecond = math.Round(perSecond)
	rests := make([]float64, len(points))
	for i, p := range points {
		rests[i] = p.y - perSecond*p.x
	}
	b := math.Round(max(0, median(rests))) // nothing takes less than nothing
	return int64(b), perSecond, int64(math.Ceil(max(0, slices.Max(rests)-b))), note
}

// warm leaves out the first file of each process, in which libraries load and models come to stay, and hidden ones, where there
// are others.
func (s *samples) warm(points []point, hidden []bool) []point {
	var all []point
	for i, p := range points {
		if !s.first[i] && (hidden == nil || !hidden[i]) {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return points
	}
	return all
}

// lengths are the least and the largest x.
func lengths(points []point) (shortest, longest float64) {
	shortest = points[0].x
	for _, p := range points {
		shortest, longest = min(shortest, p.x), max(longest, p.x)
	}
	return shortest, longest
}

// slopeOf is the slope over the length of the files; note says why there is none.
func slopeOf(points []point) (perSecond float64, note string) {
	shortest, longest := lengths(points)
	const least = 5 // files through which to draw a line
	switch {
	case longest == 0:
		return 0, "the log has no lengths of files: soak it with vramsoak, or read the footprint as that of files like these"
	case len(points) < least:
		return 0, fmt.Sprintf("%d files are too few for a slope over their length, it takes %d", len(points), least)
	case longest-shortest < leastVaried*longest:
		return 0, fmt.Sprintf("lengths of %.4g to %.4g s do not vary enough for a slope: longer files may take more", shortest, longest)
	}
	k := slope(points)
	// A slope that does not show above what the files differ by is none.
	var off []float64
	for _, p := range points {
		off = append(off, p.y-k*p.x)
	}
	middle := median(off)
	for i := range off {
		off[i] = math.Abs(off[i] - middle)
	}
	if rise := k * (longest - shortest); rise <= 2*median(off) || rise < float64(parser.KiB) {
		return 0, "it does not grow with the length of the file"
	}
	return k, ""
}

// mostPoints bounds the pairs that slope looks at: 500 * 499 / 2.
const mostPoints = 500

// slope is the median of the slopes between all pairs (Theil 1950, Sen 1968); of more than mostPoints as many, evenly taken.
func slope(points []point) float64 {
	if len(points) > mostPoints {
		some := make([]point, mostPoints)
		for i := range some {
			some[i] = points[i*len(points)/mostPoints]
		}
		points = some
	}
	var all []float64
	for i, a := range points {
		for _, b := range points[:i] {
			if a.x != b.x {
				all = append(all, (a.y-b.y)/(a.x-b.x))
			}
		}
	}
	return median(all)
}

// median is 0 of nothing.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
