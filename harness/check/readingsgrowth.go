package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"vramsoak/harness/check/readings"
	"vramsoak/harness/shape"
	"vramsoak/parser/record"
)

// limitReadings is how many times the limit for one reading a level may grow over a whole series. A
// pipeline may print readings as often as it likes. If it prints more than limitReadings, the
// growth that limitReadings of them may have is divided among all readings.
const limitReadings = 60

// A readingsJudge judges the readings of a device in those processes that have too few files. If it
// has no finding, ok is false. If there were too few readings for a finding, tooFew says so.
type readingsJudge func(j *Judge, l *lane, overFiles []processValues) (
	f Finding, tooFew string, ok bool,
)

// A readingsVerdict is the finding on one series of readings, with the values behind it.
type readingsVerdict struct {
	*readings.Growth
	finding Finding
	series  series
}

// leakOverReadings judges whether the level grows over readings that belong to no file. For the
// results see [readingsJudge].
func (j *Judge) leakOverReadings(l *lane, overFiles []processValues) (
	f Finding, tooFew string, ok bool,
) {
	var all []readingsVerdict
	var most, peaks *readings.Series
	judged := j.judgedOverFiles(overFiles)
	for _, s := range l.readings {
		if s.OfReserve {
			continue
		}
		for _, r := range []*readings.Run{s.Worst, &s.Now} {
			if r == nil || !j.enough(r) || judged[r.Process] {
				continue
			}
			switch v := j.readingsVerdict(l, s, r); {
			case (s.Steps || s.Allocations) && v.finding.Verdict != Fail:
			case !readings.IsLargestSoFar(s.Level) || v.finding.Verdict == Fail:
				if s.Steps {
					v.finding.Verdict = Undecided
					v.finding.Message += "; the log does not say whether these are files or parts of one file, " +
						"which may grow; print [pipeline] file-start and file-end"
				}
				if s.Allocations {
					v.finding.Verdict = Undecided
					v.finding.Message += "; the lines are of single allocations, and do not say where a file " +
						"ends; print [pipeline] file-start and file-end"
				}
				all = append(all, v)
				j.noteGrowth(&v.series, r.Process, &v.Result, v.finding.Verdict)
			default:
				peaks = s
			}
		}
		if !s.Steps && !s.Allocations && s.Now.Readings > 1 &&
			(most == nil || s.Now.Readings > most.Now.Readings) {
			most = s
		}
	}
	if len(all) == 0 {
		switch {
		case peaks != nil:
			tooFew = fmt.Sprintf("the %d readings of %s are high-water marks, which hide the level "+
				"below them; print what is allocated", peaks.Now.Readings, peaks.Name)
		case most != nil:
			tooFew = fmt.Sprintf("growth over readings needs %d of one name in one process; "+
				"here are %d of %s", j.policy.Leak.MinFiles, most.Now.Readings, most.Name)
		}
		return Finding{}, tooFew, false
	}
	// If any series grows, the finding fails. If none grows, the series decides whose level comes
	// first in readings.Levels: the allocator's own, if the log has it.
	rank := func(v readingsVerdict) int { return slices.Index(readings.Levels[:], v.Series.Level) }
	if !slices.ContainsFunc(all, func(v readingsVerdict) bool { return v.finding.Verdict == Fail }) {
		best := rank(slices.MinFunc(all, func(a, b readingsVerdict) int { return rank(a) - rank(b) }))
		all = slices.DeleteFunc(all, func(v readingsVerdict) bool { return rank(v) != best })
	}
	order := []Verdict{Pass, Undecided, Fail}
	worst := slices.MaxFunc(all, func(a, b readingsVerdict) int {
		return cmp.Or(slices.Index(order, a.finding.Verdict)-slices.Index(order, b.finding.Verdict),
			cmp.Compare(*a.finding.Measured, *b.finding.Measured))
	})
	for _, v := range all {
		if v.finding.Verdict != Pass {
			worst.finding.includes(*v.finding.Measured)
		}
	}
	j.noteReadings(&worst)
	return worst.finding, "", true
}

