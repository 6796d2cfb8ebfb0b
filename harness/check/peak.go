package check

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// peaks judges the high-water mark of each device.
func (j *Judge) peaks(beside *timeline.Beside) {
	all := append(j.peaked(), j.bare(beside)...)
	ranks := slices.ContainsFunc(all, func(l *lane) bool { return l.id.Rank != 0 })
	facts := runFactsOf(all)
	for _, l := range all {
		subject := "high-water mark"
		if len(all) > 1 {
			mark := laneMark(l.id, ranks)
			j.marks[mark] = true
			subject += mark
		}
		j.peak(l, subject, facts)
	}
}

// A runFacts sums up the readings of all devices of a run.
type runFacts struct {
	totals    []total // by the driver's numbers
	devices   map[int]bool
	ranks     map[int]bool
	grownLine int  // of the last reading that shows more of the program's memory on a device than before
	holds     bool // the program's own readings show that it holds memory
}

func runFactsOf(ledgers []*lane) map[int]*runFacts {
	all := map[int]*runFacts{}
	for _, l := range ledgers {
		for i := range l.peak.runs {
			r := &l.peak.runs[i]
			f := all[r.run]
			if f == nil {
				f = &runFacts{devices: map[int]bool{}, ranks: map[int]bool{}}
				all[r.run] = f
			}
			for _, t := range r.totals {
				if t.driver {
					f.totals = addTotal(f.totals, t)
					f.devices[l.id.Device] = true
				}
			}
			f.ranks[l.id.Rank] = true
			f.grownLine = max(f.grownLine, r.failedLine)
			f.holds = f.holds || r.failedLine > 0
			if r.most > idleMax {
				f.grownLine, f.holds = max(f.grownLine, r.mostLine), true
			}
		}
	}
	return all
}

// An outcome is the verdict on the peak of a device in one run.
type outcome struct {
	verdict Verdict
	by      ground
	of      extreme
	run     *runMark
	why     string // why the verdict is skipped or undecided
}

// rank orders outcomes from the least to the most severe.
func (o *outcome) rank() int {
	return slices.Index([]Verdict{Skipped, Pass, Undecided, Fail}, o.verdict)
}

// peak compares the high-water mark of a ledger with the device's total: up to 70 % is normal, up to the policy's maximum
// (85 %) a notice, above it critical. The bounds are those at which the transcription pipelines warn. The worst of several
// grounds decides, in the worst run.
func (j *Judge) peak(l *lane, subject string, facts map[int]*runFacts) {
	var worst *outcome
	var skipped []*outcome
	for i := range l.peak.runs {
		r := &l.peak.runs[i]
		o := j.peakOf(r, l.id, facts[r.run])
		if o.verdict == Skipped {
			skipped = append(skipped, o)
			continue
		}
		if worst == nil || cmp.Or(o.rank()-worst.rank(), cmp.Compare(o.of.top.share(), worst.of.top.share())) > 0 {
			worst = o
		}
	}
	f := Finding{Check: Peak, Subject: subject}
	if worst == nil {
		f.Verdict, f.Message = Skipped, (&outcome{}).why
		if len(skipped) > 0 {
			f.Message = skipped[0].why
		}
		j.add(f)
		return
	}
	j.add(j.peakFinding(f, worst))
	if len(skipped) > 0 {
		f.Verdict = Skipped
		f.Message = fmt.Sprintf("in %s nothing is judged, the first: %s", Plural(len(skipped), "log"), skipped[0].why)
		j.add(f)
	}
}

