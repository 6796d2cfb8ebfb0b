package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"vramsoak/harness/shape"
	"vramsoak/parser/record"
)

// A drift is a series over files that is looked at for growth.
type drift struct {
	check, subject string
	unit           string
	limit          float64 // growth a file that is allowed
	falls          bool    // it is a fall that is looked for
	missing        string  // why it cannot be judged, where it has no values at all
	// per is the thing with one value each, "file" or "reading". at names the one at an index.
	per string
	at  func(i int) string
	// level is that of readings.
	level record.Quantity
	stage string // the stage or cleanup that it is about
}

// each returns the word for the thing with one value each in messages: "file" or "reading".
func (d *drift) each() string { return cmp.Or(d.per, "file") }

// perEach returns the end of the unit: "/file" or "/reading".
func (d *drift) perEach() string { return "/" + d.each() }

// amount prints how much a series grows from one value to the next: "4.00 MiB".
func (d *drift) amount(v float64) string { return rateOf(v, d.unit) }

// growth returns by how much a series grows: "4.00 MiB a file (95 %: 3.86 MiB to 4.12 MiB)".
func (d *drift) growth(r *shape.Result) string {
	return fmt.Sprintf("%s a %s (95 %%: %s to %s)",
		d.amount(r.Slope.Estimate), d.each(), d.amount(r.Slope.Low), d.amount(r.Slope.High))
}

// grows returns the direction too: "grows by 4.00 MiB a file (95 %: 3.86 MiB to 4.12 MiB)".
func (d *drift) grows(r *shape.Result) string {
	if d.falls {
		return "falls by " + d.growth(r)
	}
	return "grows by " + d.growth(r)
}

// processValues are a column's in one process. The files of a process follow one another.
type processValues struct {
	process    int
	files      []int32
	values     []float64
	resolution float64
	thinned    bool // values of some files were not kept: see column.most
}

// span is how many files there are from the first to the last, those whose values were not kept
// included.
func (p *processValues) span() int {
	if !p.thinned {
		return len(p.files)
	}
	return int(p.files[len(p.files)-1]-p.files[0]) + 1
}

// spread puts the values at their places among all files of the span.
func (p *processValues) spread(values []float64) []float64 {
	if !p.thinned {
		return values
	}
	all := slices.Repeat([]float64{math.NaN()}, p.span())
	for i, n := range p.files {
		all[n-p.files[0]] = values[i]
	}
	return all
}

// at is the place in the timeline of a value of the span.
func (p *processValues) at(i int) int32 {
	if p.thinned {
		return p.files[0] + int32(i)
	}
	return p.files[i]
}

// A worstProcess is the finding on the process that is the worst of all.
type worstProcess struct {
	finding Finding
	of      *processValues // nil where none could be judged
	result  shape.Result
	longest int // files that have a value, of the process that has most; where none could be judged
}

// from returns the index of the first higher value among those that were kept.
func (w *worstProcess) from() int {
	first := w.of.at(w.result.From)
	at, _ := slices.BinarySearch(w.of.files, first)
	return min(at, len(w.of.files)-1)
}

// processes cuts a column, without the files that did not end well.
func (j *Judge) processes(c *column) []processValues {
	var all []processValues
	first := 0 // of the last process, in the column
	for i, n := range c.files {
		f := j.tl.Files[n]
		if !j.sound(f) {
			continue
		}
		if len(all) == 0 || all[len(all)-1].process != f.Process {
			all = append(all, processValues{process: f.Process, resolution: c.resolution, thinned: c.skip > 0})
		}
		p := &all[len(all)-1]
		switch {
		case len(p.files) == 0: // the files of a process follow one another in the column, mostly all of them
			p.files, p.values = c.files[i:i+1:i+1], c.values[i:i+1:i+1]
			first = i
		case first+len(p.files) == i:
			p.files, p.values = c.files[first:i+1:i+1], c.values[first:i+1:i+1]
		default:
			p.files, p.values = append(p.files, n), append(p.values, c.values[i])
		}
	}
	return all
}

