package profile

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// Learn learns a profile from the timeline of a log. It returns an error if no file with a stage
// ended ok.
func Learn(tl *timeline.Timeline) (*Profile, error) {
	l := &Learner{}
	for _, f := range tl.Files {
		l.Add(f)
	}
	return l.Profile(tl)
}

// Profile returns the profile learned from the files that were added. tl is their timeline. It
// returns an error if no file with a stage ended ok.
func (l *Learner) Profile(tl *timeline.Timeline) (*Profile, error) {
	l.count(tl)
	if len(l.files) == 0 {
		return nil, errors.New("expected files that ended ok, found none; soak the pipeline " +
			"again once it passes")
	}
	lane, ok := l.mainLane()
	if !ok {
		return nil, errors.New("expected checkpoints with allocated, found none; vramsoak check " +
			"says what the log has")
	}
	g := &gathered{ever: l.neverReset(lane), stages: map[string]*samples{}, idle: map[int][]point{}}
	beside := timeline.NewDriverLedgers(tl, []record.Lane{lane})
	p := &Profile{Log: l.files[0].Pos.Path, Files: len(l.files)}
	first := map[int]*timeline.File{} // the first file of each process
	for _, f := range l.files {
		if f.AudioSeconds > 0 && (p.Shortest == 0 || f.AudioSeconds < p.Shortest) {
			p.Shortest = f.AudioSeconds
		}
		p.Longest = max(p.Longest, f.AudioSeconds)
		if first[f.Process] == nil {
			first[f.Process] = f
		}
	}
	isFirst := func(fact *laneFacts) bool { return first[fact.file.Process] == fact.file }
	for i := range l.facts {
		if fact := &l.facts[i]; fact.lane == lane && fact.levels && l.counts(fact.file) {
			g.file(fact, isFirst(fact), beside)
		}
	}
	for i := range l.stages {
		st := &l.stages[i]
		if fact := &l.facts[st.fact]; fact.lane == lane && l.counts(fact.file) {
			g.stage(st, fact.file, isFirst(fact))
		}
	}
	if len(g.order) == 0 {
		return nil, errors.New(
			`expected stages, pairs of checkpoints such as "Before Transcription" and ` +
				`"After Transcription", found none`)
	}
	if len(g.order) > stagesMax {
		return nil, fmt.Errorf("expected at most %d stages of different names, found %d, the "+
			"last %q; "+
			"give a stage one name in all files", stagesMax, len(g.order), g.order[len(g.order)-1])
	}
	p.Total = g.total
	p.Context, p.Contexts = int64(median(g.dark)), len(g.dark)
	p.Resident = int64(median(g.resident))
	p.Growth = g.growth()
	for _, name := range g.order {
		p.Stages = append(p.Stages, g.stages[name].fit(name))
	}
	return p, nil
}

// stagesMax limits the stages of a profile. With more than about 180 stages, the file would be too
// large to be read again.
const stagesMax = 128

// gathered are the readings of one lane in all files that ended ok.
type gathered struct {
	stages   map[string]*samples
	order    []string // the stages, in the order of their first occurrence
	total    int64
	dark     []float64       // device used - reserved at the end of each file
	resident []float64       // allocated at the first checkpoint of each file
	ever     bool            // peaks are never reset: peak= counts since the process began
	idle     map[int][]point // for each process: the file's number, and bytes allocated at its end
}

// A point is a value y at x. In most lists x is the length of a file in seconds of audio.
type point struct{ x, y float64 }

// samples are the readings of one stage in all files. Each list has one element for each file.
type samples struct {
	peaks      []point // seconds of audio, bytes above the level at the start
	first      []bool  // whether the file is the first of a process
	hidden     []bool  // whether an earlier peak hides the stage's own
	kept       []point // bytes kept at the stage's end
	reserved   []float64
	seconds    []float64 // per second of audio
	resolution int64
}

// file adds the readings of a file. first is true for the first file of a process. beside has the
// harness's samples.
func (g *gathered) file(fact *laneFacts, first bool, beside *timeline.DriverLedgers) {
	f := fact.file
	g.total = max(g.total, fact.total)
	if !first {
		g.resident = append(g.resident, float64(fact.begin))
	}
	idle := g.idle[f.Process]
	g.idle[f.Process] = append(idle, point{float64(len(idle)), float64(fact.end)})
	used := fact.used
	if ledger := beside.OfLane(f.Run, fact.lane); fact.lookUp != nil && ledger != nil {
		if at, known := ledger.At(*fact.lookUp); known {
			used = at.Bytes
		}
	}
	if fact.reserved >= 0 && used >= fact.reserved {
		g.dark = append(g.dark, float64(used-fact.reserved))
	}
}