// peakOf judges the peak of one run.
func (j *Judge) peakOf(r *runMark, lane record.Lane, facts *runFacts) *outcome {
	of := joinOf(r.totals, facts.totals, lane.Rank == 0 && len(facts.devices) > 0 && len(facts.ranks) > len(facts.devices))
	if of.known {
		for by, m := range r.alone {
			if m == nil {
				continue
			}
			if r.of[by] == nil {
				r.of[by] = &extreme{}
			}
			m.total = of.total
			r.of[by].raise(m, of.low, of.high)
			r.alone[by] = nil
		}
	}
	maximum := float64(j.policy.Peak.Max)
	own, whole := []ground{byAllocated, byProcess, byBuffers}, []ground{byDevice, byTable}
	if !facts.holds {
		own, whole = append(own, byTable), whole[:1]
	}
	if o := r.worst(append(own, byPart), func(e *extreme) bool { return e.low > maximum }); o != nil {
		return o.as(Fail, "")
	}
	if o := r.worst(append(own, byPart), func(e *extreme) bool { return e.high > maximum }); o != nil {
		why := "the printed digits do not tell on which side of the limit; log exact bytes to decide it"
		if beside := o.of.top.beside; beside > 0 && o.by == byBuffers {
			why = fmt.Sprintf("buffers of these names were made before (up to %s), and the log does not tell whether they were freed; "+
				"print used= beside them, or soak the pipeline", record.FormatBytes(beside))
		}
		return o.as(Undecided, why)
	}
	if o := r.worst(whole, func(e *extreme) bool { return e.high > maximum }); o != nil {
		return o.as(Undecided, cmp.Or(o.of.top.why, "the log does not tell whose it is")+"; run the pipeline with vramsoak soak "+
			"where the driver tells processes apart, or print used= (what the driver says of the process)")
	}
	if o := r.unjoined(of, maximum, own); o != nil {
		return o
	}
	used := func(e *extreme) bool { return e.top.size.Bytes > 0 }
	reserved := r.worst([]ground{byReserved}, used)
	if o := r.worst(own, used); o != nil {
		switch {
		case r.failedLine > r.levelLine:
			return o.as(Undecided, fmt.Sprintf("an allocation failed after that, in line %d, which does not say what was in use",
				r.failedLine))
		case r.mostLine <= r.levelLine:
			return o.as(Pass, "")
		case reserved == nil || reserved.of.top.pos.Line < r.mostLine:
			return o.as(Undecided, fmt.Sprintf("that is older than what the program took later, in line %d; print a level behind it",
				r.mostLine))
		}
	}
	if reserved != nil {
		return reserved.as(Pass, "")
	}
	o := &outcome{run: r}
	switch device := r.worst(whole, func(*extreme) bool { return true }); {
	case device == nil || r.hasLevel(own):
		return o.as(Skipped, r.unjudged(own, of))
	case facts.grownLine > r.deviceLine:
		top := &device.of.top
		return o.as(Skipped, fmt.Sprintf("%s in use at %s, line %d, is older than what the program took later (line %d): no peak; print "+
			"a level behind it", top.size, top.name, top.pos.Line, facts.grownLine))
	case device.of.whole().size.Bytes <= idleMax:
		return o.as(Skipped, fmt.Sprintf("no more than %s was in use when the device was looked at: no process had memory there",
			device.of.whole().size))
	default:
		return device.as(Pass, "")
	}
}

// worst returns the highest of the grounds that count, or nil.
func (r *runMark) worst(of []ground, counts func(e *extreme) bool) (o *outcome) {
	for _, by := range of {
		if e := r.of[by]; e != nil && counts(e) && (o == nil || e.top.share() > o.of.top.share()) {
			o = &outcome{by: by, of: *e, run: r}
		}
	}
	return o
}

func (o *outcome) as(v Verdict, why string) *outcome {
	o.verdict, o.why = v, why
	return o
}

// hasLevel reports whether there is a level by one of the grounds whose total is not known.
func (r *runMark) hasLevel(of []ground) bool {
	return slices.ContainsFunc(of, func(by ground) bool { return r.alone[by] != nil && r.alone[by].size.Bytes > 0 })
}

// idleMax is what a driver counts as in use on a device that no process uses; the context of one takes more.
const idleMax = 64 * record.MiB

// unjoined says that a level could be the highest, whose total is not known though the log gives some.
func (r *runMark) unjoined(of belonging, maximum float64, own []ground) *outcome {
	least := int64(0)
	for _, t := range r.totals {
		if low := t.size.Low(); least == 0 || low < least {
			least = low
		}
	}
	for _, by := range own {
		m := r.alone[by]
		if m == nil || of.why == "" {
			continue
		}
		if _, _, high := m.need(); float64(high) > maximum*float64(least) {
			o := &outcome{by: by, of: extreme{top: *m}, run: r}
			return o.as(Undecided, of.why+"; print the total beside the level")
		}
	}
	return nil
}