// worst judges each process, and takes the worst. What an interruption left too short to tell does
// not weigh against a longer process that was well.
func (j *Judge) worst(d *drift, all []processValues) worstProcess {
	need := j.policy.Leak.MinFiles
	order := []Verdict{Pass, Undecided, Fail}
	worst := worstProcess{finding: Finding{Check: d.check, Verdict: Skipped, Subject: d.subject, Message: d.missing}}
	longest := 0
	cut := j.cutShort(all)
	short := make([]worstProcess, 0, len(cut)) // undecided
	well := 0                                  // length of the longest that passes
	take := func(w worstProcess) {
		if worst.of == nil || cmp.Or(slices.Index(order, w.finding.Verdict)-slices.Index(order, worst.finding.Verdict),
			cmp.Compare(*w.finding.Measured, *worst.finding.Measured)) > 0 {
			worst = w
		}
	}
	for i := range all {
		p := &all[i]
		skip := min(j.policy.Leak.WarmUp, len(p.files))
		p.files, p.values = p.files[skip:], p.values[skip:]
		longest = max(longest, len(p.files))
		if len(p.files) < need {
			continue
		}
		r := shape.Of(j.series(d, p))
		if math.Abs(r.Size) < d.limit { // too little to speak of
			if r.Shape != shape.Flat {
				r.From = 0
			}
			r.Shape = shape.Flat
		}
		f := j.driftFinding(d, p, &r)
		switch {
		case f.Verdict == Pass:
			well = max(well, len(p.files))
		case f.Verdict == Undecided && cut[p.process]:
			short = append(short, worstProcess{finding: f, of: p, result: r})
			continue
		}
		take(worstProcess{finding: f, of: p, result: r})
	}
	for _, w := range short {
		if len(w.of.files) >= well {
			take(w)
		}
	}
	if worst.of != nil && worst.finding.Verdict == Fail {
		first := j.tl.Files[worst.of.files[worst.from()]]
		worst.finding.in(first)
		worst.finding.At = new(first.EndPos)
	}
	if worst.of != nil && j.Trends {
		t := Trend{Finding: worst.finding, Unit: d.unit, Values: worst.of.spread(worst.of.values), Falls: d.falls, Result: worst.result}
		for i := range t.Values {
			t.Files = append(t.Files, j.tl.Files[worst.of.at(i)])
		}
		j.trends = append(j.trends, t)
	}
	if worst.of == nil && len(all) > 0 {
		worst.longest = longest
		worst.finding.Message = fmt.Sprintf("growth over files needs at least %d files in one process, the longest one here has %d",
			need, longest)
		if most := j.longestProcess() - j.policy.Leak.WarmUp; most > longest {
			worst.finding.Message = fmt.Sprintf("growth over files needs at least %d files in one process that tell of it, here it is %d of %d",
				need, longest, most)
		}
	}
	return worst
}

// longestProcess is how many files that ended well the process has that has most.
func (j *Judge) longestProcess() int {
	if j.longest < 0 {
		j.longest = 0
		files := map[int]int{}
		for _, f := range j.tl.Files {
			if j.sound(f) {
				files[f.Process]++
				j.longest = max(j.longest, files[f.Process])
			}
		}
	}
	return j.longest
}

// Grain is the least difference that means anything, of values in one of the units of metrics.
// Allocations are rounded up to 512 bytes (kMinBlockSize in PyTorch's CUDACachingAllocator.cpp).
func Grain(unit string) float64 {
	switch unit {
	case Bytes:
		return 512
	case Seconds:
		return 1e-3
	}
	return 1e-6
}

// rounded leaves out the digits that only the arithmetic gives.
func rounded(v float64, unit string) float64 {
	digit := Grain(unit) / (1 << 20)
	return math.Round(v/digit)*digit + 0 // never -0
}

func (j *Judge) series(d *drift, p *processValues) shape.Series {
	s := shape.Series{Values: p.values, Resolution: p.resolution, Grain: Grain(d.unit)}
	if d.falls {
		s.Values = make([]float64, len(p.values))
		for i, v := range p.values {
			s.Values[i] = -v
		}
	}
	if p.thinned {
		s.Values = p.spread(s.Values)
		return s
	}
	s.Audio = make([]float64, len(p.files))
	for i, n := range p.files {
		if s.Audio[i] = j.tl.Files[n].AudioSeconds; s.Audio[i] == 0 { // lengths are known of all, or of none
			s.Audio = nil
			break
		}
	}
	return s
}