// stage adds the readings of a stage in a file.
func (g *gathered) stage(st *stageFacts, f *timeline.File, first bool) {
	s := g.stages[st.name]
	if s == nil {
		s = &samples{}
		g.stages[st.name] = s
		g.order = append(g.order, st.name)
	}
	s.resolution = max(s.resolution, st.resolution)
	s.peaks = append(s.peaks, point{f.AudioSeconds, float64(st.peak)})
	s.first, s.hidden = append(s.first, first), append(s.hidden, g.ever && st.hidden)
	s.kept = append(s.kept, point{f.AudioSeconds, float64(st.kept)})
	if st.reserved > 0 {
		s.reserved = append(s.reserved, st.reserved)
	}
	if st.seconds > 0 && f.AudioSeconds > 0 {
		s.seconds = append(s.seconds, st.seconds/f.AudioSeconds)
	}
}

// growth returns how many bytes more are allocated at the end of each file than at the end of the
// file before it. It is the median over all processes with eight files or more. Growth below
// leastGrowth counts as 0.
func (g *gathered) growth() int64 {
	const least = 8 // files; a verdict on a leak needs as many
	var all []float64
	for _, points := range g.idle {
		if len(points) >= least {
			all = append(all, slope(points[1:])) // the first file loads data that stays in memory
		}
	}
	grows := int64(median(all))
	if grows < leastGrowth {
		return 0
	}
	return grows
}

// leastVaried is the smallest difference between the shortest and the longest file, as a part of
// the longest, with which a slope is computed.
const leastVaried = 0.2

// fit computes the footprint of a stage from its readings in all files.
func (s *samples) fit(name string) Stage {
	st := Stage{
		Name: name, Files: len(s.peaks), Reserved: rounded(median(s.reserved), 1e4),
		Seconds: rounded(median(s.seconds), 1e6),
	}
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

// line returns the line through the points: base is the value at length 0, and perSecond the slope.
// spread is the distance of the highest point above the line. note says why the line has no slope;
// "" if it has a slope.
func line(points []point) (base int64, perSecond float64, spread int64, note string) {
	perSecond, note = slopeOf(points)
	perSecond = math.Round(perSecond)
	rests := make([]float64, len(points))
	for i, p := range points {
		rests[i] = p.y - perSecond*p.x
	}
	b := math.Round(max(0, median(rests))) // memory is never negative
	return int64(b), perSecond, int64(math.Ceil(max(0, slices.Max(rests)-b))), note
}

// warm returns the points of files from which the profile can learn. It leaves out the first file
// of each process, because that file also loads libraries and models. It also leaves out the files
// marked in hidden, because the log does not show their peaks. If no points are left, warm returns
// all points.
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

// lengths returns the smallest and the largest x of the points.
func lengths(points []point) (shortest, longest float64) {
	shortest = points[0].x
	for _, p := range points {
		shortest, longest = min(shortest, p.x), max(longest, p.x)
	}
	return shortest, longest
}

// slopeOf returns the slope of the points over the length of the files, in bytes per second of
// audio. If there is no slope, note says why.
func slopeOf(points []point) (perSecond float64, note string) {
	shortest, longest := lengths(points)
	const least = 5 // points that a line needs
	switch {
	case longest == 0:
		return 0, "the log does not give the lengths of files: soak it with vramsoak, or read the " +
			"footprint as that of files like these"
	case len(points) < least:
		return 0, fmt.Sprintf("%d files are too few for a slope over their length, it takes %d",
			len(points), least)
	case longest-shortest < leastVaried*longest:
		return 0, fmt.Sprintf("lengths of %.4g to %.4g s do not vary enough for a slope: longer "+
			"files may take more", shortest, longest)
	}
	k := slope(points)
	// If the line rises by less than twice the median distance of the points from it, the rise may
	// be chance and does not count.
	var off []float64
	for _, p := range points {
		off = append(off, p.y-k*p.x)
	}
	middle := median(off)
	for i := range off {
		off[i] = math.Abs(off[i] - middle)
	}
	if rise := k * (longest - shortest); rise <= 2*median(off) || rise < float64(record.KiB) {
		return 0, "it does not grow with the length of the file"
	}
	return k, ""
}

// mostPoints limits the number of points, and so the pairs whose slopes are computed, to 500 * 499
// / 2.
const mostPoints = 500

// slope returns the median of the slopes between all pairs of points (Theil 1950, Sen 1968). If
// there are more than mostPoints points, it uses mostPoints of them at regular intervals.
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

// median returns the median of the values, or 0 if there are none.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
