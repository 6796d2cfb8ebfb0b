package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"vramsoak/harness/shape"
)

// growth judges whether a ledger grows on one device of one rank. It looks at the ledger's levels
// over the files of each process. In processes with too few files it looks at readings instead.
// Package shape distinguishes growth from noise, warm-up, steps and periodic freeing;
// [GrowthVerdict] compares the growth with the policy.
func (j *Judge) growth(l *lane, of *Ledger) {
	levels := j.levelsOf(l, of)
	if of.extra && len(levels.files) == 0 {
		return
	}
	s := series{
		check: of.Check, subject: j.subjectOf(of, l), unit: of.Unit,
		limit: j.policy.MaxGrowth[of.Name], missing: of.missing,
	}
	if of.Unit == Bytes {
		s.peak = l.mostHeld()
	}
	if !l.named && of.missingSampled != "" {
		s.missing = of.missingSampled
	}
	overFiles, trends := j.processes(levels), len(j.trends)
	w := j.worst(&s, overFiles)
	if of.readings != nil {
		f, tooFew, ok := of.readings(j, l, overFiles)
		switch {
		case ok:
			j.add(of.advise(f))
			if w.of == nil {
				return
			}
		case w.of == nil && tooFew != "":
			w.finding.Message += "; " + tooFew
		}
	}
	if of.caches && w.finding.Verdict == Fail && !keepsRising(w.of.values[w.from():]) {
		w.unsettle("; but not throughout: a cache that fills looks the same; more files in one process " +
			"would decide it")
	}
	if of.explain != nil {
		of.explain(j, l, &w)
	}
	if w.finding.Verdict == Fail && of.shared != nil && of.shared(l) {
		w.unsettle("; the driver does not list processes here, so another process may " +
			"have grown: soak where nothing else runs on the device, or outside of the container")
	}
	if w.of != nil && j.Trends {
		j.trends[trends].Finding.Verdict = w.finding.Verdict
	}
	g := grownLedger{of, l, w}
	if of.containsOthers && len(l.growing) > 0 {
		if !g.growsMore(l.growing, s.limit) {
			part := l.growing[0].of.Name
			j.trends = j.trends[:trends]
			j.add(Finding{
				Check: of.Check, Verdict: Skipped, Subject: s.subject,
				Message: fmt.Sprintf("it grows no faster than the %s, which is a part of it: see the finding "+
					"on the %s", part, part),
			})
			return
		}
		g.w.finding.Message += "; this is more than the " + l.growing[0].of.Name + " grows, which is a " +
			"part of it"
	}
	if w.finding.Verdict == Fail {
		l.growing = append(l.growing, g)
	}
	j.addGrowth(g)
}

// growsMore reports whether a ledger that fails grows faster than those that are parts of it, by
// more than the limit.
func (g *grownLedger) growsMore(parts []grownLedger, limit float64) bool {
	if g.w.finding.Verdict != Fail {
		return false
	}
	more := g.w.result.Slope.Estimate
	for i := range parts {
		more -= parts[i].w.result.Slope.Estimate
	}
	return more > limit
}

// unsettle makes a finding that fails undecided. The parameter why is appended to its message.
func (w *worstProcess) unsettle(why string) {
	w.finding.Verdict, w.finding.FirstFile = Undecided, nil
	w.finding.Message += why
}

// advise returns a finding with the ledger's advice appended to its message, if the finding
// fails.
func (of *Ledger) advise(f Finding) Finding {
	if f.Verdict == Fail && of.advice != "" {
		f.Message += "; " + of.advice
	}
	return f
}

// A series holds the values over the files, or over the readings, that are judged for growth.
type series struct {
	check, subject string
	unit           string
	limit          float64 // allowed growth from one value to the next
	peak           float64 // the most memory that the run held, or 0 if the values are not memory
	falls          bool    // set if a fall is bad, as a fall of throughput is
	missing        string  // message if the series has no values at all
	stage          string  // the stage or cleanup to which the values belong
	// per is the noun for one value: "reading", or "" for a file. nameAt returns the name of the
	// value with index i.
	per    string
	nameAt func(i int) string
}

// processValues holds the values of a column in one process. Files of other processes may lie
// between its files, if several processes print into one log.
type processValues struct {
	process    int
	files      []int32 // indices into Timeline.Files
	values     []float64
	resolution float64
	stride     int // 1, or more if the column dropped the values of some files: see column.most
}