// GrowthVerdict is the verdict on a series that may grow by the limit a file. Growth fails where it
// is certain and its estimate is above the limit for every value that the digits allow; it passes
// where the whole interval is under the limit. Two steps up, together more than the limit, may be
// growth in leaps. A series that is too short for a shape is undecided.
func GrowthVerdict(r *shape.Result, limit float64) Verdict {
	switch {
	case r.Shape == "":
		return Undecided
	case r.Growing && r.Slope.Estimate-r.Rounding > limit:
		return Fail
	case r.Slope.High <= limit && !stepsUp(r, limit) && r.Ends <= limit:
		return Pass
	}
	return Undecided
}

func stepsUp(r *shape.Result, limit float64) bool {
	return r.Shape == shape.Steps && r.Size > 0 && r.Size >= limit
}

// driftFinding is the verdict on one process.
func (j *Judge) driftFinding(d *drift, p *processValues, r *shape.Result) Finding {
	f := Finding{
		Check: d.check, Subject: d.subject, Measured: new(rounded(r.Slope.Estimate, d.unit)), Limit: new(d.limit),
		Unit: d.unit + d.perEach(),
	}
	form := j.form(d, p, r)
	f.Verdict = GrowthVerdict(r, d.limit)
	switch {
	case f.Verdict == Fail:
		since := ""
		if r.From > 0 && (r.Shape == shape.Flat || r.Shape == shape.WarmUp) {
			since = " since " + j.fileAt(d, p, r.From)
		}
		f.Message = fmt.Sprintf("%s%s, and goes on%s", d.grows(r), since, form)
	case f.Verdict == Pass && r.Growing:
		f.Message = fmt.Sprintf("%s, which is allowed%s", d.grows(r), form)
	case f.Verdict == Pass:
		f.Message = fmt.Sprintf("no growth to speak of: %s%s", d.growth(r), form)
	case r.Growing:
		f.Message = fmt.Sprintf("%s, which may be more than the %s that are allowed%s; %s", d.grows(r),
			d.amount(d.limit), form, wouldDecide(d, r))
	case stepsUp(r, d.limit):
		f.Message = fmt.Sprintf("two steps up look like growth in leaps%s; more %ss in one process would tell", form, d.each())
	case r.Ends > d.limit:
		f.Message = fmt.Sprintf("ends %s above the level of the %ss before%s; more %ss in one process would tell whether it stays there, "+
			"or grows", Quantity(r.Ends, d.unit), d.each(), form, d.each())
	default:
		f.Message = fmt.Sprintf("%s of up to %s a %s cannot be ruled out%s; it would have shown from %s a %s on; %s",
			growthOrFall(d), d.amount(r.Slope.High), d.each(), form, d.amount(r.Detectable), d.each(), wouldDecide(d, r))
	}
	return f
}

func growthOrFall(d *drift) string {
	if d.falls {
		return "a fall"
	}
	return "growth"
}

// form says what else the series does.
func (j *Judge) form(d *drift, p *processValues, r *shape.Result) string {
	amount := func(v float64) string {
		if d.falls {
			v = -v
		}
		return Quantity(v, d.unit)
	}
	s := ""
	switch {
	case r.Shape == shape.WarmUp && r.Growing && r.Size < 0: // it grows faster than before
	case r.Shape == shape.WarmUp:
		s = fmt.Sprintf(", after a warm-up of %s until %s", amount(r.Size), j.fileAt(d, p, r.From))
	case r.Shape == shape.Step:
		s = fmt.Sprintf(", beside one step of %s at %s", amount(r.Size), j.fileAt(d, p, r.From))
	case r.Shape == shape.Steps:
		s = fmt.Sprintf(", beside two steps of together %s, the first at %s", amount(r.Size), j.fileAt(d, p, r.From))
	case r.Shape == shape.Sawtooth:
		s = fmt.Sprintf(", beside what is cleared every %d %ss, up to %s", r.Period, d.each(), amount(r.Size))
	}
	if r.FollowsAudio && math.Abs(r.PerSecond) > Grain(d.unit) {
		s += fmt.Sprintf(", besides following the length of the audio (%s a second)", amount(r.PerSecond))
	}
	return s
}

// fileAt names the file of a value.
func (j *Judge) fileAt(d *drift, p *processValues, at int) string {
	if d.at != nil {
		return d.at(at)
	}
	return fileName(j.tl.Files[p.at(at)])
}

