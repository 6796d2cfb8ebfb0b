package check

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A Cause names the finding that another finding follows from, by its check and its subject.
type Cause struct {
	Check   string `json:"check"`
	Subject string `json:"subject"`
}

// facts holds what the rules of [Judge.findCauses] need to know of a finding that fails.
type facts struct {
	lane record.Lane
	// file is the file that decided the finding. It is nil if the timeline does not have the file.
	file *timeline.File
	// bytes is how far a peak is above its limit, or how much memory a cleanup left allocated.
	bytes int64
	// rise is how much more was allocated after a cleanup than after the same cleanup in the first file.
	rise int64
	// from and to are the first and the last line of the cleanup or stage of a recovery.
	from, to int
	// growth is the ledger that grows, if the finding is on growth.
	growth *grownLedger
	// outOfMemory is set if every file that failed ran out of memory.
	outOfMemory bool
	// cause is the cause that the check itself found.
	cause *Cause
}

// named returns the cause that names this finding.
func (f *Finding) named() *Cause { return &Cause{f.Check, f.Subject} }

// findCauses sets the cause of each finding that follows from another one. A person who mends the
// cause mends all of them. If a leak makes 40 recoveries fail, fills the card, and ends in a failed
// allocation, then only the leak must be mended.
func (j *Judge) findCauses() {
	for i := range j.findings {
		f := &j.findings[i]
		if f.Verdict == Fail && f.Check == Drift {
			f.cause = j.causeOfDrift(f)
		}
		if f.Verdict != Fail || f.facts == nil {
			continue
		}
		if f.cause = f.facts.cause; f.cause != nil {
			continue
		}
		for k := range j.findings {
			of := &j.findings[k]
			if k != i && of.Verdict == Fail && of.facts != nil && j.follows(f, of, k < i) {
				f.cause = of.named()
				break
			}
		}
	}
}

// causeOfDrift returns the finding that a cleanup or stage frees too little, if the drift is that of
// its recovery, or nil.
func (j *Judge) causeOfDrift(f *Finding) *Cause {
	for i := range j.findings {
		of := &j.findings[i]
		if of.Check == Recovery && of.Verdict == Fail && f.Subject == "recovery of "+of.Subject {
			return of.named()
		}
	}
	return nil
}

// follows reports whether the finding f follows from the finding `of`. The parameter later is set if
// f comes after `of` in the report.
func (j *Judge) follows(f, of *Finding, later bool) bool {
	a, b := f.facts, of.facts
	switch {
	case f.Check == Completeness && f.Subject == Files:
		return of.Check == OutOfMemory && a.outOfMemory
	case f.Check == Peak && of.Check == OutOfMemory:
		return a.lane.Device == b.lane.Device && a.file == b.file && a.file != nil
	case f.Check == Recovery && of.Check == Recovery: // a stage, and the cleanup inside it
		return a.lane == b.lane && a.file == b.file && a.from <= b.from && b.to <= a.to &&
			(a.from < b.from || b.to < a.to)
	case b.growth == nil || b.growth.lane == nil:
		return false
	case a.growth != nil:
		return later && a.growth.sameElsewhere(b.growth, f, of)
	case len(j.lanes) > 1 && a.lane != b.growth.lane.id || !b.growth.adds(f):
		return false
	}
	explained := j.grownBy(b.growth, a.file)
	if f.Check == Recovery { // what it left, or what it left more than before the growth
		return explained > 0 && (float64(a.bytes) <= explained*recoveryMargin ||
			a.rise > 0 && float64(a.rise) <= explained*recoveryMargin)
	}
	return explained > 0 && float64(a.bytes) <= explained
}

// recoveryMargin is the ratio up to which the memory that a cleanup left may exceed the growth that
// explains it. A single file may leak more than the estimated rate.
const recoveryMargin = 1.5

// adds reports whether the ledger's growth is part of what the finding f measured.
func (g *grownLedger) adds(f *Finding) bool {
	switch f.Check {
	case Recovery:
		return g.of.Check == Leak
	case Peak:
		switch f.Quantity {
		case "allocated", "buffers":
			return g.of.Check == Leak
		case "reserved":
			return g.of.Check == Leak || g.of.Check == Fragmentation
		}
		return true
	}
	return false
}

