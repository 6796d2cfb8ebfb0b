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

// A causeInput holds what the rules of [Judge.findCauses] need to know of a finding that fails.
type causeInput struct {
	lane record.Lane
	// file is the file that decided the finding. It is nil if the timeline does not have the file.
	file *timeline.File
	// bytes is how far a peak is above its limit.
	bytes int64
	// rise is how much more was allocated after a cleanup than after the same cleanup in the first
	// file or, in the first file, what it left.
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
		if f.Verdict != Fail || f.causeInput == nil {
			continue
		}
		if f.cause = f.causeInput.cause; f.cause != nil {
			continue
		}
		for k := range j.findings {
			of := &j.findings[k]
			if k != i && of.Verdict == Fail && of.causeInput != nil && j.follows(f, of, k < i) {
				f.cause = of.named()
				break
			}
		}
	}
}

// causeOfDrift returns the finding that a cleanup or stage frees too little, if the drift is that
// of its recovery, or nil.
func (j *Judge) causeOfDrift(f *Finding) *Cause {
	for i := range j.findings {
		of := &j.findings[i]
		if of.Check == Recovery && of.Verdict == Fail && f.Subject == RecoveryOf+of.Subject {
			return of.named()
		}
	}
	return nil
}

// follows reports whether the finding f follows from the finding `of`. The parameter later is set
// if f comes after `of` in the report.
func (j *Judge) follows(f, of *Finding, later bool) bool {
	a, b := f.causeInput, of.causeInput
	switch {
	case f.Check == Completeness && f.Subject == Files:
		return of.Check == OutOfMemory && a.outOfMemory
	case f.Check == Peak && of.Check == OutOfMemory:
		// The highest reading is that of the failed allocation.
		return a.lane.Device == b.lane.Device && f.At != nil && of.At != nil && *f.At == *of.At
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
	if f.Check == Recovery {
		return explained > 0 && float64(a.rise) <= explained
	}
	return explained > 0 && float64(a.bytes) <= explained
}

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

// grownBy returns by how many bytes the ledger had grown when the file ended, and what one more
// file adds, because the memory of a file is taken before its end. It returns 0 if the growth began
// later.
func (j *Judge) grownBy(g *grownLedger, file *timeline.File) float64 {
	if file == nil || g.of.Unit != Bytes {
		return 0
	}
	began, p, slope := j.tl.Files[g.firstFile()], g.w.of, *g.w.finding.Measured
	if file.Process != p.process { // its levels are not kept: they grew at about the same rate
		files := 0
		for _, f := range j.tl.Files {
			if f.Process == file.Process && f.Pos.Line <= file.Pos.Line {
				files++
			}
		}
		return float64(files+1) * slope
	}
	if file.Pos.Line < began.Pos.Line {
		return 0
	}
	return g.total(func(f int32) bool { return j.tl.Files[f].Pos.Line <= file.Pos.Line }) + slope
}

// total returns by how much the ledger grew from its first value to the last one of the wanted
// files.
func (g *grownLedger) total(wanted func(file int32) bool) float64 {
	p, first, last := g.w.of, math.NaN(), math.NaN()
	for i, v := range p.values {
		switch {
		case isUnknown(v) || !wanted(p.files[i]):
		case isUnknown(first):
			first, last = v, v
		default:
			last = v
		}
	}
	if isUnknown(last) {
		return 0
	}
	return max(0, last-first)
}

// alikeRates is the ratio by which the rates of two devices may differ if their growth has one
// cause.
const alikeRates = 0.25

// sameElsewhere reports whether a ledger grows on another device or rank just as another one does:
// from about the same file on, in the same stage, and at about the same rate.
func (g *grownLedger) sameElsewhere(of *grownLedger, f, other *Finding) bool {
	if g.of != of.of || f.Stage != other.Stage || g.lane == nil || of.lane == nil ||
		g.lane == of.lane {
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

// regressionCause returns the finding of this run that explains why a metric got worse since
// another run, or nil: failed files, the growth of the metric's ledger, the leak under a peak, or
// the recovery that the metric measures.
func regressionCause(f *Finding, findings []Finding) *Cause {
	metric, _ := withoutReference(f.Subject)
	metric, grows := strings.CutPrefix(metric, GrowthOf)
	for i := range findings {
		of := &findings[i]
		if of.Verdict != Fail || !of.Gates || of.causeInput == nil {
			continue
		}
		name, mark, _ := strings.Cut(of.Subject, " (")
		switch {
		case metric == FailedFiles && of.Check == Completeness && of.Subject == Files,
			grows && of.causeInput.growth != nil && metric == of.Subject,
			grows && of.causeInput.growth != nil && len(of.Also) > 0 && isGrown(of, metric),
			within(f, of) && metric == of.Subject,
			within(f, of) && of.Check == Leak && name == IdleLevel && isPeakOf(metric, mark),
			of.Check == Recovery && metric == RecoveryOf+of.Subject:
			return of.named()
		}
	}
	return nil
}

// within reports whether a level got worse by no more than a ledger grew in this run.
func within(f, of *Finding) bool {
	g := of.causeInput.growth
	return g != nil && f.Measured != nil &&
		*f.Measured <= g.total(func(int32) bool { return true })+*g.w.finding.Measured
}

// isPeakOf reports whether a metric is a peak of the device and rank with this mark.
func isPeakOf(metric, mark string) bool {
	name, of, _ := strings.Cut(metric, " (")
	return of == mark && IsPeak(name)
}

// isGrown reports whether a ledger's name is that of one of the checks that share the finding.
func isGrown(f *Finding, ledger string) bool {
	return slices.ContainsFunc(f.Also, func(check string) bool {
		of := LedgerOf(check)
		return of != nil && of.Name == ledger
	})
}