// drifts judges what grows beside the idle level.
func (j *Judge) drifts(l *ledger) {
	overFiles := j.processes(&l.unused)
	unused := j.worst(&drift{
		check: Fragmentation, subject: j.subject(UnusedReserve, l.lane), unit: Bytes,
		limit:   float64(j.policy.Fragmentation.MaxGrowth.Bytes),
		missing: "no file ends with a checkpoint that has both allocated and reserved",
	}, overFiles).finding
	reserved, grows := j.readingsReserve(l, overFiles)
	if grows {
		j.add(reserved.withReserve())
	}
	if !grows || unused.Verdict != Skipped {
		j.add(unused.withReserve())
	}
	j.share(l)
	j.darkMemory(l)

	sum := driftSum{finding: Finding{Check: Drift, Verdict: Skipped, Subject: j.subject("stages and recoveries", l.lane)}}
	floor := j.policy.Recovery.Floor.Bytes
	sum.finding.Message = fmt.Sprintf("no file that ended well has a stage that takes more than %s, or a cleanup that had anything to free",
		record.FormatBytes(floor))
	add := func(failed *worstProcess) {
		if failed != nil {
			j.add(failed.finding)
		}
	}
	for _, p := range l.stagePeaks {
		if len(p.took.values) == 0 || Median(p.took.values) <= float64(floor) { // of so little, changes are noise
			continue
		}
		add(j.relative(&sum, drift{check: Drift, subject: j.subject("memory of "+p.name, l.lane), unit: Bytes, stage: p.name}, &p.took))
	}
	for _, s := range l.sums {
		add(j.relative(&sum, drift{
			check: Drift, subject: j.subject("recovery of "+s.name, l.lane), unit: Ratio, falls: true, stage: s.name,
		}, &s.shares))
	}
	j.addDrifts(&sum)
}

// A driftSum sums up series of which those that do not fail are told of together.
type driftSum struct {
	finding Finding
	series  int // those that fail not counted
	failed  bool
	unsure  []string
	once    string   // a change for the worse that does not go on, as [Judge.form] says it
	nothing []string // of which there is nothing that could change
	longest int      // of the series that are too short
}

// relative judges a column by how much it changes over a run, as a share of its median. It returns
// the process that fails, or adds to the sum and returns nil.
func (j *Judge) relative(sum *driftSum, d drift, c *column) *worstProcess {
	all := j.processes(c)
	if len(all) == 0 {
		return nil
	}
	longest := slices.MaxFunc(all, func(a, b processValues) int { return len(a.files) - len(b.files) })
	most, level := float64(j.policy.Drift.MaxChange), math.Abs(Median(longest.values))
	d.limit = most * level / float64(longest.span())
	enough := len(longest.files)-j.policy.Leak.WarmUp >= j.policy.Leak.MinFiles
	if enough && (level == 0 || d.unit == Ratio && level < most) { // of a share of nothing any noise would be a change
		sum.nothing = append(sum.nothing, d.subject)
		return nil
	}
	w := j.worst(&d, all)
	if w.of == nil {
		if w.longest >= sum.longest {
			sum.longest, sum.finding.Message = w.longest, w.finding.Message
		}
		return nil
	}
	switch w.finding.Verdict {
	case Fail:
		sum.failed = true
		w.finding.Stage = d.stage
		return &w
	case Undecided:
		sum.unsure = append(sum.unsure, d.subject)
		sum.series++
	default:
		sum.series++
		// Files that take longer from one file on, and no longer after that, are no growth, but
		// tell of an allocator under pressure.
		if r := &w.result; d.check == Throughput && r.Shape != shape.Sawtooth && r.Size > most*level {
			sum.once = j.form(&d, w.of, r)
		}
	}
	return nil
}

// addDrifts adds the finding on those that do not fail.
func (j *Judge) addDrifts(sum *driftSum) {
	f := &sum.finding
	change := percent(float64(j.policy.Drift.MaxChange))
	switch {
	case sum.series == 0 && sum.failed:
		return // it was told
	case sum.series == 0 && sum.longest == 0 && len(sum.nothing) > 0:
		f.Message = "next to nothing in most files, of which no change can be told: " + strings.Join(sum.nothing, ", ")
	case sum.series == 0:
	case len(sum.unsure) == 0:
		f.Verdict = Pass
		f.Message = fmt.Sprintf("%d series without a change for the worse by more than %s over the run", sum.series, change)
		f.Message += sum.once
	default:
		f.Verdict = Undecided
		f.Message = fmt.Sprintf("cannot be told from a change by %s over the run, for noise or digits: %s", change, strings.Join(sum.unsure, ", "))
	}
	j.add(*f)
}

// Median is of at least one value, which stay in their order.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