// reserveOverReadings judges whether reserved memory grows while the allocated memory in the same
// lines does not. The allocator then reserves more and more that it does not hand out. There is a
// finding only if that growth is certain.
func (j *Judge) reserveOverReadings(l *lane, overFiles []processValues) (
	f Finding, tooFew string, ok bool,
) {
	judged := j.judgedOverFiles(overFiles)
	grows := func(s *readings.Series, r *readings.Run) (v readingsVerdict, ok bool) {
		if r == nil || !j.enough(r) || judged[r.Process] {
			return v, false
		}
		v = j.readingsVerdict(l, s, r)
		return v, v.finding.Verdict == Fail
	}
	levelGrows := func(name string) bool {
		return slices.ContainsFunc(l.readings, func(of *readings.Series) bool {
			if of.OfReserve || of.Name != name {
				return false
			}
			_, first := grows(of, of.Worst)
			_, last := grows(of, &of.Now)
			return first || last
		})
	}
	for _, s := range l.readings {
		if !s.OfReserve || s.Steps {
			continue
		}
		for _, r := range []*readings.Run{s.Worst, &s.Now} {
			v, fails := grows(s, r)
			if !fails || levelGrows(s.Name) { // the level's growth is the cause
				continue
			}
			j.noteReadings(&v)
			j.noteGrowth(&v.series, r.Process, &v.Result, v.finding.Verdict)
			return v.finding, "", true
		}
	}
	return f, "", false
}

// judgedOverFiles returns the processes with enough files to be judged over files.
func (j *Judge) judgedOverFiles(overFiles []processValues) map[int]bool {
	judged := map[int]bool{}
	for i := range overFiles {
		judged[overFiles[i].process] = len(overFiles[i].files) >= j.policy.Leak.MinFiles
	}
	return judged
}

// noteReadings keeps the series for the report.
func (j *Judge) noteReadings(v *readingsVerdict) {
	if !j.Trends {
		return
	}
	t := Trend{Finding: v.finding, Unit: Bytes, Result: v.Result, Every: v.Each}
	for _, b := range v.Blocks {
		t.Values, t.Files = append(t.Values, float64(b.Least)), append(t.Files, b.File)
	}
	j.trends = append(j.trends, t)
}

// enough reports whether r has enough readings to judge growth. If the process also works on files,
// the readings must come from as many parts of the log between files. Readings from few such parts
// may only show that a model is loaded.
func (j *Judge) enough(r *readings.Run) bool {
	if r.Readings < j.policy.Leak.MinFiles {
		return false
	}
	return !j.named[r.Process] || r.Stretches >= j.policy.Leak.MinFiles
}

// judgedReadings returns how many series of readings in the log have enough readings to be judged.
func (j *Judge) judgedReadings() int {
	n := 0
	for _, l := range j.lanes {
		for _, s := range l.readings {
			if j.enough(&s.Now) || s.Worst != nil && j.enough(s.Worst) {
				n++
			}
		}
	}
	return n
}

// readingsVerdict judges a series by the lowest reading of each block of readings. If these grow,
// it looks for reasons to doubt that in the other readings. If they are undecided, the highest
// readings may show that nothing grows.
func (j *Judge) readingsVerdict(l *lane, s *readings.Series, r *readings.Run) readingsVerdict {
	v := readingsVerdict{Growth: readings.Of(s, r, Grain(Bytes), j.level(Leak))}
	leak := j.policy.MaxGrowth[IdleLevel]
	v.series = series{
		check: Leak, subject: j.subject(fmt.Sprintf("%s at %s", s.Level, s.Name), l.id), unit: Bytes,
		limit: leak * min(1, limitReadings/float64(r.Readings)),
		per:   "reading", nameAt: v.nameAt,
	}
	if s.OfReserve {
		v.series.check = Fragmentation
		v.series.limit *= j.policy.MaxGrowth[UnusedReserve] / leak
	}
	grows := &v.Result
	ignoreSmall(grows, v.series.limit, 0)
	if v.Swings() {
		grows.Ends = 0
	}
	doubt := ""
	switch GrowthVerdict(grows, v.series.limit) {
	case Fail:
		doubt = v.doubt(j.judgedReadings())
		grows.Growing = doubt == ""
	case Undecided: // a leak raises the highest readings too
		high := v.Shape(readings.Most)
		if !grows.Growing && grows.Slope.Estimate <= v.series.limit &&
			GrowthVerdict(&high, v.series.limit) == Pass {
			*grows = high
		}
	}
	v.finding = j.growthFinding(&v.series, nil, grows)
	f := &v.finding
	first := v.Blocks[len(v.Blocks)-1]
	switch {
	case f.Verdict == Fail:
		first = v.Blocks[grows.From]
		for _, more := range []string{j.readingsLeft(l, &v), otherCauses(s.Level)} {
			if more != "" {
				f.Message += "; " + more
			}
		}
	case doubt != "":
		f.Verdict = Undecided
		f.Message = doubt
	}
	f.Message = fmt.Sprintf("%s: %s", Plural(r.Readings, "reading"), f.Message)
	f.At = &record.Position{Path: first.File.Pos.Path, Line: first.Line}
	return v
}

// nameAt returns the name of the first reading of block i.
func (v *readingsVerdict) nameAt(i int) string {
	return fmt.Sprintf("reading %s (line %d)", Grouped(strconv.Itoa(1+i*v.Each)), v.Blocks[i].Line)
}