// grownBy returns by how many bytes the ledger had grown when the file ended. It returns 0 if the
// growth began later.
func (j *Judge) grownBy(g *grownLedger, file *timeline.File) float64 {
	if file == nil || g.of.Unit != Bytes {
		return 0
	}
	began, files := j.tl.Files[g.firstFile()], 0
	for _, f := range j.tl.Files {
		if f.Process != file.Process || file.Process == began.Process && f.Pos.Line < began.Pos.Line {
			continue
		}
		if files++; f == file {
			return float64(files) * *g.w.finding.Measured
		}
	}
	return 0
}

// alikeRates is the ratio by which the rates of two devices may differ if their growth has one cause.
const alikeRates = 0.25

// sameElsewhere reports whether a ledger grows on another device or rank just as another one does:
// from about the same file on, in the same stage, and at about the same rate.
func (g *grownLedger) sameElsewhere(of *grownLedger, f, other *Finding) bool {
	if g.of != of.of || g.lane == nil || of.lane == nil || g.lane == of.lane || f.Stage != other.Stage {
		return false
	}
	if f.File == 0 || other.File == 0 || max(f.File-other.File, other.File-f.File) > togetherWithin {
		return false
	}
	a, b := *f.Measured, *other.Measured
	return math.Abs(a-b) <= alikeRates*max(a, b)
}

// attribute sets the Cause of each finding that fails because of another one. Only a finding that
// decides the verdict can be a cause: one that is waived, or that does not gate, hides nothing.
func attribute(findings []Finding) {
	root := func(c *Cause) *Finding {
		i := slices.IndexFunc(findings, func(f Finding) bool {
			return f.Subject == c.Subject && (f.Check == c.Check || slices.Contains(f.Also, c.Check))
		})
		if i < 0 || findings[i].Verdict != Fail || !findings[i].Gates {
			return nil
		}
		return &findings[i]
	}
	for i := range findings {
		f := &findings[i]
		c := f.cause
		if f.Check == Regression { // package compare knows which metric follows from which
			c = cmp.Or(regressionCause(f, findings), f.Cause)
		}
		f.Cause = nil
		if f.Verdict != Fail || f.Waived != nil {
			continue
		}
		// The cause may follow from another finding. Each step leads to another finding, so more steps
		// than findings would be a circle.
		for range findings {
			of := (*Finding)(nil)
			if c != nil {
				of = root(c)
			}
			if of == nil || of == f {
				break
			}
			f.Cause = of.named()
			c = of.cause
		}
	}
}

// regressionCause returns the cause of a finding that a metric has got worse since another run: the
// finding that the metric's ledger grows, or that files ran out of memory.
func regressionCause(f *Finding, findings []Finding) *Cause {
	metric, _, _ := strings.Cut(f.Subject, ", against ")
	metric = strings.TrimPrefix(metric, "growth of ")
	for i := range findings {
		of := &findings[i]
		if of.Verdict != Fail || !of.Gates || of.facts == nil {
			continue
		}
		name, mark, _ := strings.Cut(of.Subject, " (")
		switch {
		case metric == "failed files" && of.Check == Completeness && of.Subject == Files,
			of.facts.growth != nil && metric == of.Subject,
			of.facts.growth != nil && len(of.Also) > 0 && isGrown(of, metric),
			of.Check == Leak && name == IdleLevel && isPeak(metric, mark),
			of.Check == Recovery && metric == "recovery of "+of.Subject:
			return of.named()
		}
	}
	return nil
}

// isPeak reports whether a metric is a peak of the device and rank with this mark.
func isPeak(metric, mark string) bool {
	name, of, _ := strings.Cut(metric, " (")
	return of == mark && (name == "peak" || name == PeakReserved || strings.HasPrefix(name, "peak of "))
}

// isGrown reports whether a ledger's name is that of one of the checks that share the finding.
func isGrown(f *Finding, ledger string) bool {
	return slices.ContainsFunc(Ledgers, func(l Ledger) bool {
		return l.Name == ledger && slices.Contains(f.Also, l.Check)
	})
}