// processes returns the values of a column, split by process, without the files that did not end
// well.
func (j *Judge) processes(c *column) []processValues {
	var all []processValues
	first := 0             // index in the column of the last process's first file
	known := map[int]int{} // indices in all
	for i, n := range c.files {
		f := j.tl.Files[n]
		if !j.endedWell(f) {
			continue
		}
		at := len(all) - 1
		if at < 0 || all[at].process != f.Process {
			var again bool
			if at, again = known[f.Process]; !again {
				at, known[f.Process] = len(all), len(all)
				all = append(all, processValues{
					process: f.Process, resolution: c.resolution, stride: int(c.skip) + 1,
				})
			}
		}
		p := &all[at]
		switch {
		case at < len(all)-1:
			p.files, p.values = append(p.files, n), append(p.values, c.values[i])
		case len(p.files) == 0: // start a slice of the column: mostly, nothing must be copied
			p.files, p.values = c.files[i:i+1:i+1], c.values[i:i+1:i+1]
			first = i
		case first+len(p.files) == i:
			p.files, p.values = c.files[first:i+1:i+1], c.values[first:i+1:i+1]
		default:
			p.files, p.values = append(p.files, n), append(p.values, c.values[i])
		}
	}
	slices.SortFunc(all, func(a, b processValues) int { return a.process - b.process })
	return all
}

// span returns the number of files from the first to the last, including those whose values the
// column dropped.
func (p *processValues) span() int {
	return (len(p.files)-1)*p.stride + 1
}

// spread returns the values with one entry for each file of the span, and NaN for a value that
// the column dropped.
func (p *processValues) spread(values []float64) []float64 {
	if p.stride == 1 {
		return values
	}
	all := slices.Repeat([]float64{math.NaN()}, p.span())
	for i := range p.files {
		all[i*p.stride] = values[i]
	}
	return all
}

// at returns the index in Timeline.Files of file i of the span. If the column dropped the file's
// value, it is the last file before it that has one.
func (p *processValues) at(i int) int32 { return p.files[i/p.stride] }

// shape returns the shape of the series in the process: growth, steps, warm-up and so on.
func (j *Judge) shape(s *series, p *processValues) shape.Result {
	in := shape.Series{
		Values: p.values, Resolution: p.resolution, Grain: Grain(s.unit), Level: j.level(s.check),
	}
	if s.falls {
		in.Values = make([]float64, len(p.values))
		for i, v := range p.values {
			in.Values[i] = -v
		}
	}
	if p.stride > 1 {
		in.Values = p.spread(in.Values)
		return shape.Of(in)
	}
	in.Audio = make([]float64, len(p.files))
	for i, n := range p.files {
		if in.Audio[i] = j.tl.Files[n].AudioSeconds; in.Audio[i] == 0 { // all files or none
			in.Audio = nil
			break
		}
	}
	return shape.Of(in)
}

// GrowthVerdict returns the verdict on a series that may grow by limit from one file to the next:
//
//   - Fail if growth is certain and the estimated slope, less its rounding error, exceeds the
//     limit.
//   - Pass if the whole confidence interval of the slope is within the limit. Two exceptions do not
//     pass: two steps up, because they may be growth in leaps; and a last value that lies above the
//     others, because it may be the first leap. Both decide nothing if such leaps cannot amount to
//     the limit: see [leaps].
//   - Undecided otherwise, also for a series that is too short to have a shape.
func GrowthVerdict(r *shape.Result, limit float64) Verdict {
	switch {
	case r.Shape == "":
		return Undecided
	case r.Growing && r.Slope.Estimate-r.Rounding > limit:
		return Fail
	case r.Slope.High <= limit && !stepsUp(r, limit) && !endsHigh(r, limit):
		return Pass
	}
	return Undecided
}

// stepsUp reports whether two steps up may be growth in leaps that exceeds the limit.
func stepsUp(r *shape.Result, limit float64) bool {
	return r.Shape == shape.Steps && leaps(2, r.Size, r.Files) > limit
}

// endsHigh reports whether the last value may be the first leap of growth that exceeds the limit.
func endsHigh(r *shape.Result, limit float64) bool { return leaps(1, r.Ends, r.Files) > limit }

// leaps returns the most growth per file that may show as few leaps, 1 or 2, of together this
// size in a series of so many files. If leaps come at random, their number has a Poisson
// distribution. Its mean is at most 5.57 if 1 leap was seen, and at most 7.22 if 2 were seen,
// with the confidence of a bound of a 95 % interval (Garwood 1936).
func leaps(few int, size float64, files int) float64 {
	most := [...]float64{1: 5.572, 2: 7.225}[few]
	return most * size / float64(few) / float64(max(1, files))
}

// smallShare is the share of the run's peak below which steps and a higher last value decide
// nothing. If growth in leaps so small went on at the highest rate that two leaps leave possible,
// as many files again would add 0.36 % of the peak. The regression check ignores less than 1 %.
const smallShare = 0.001

// fewCounts is the number of descriptors, threads or processes that decide nothing if they are
// all that a run gains. A shell has a few more or less open from one moment to the next.
const fewCounts = 4