// unjudged says why a run has nothing to judge.
func (r *runMark) unjudged(own []ground, of belonging) string {
	level, zero := false, false
	for _, by := range append(own, byReserved, byDevice) {
		level = level || r.alone[by] != nil
		zero = zero || r.of[by] != nil
	}
	switch {
	case level && of.why != "":
		return of.why + "; print the total beside the level"
	case level:
		return `the log gives no total of the device; print it once, as in ` +
			`"[GPU Memory] Start: Allocated: 0.00GB | Total: 24.00GB"`
	case zero:
		return "nothing was in use at any time that the log gives a level of"
	case len(r.totals) > 0:
		return "the log gives the device's total, and no level that could be compared with it"
	}
	return "the log gives no level of memory, only parts of it or what is left"
}

// peakFinding says what decided.
func (j *Judge) peakFinding(f Finding, o *outcome) Finding {
	top := &o.of.top
	_, need, _ := top.need()
	f.Verdict, f.At, f.Quantity = o.verdict, new(top.pos), groundWords[o.by].name
	file := j.fileOf(o.run, top)
	f.File = file.Index
	if top.total.Bytes == 0 {
		f.Message = fmt.Sprintf("%s %s at %s, %s; %s", record.FormatBytes(need), groundWords[o.by].words, top.name, fileName(file), o.why)
		j.decides(&f, need, 0)
		return f
	}
	share := top.share()
	f.Unit, f.Measured, f.Limit = Ratio, new(share), new(float64(j.policy.Peak.Max))
	j.decides(&f, need, top.total.Bytes)
	found := fmt.Sprintf("%s %s, of %s (%s) at %s, %s", record.FormatBytes(need), groundWords[o.by].words, top.total, percent(share),
		top.name, fileName(file))
	if top.told {
		found += " (peak=)"
	}
	if top.cached.Bytes > 0 {
		found += fmt.Sprintf(", without %s of cache", top.cached)
	}
	others, notice := j.besideIt(o)
	found += others
	switch {
	case o.verdict == Fail:
		f.Message = "critical: " + found + "; take a smaller batch or model, or a larger card"
	case o.why != "":
		f.Message = found + "; " + o.why
	case notice || share > float64(j.policy.Peak.Notice):
		f.Message = "notice: " + found
	default:
		f.Message = found
	}
	return f
}

// besideIt returns the message's part on the grounds that did not decide. notice reports whether
// one of them is above the limit with its cache.
func (j *Judge) besideIt(o *outcome) (text string, notice bool) {
	_, need, _ := o.of.top.need()
	for _, by := range []ground{byAllocated, byProcess, byReserved} {
		if o.run.of[by] == nil {
			continue
		}
		m := o.run.of[by].whole()
		if by == byAllocated && (o.by == by || m.size.Bytes == 0) || by != byAllocated && m.size.Bytes <= need {
			continue
		}
		share := float64(m.size.Bytes) / float64(max(1, m.total.Bytes))
		if by == o.by && share-o.of.top.share() < 0.005 {
			continue // the cache is next to nothing
		}
		text += fmt.Sprintf("; %s up to %s (%s)", groundWords[by].words, m.size, percent(share))
		notice = notice || by != byAllocated && share > float64(j.policy.Peak.Max)
	}
	return text, notice
}

// decides notes what decided the worst finding on a peak.
func (j *Judge) decides(f *Finding, bytes, total int64) {
	rank := func(v Verdict) int { return (&outcome{verdict: v}).rank() }
	h, share := &j.deciding, float64(bytes)/float64(max(1, total))
	if h.by == nil || cmp.Or(rank(f.Verdict)-rank(h.verdict), cmp.Compare(share, h.share)) > 0 {
		h.verdict, h.share = f.Verdict, share
		h.by = &PeakBy{f.Quantity, bytes, total}
	}
}

// A decidingPeak is the reading that decided the worst finding on a peak.
type decidingPeak struct {
	by      *PeakBy // nil before the first
	verdict Verdict
	share   float64
}

// fileOf returns the file in which a mark was read, or the stretch between files.
func (j *Judge) fileOf(r *runMark, m *mark) *timeline.File {
	if m.file != nil {
		return m.file
	}
	for _, files := range [][]*timeline.File{j.tl.Files, j.tl.Outside} {
		i := sort.Search(len(files), func(i int) bool {
			return cmp.Or(files[i].Run-r.run, files[i].Pos.Line-m.pos.Line) > 0
		})
		if i > 0 && files[i-1].Run == r.run && files[i-1].EndPos.Line >= m.pos.Line {
			return files[i-1]
		}
	}
	return &timeline.File{Outside: true}
}