// doubt returns a reason to doubt that the readings grow, or "". The parameter series is the number
// of series that were judged. It matters because among many series, noise looks like growth in
// some.
func (v *readingsVerdict) doubt(series int) string {
	r := &v.Result
	amount := Quantity(r.Slope.Estimate, Bytes)
	rises := fmt.Sprintf("rises by %s a reading from %s on", amount, v.nameAt(r.From))
	grow := v.Rising()
	more := "more readings of one process would decide it"
	noise := 2 * r.Sigma
	half := r.Slope.Estimate * float64(v.Each) / 2 // half of the growth in a block
	n := max(2, len(grow)/8)
	// Growth that began late may only mean that the garbage collection pauses for longer than
	// before.
	times := 2.0
	if r.From > 0 {
		times = 6
	}
	switch {
	case len(grow) < shape.LeastFiles:
		return fmt.Sprintf("%s, for the last %d only; %s", rises, v.Run.Readings-r.From*v.Each, more)
	case (r.Slope.Estimate - r.Rounding) < sure(series)*(r.Detectable-r.Rounding):
		return fmt.Sprintf("%s, which one of %d series may do by chance; %s", rises, series, more)
	case v.Run.Polled && 2*len(grow) < len(v.Blocks):
		return fmt.Sprintf("%s, and was level before: it may be a load that has just begun; %s", rises,
			more)
	case (readings.IsLargestSoFar(v.Series.Level) || v.Series.OfReserve) && !v.KeepsRising():
		return fmt.Sprintf("%s, but not throughout; %s", rises, more)
	case times*v.Given() > readings.Median(grow[len(grow)-n:], readings.Least)-
		readings.Median(grow[:n], readings.Least):
		return fmt.Sprintf("%s, but up to %s was freed before, so this may be freed too; %s", rises,
			Quantity(v.Given(), Bytes), more)
	case v.Above(readings.Least, 8) < half*float64(n)-noise/math.Sqrt(float64(n)):
		return fmt.Sprintf("%s, but not at the end; %s", rises, more)
	case v.Above(readings.Mean, 2) < half*float64(len(grow)/4),
		v.Above(readings.Most, 2) < half*float64(len(grow)/4):
		return fmt.Sprintf("the lowest readings rise by %s a reading from %s on, but the "+
			"others do not: memory may only be freed less often; %s", amount, v.nameAt(r.From), more)
	}
	return ""
}

// sure returns by what factor growth must be more certain if several series are judged than if one
// is. Then the chance that any of them seems to grow stays at 0.1 % (Bonferroni's bound).
func sure(series int) float64 {
	z := func(p float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*p) }
	return z(0.001/float64(max(1, series))) / z(0.001)
}

// readingsLeft returns, for a message, after how many readings memory runs out at this rate.
func (j *Judge) readingsLeft(l *lane, v *readingsVerdict) string {
	end := v.Blocks[len(v.Blocks)-1]
	for _, f := range slices.Concat(j.tl.Outside, j.tl.Files) {
		for _, o := range f.OOMs {
			if f.Process == v.Run.Process && o.Lane == l.id && o.Pos.Line > end.Line {
				return fmt.Sprintf("memory ran out at line %d", o.Pos.Line)
			}
		}
	}
	level := int64(0) // the highest of the last blocks
	for _, b := range v.Blocks[len(v.Blocks)-max(1, len(v.Blocks)/8):] {
		level = max(level, b.Most)
	}
	left := func(total int64) string {
		if n := int64(float64(total-level) / v.Result.Slope.Estimate); n > 0 {
			return Grouped(strconv.FormatInt(n, 10))
		}
		return "none"
	}
	total := v.Run.Total.Bytes
	if total == 0 {
		total = l.peak.Total(end.File.Run)
	}
	var parts []string
	if total > 0 {
		parts = append(parts, fmt.Sprintf("%s here (%s)", left(total), record.FormatBytes(total)))
	} else {
		for _, card := range cards {
			parts = append(parts, fmt.Sprintf("%s on %d GiB", left(card*record.GiB), card))
		}
	}
	return "readings until out of memory: " + strings.Join(parts, ", ") +
		"; a checkpoint at the end of each file would show where it grows"
}

// otherCauses returns other possible causes of the growth of this level, or "".
func otherCauses(level record.Quantity) string {
	switch {
	case level == record.Used:
		return "device used counts all processes on the device: growth of another one looks the same"
	case readings.IsLargestSoFar(level):
		return "it is a high-water mark: work that gets larger and larger looks the same; print " +
			"what is allocated"
	}
	return ""
}