// small returns the change of the level below which it decides nothing.
func (s *series) small() float64 {
	if s.unit == Count {
		return fewCounts
	}
	return smallShare * s.peak
}

// ignoreSmall makes the shape flat if its steps, its warm-up or its teeth are smaller than the
// limit or than small. It also ignores such a last value.
func ignoreSmall(r *shape.Result, limit, small float64) {
	if r.Ends <= small {
		r.Ends = 0
	}
	if math.Abs(r.Size) >= max(limit, small) {
		return
	}
	if r.Shape != shape.Flat {
		r.From = 0
	}
	r.Shape = shape.Flat
}

// A worstProcess is the finding on the process that is judged worst, with the values behind the
// finding.
type worstProcess struct {
	finding Finding
	of      *processValues // nil if no process could be judged
	result  shape.Result
	longest int // if none could be judged: the largest number of files with a value in one process
}

// from returns the index of the first higher value, among the values that the column kept.
func (w *worstProcess) from() int {
	at, _ := slices.BinarySearch(w.of.files, w.of.at(w.result.From))
	return min(at, len(w.of.files)-1)
}

// worst judges each process and returns the worst. An interruption may have cut a process short,
// so that it is undecided. Such a process is ignored if a longer process passes.
func (j *Judge) worst(s *series, all []processValues) worstProcess {
	least := j.policy.Leak.MinFiles
	order := []Verdict{Pass, Undecided, Fail}
	worst := worstProcess{finding: Finding{
		Check: s.check, Verdict: Skipped, Subject: s.subject, Message: s.missing,
	}}
	longest := 0
	cut := j.cutShort(all)
	short := make([]worstProcess, 0, len(cut)) // undecided processes that were cut short
	passed := 0                                // number of files in the longest process that passes
	unfit := Finding{Check: s.check}           // includes the processes that do not pass
	take := func(w worstProcess) {
		if w.finding.Verdict != Pass {
			unfit.includes(*w.finding.Measured)
		}
		if worst.of == nil || cmp.Or(
			slices.Index(order, w.finding.Verdict)-slices.Index(order, worst.finding.Verdict),
			cmp.Compare(*w.finding.Measured, *worst.finding.Measured)) > 0 {
			worst = w
		}
	}
	for i := range all {
		p := &all[i]
		skip := min(j.policy.Leak.WarmUp, len(p.files))
		p.files, p.values = p.files[skip:], p.values[skip:]
		known := len(p.values) - missing(p.values)
		longest = max(longest, known)
		if known < least {
			continue
		}
		r := j.shape(s, p)
		ignoreSmall(&r, s.limit, s.small())
		w := worstProcess{finding: j.growthFinding(s, p, &r), of: p, result: r}
		switch {
		case w.finding.Verdict == Pass:
			passed = max(passed, len(p.files))
		case w.finding.Verdict == Undecided && cut[p.process]:
			short = append(short, w)
			continue
		}
		take(w)
	}
	for _, w := range short {
		if len(w.of.files) >= passed {
			take(w)
		}
	}
	worst.finding.worst = unfit.worst
	if worst.of != nil {
		j.noteTrend(s, &worst)
	} else if len(all) > 0 {
		worst.longest = longest
		worst.finding.Message = fmt.Sprintf("growth over files needs %d files in one process; "+
			"the longest here has %d", least, longest)
		if most := j.longestProcess() - j.policy.Leak.WarmUp; most > longest {
			worst.finding.Message = fmt.Sprintf("growth over files needs %d files with such a "+
				"reading in one process; here %d of %d have one", least, longest, most)
		}
	}
	return worst
}

// missing returns the number of values that are not known.
func missing(values []float64) (n int) {
	for _, v := range values {
		if math.IsNaN(v) {
			n++
		}
	}
	return n
}

// noteTrend adds to the worst finding the file at which growth begins, and keeps the series for
// the report.
func (j *Judge) noteTrend(s *series, w *worstProcess) {
	if w.finding.Verdict == Fail {
		first := j.tl.Files[w.of.files[w.from()]]
		w.finding.in(first)
		w.finding.At = new(first.EndPos)
	}
	if !j.Trends {
		return
	}
	t := Trend{
		Finding: w.finding, Unit: s.unit, Values: w.of.spread(w.of.values), Falls: s.falls,
		Result: w.result,
	}
	for i := range t.Values {
		t.Files = append(t.Files, j.tl.Files[w.of.at(i)])
	}
	j.trends = append(j.trends, t)
}

// longestProcess returns the largest number of files that ended well in one process.
func (j *Judge) longestProcess() int {
	if j.longest < 0 {
		j.longest = 0
		files := map[int]int{}
		for _, f := range j.tl.Files {
			if j.endedWell(f) {
				files[f.Process]++
				j.longest = max(j.longest, files[f.Process])
			}
		}
	}
	return j.longest
}
