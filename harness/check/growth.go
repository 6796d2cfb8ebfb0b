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
		check: of.Check, subject: j.subjectOf(of, l), ledger: of.Name, unit: of.Unit,
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
	shared := of.shared != nil && of.shared(l)
	for i := w.growths[0]; i < w.growths[1]; i++ {
		j.judged[i].Shared = shared
	}
	if w.finding.Verdict == Fail && shared {
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
			g.w.finding = Finding{
				Check: of.Check, Verdict: Skipped, Subject: s.subject,
				Message: fmt.Sprintf("it grows no faster than the %s, which is a part of it: see the finding "+
					"on the %s", part, part),
			}
			j.settle(&g.w)
			j.add(g.w.finding)
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

// A worstProcess is the finding on the process that is judged worst, with the values behind the
// finding.
type worstProcess struct {
	finding Finding
	of      *processValues // nil if no process could be judged
	result  shape.Result
	longest int    // if none could be judged: the largest number of files with a value in one process
	growths [2]int // from and to: the judged series, as indices in Judge.judged
}

// from returns the index of the first higher value, among the values that the column kept.
func (w *worstProcess) from() int {
	at, _ := slices.BinarySearch(w.of.files, w.of.at(w.result.From))
	return min(at, len(w.of.files)-1)
}

// begins returns the index of the first value of the growth, as from does. But growth around a step
// begins with the process: the step is only a part of it.
func (w *worstProcess) begins() int {
	if !beginsLate(&w.result) {
		return 0
	}
	return w.from()
}

// beginsLate reports whether growth begins at r.From, and not with the process.
func beginsLate(r *shape.Result) bool {
	return r.From > 0 && (r.Shape == shape.Flat || r.Shape == shape.WarmUp)
}

// worst judges each process and returns the worst. An interruption may have cut a process short,
// so that it is undecided. Such a process is ignored if a longer process passes.
func (j *Judge) worst(s *series, all []processValues) worstProcess {
	least := j.policy.Leak.MinFiles
	order := []Verdict{Pass, Undecided, Fail}
	worst := worstProcess{finding: Finding{
		Check: s.check, Verdict: Skipped, Subject: s.subject, Message: s.missing,
	}}
	longest, noted := 0, len(j.judged)
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
		j.noteGrowth(s, p.process, &r, w.finding.Verdict)
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
	worst.finding.worst, worst.growths = unfit.worst, [2]int{noted, len(j.judged)}
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
		first := j.tl.Files[w.of.files[w.begins()]]
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
