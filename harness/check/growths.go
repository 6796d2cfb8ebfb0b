package check

import (
	"slices"

	"vramsoak/harness/shape"
)

// A Growth is one series that was judged for growth: the values of a ledger in one process, on one
// device of one rank. The growth of a run of many shards is judged from the growths of all of them.
type Growth struct {
	Check, Subject string // as in the finding on the series
	// Ledger is the name of the ledger, or "" for a series of other values: readings that belong to
	// no file, drift, and throughput.
	Ledger  string
	Unit    string
	Limit   float64 // allowed growth from one value to the next, in Unit
	Process int     // as in [timeline.File]
	Files   int     // number of values
	// The following fields are those of [shape.Result]: the growth per file, its standard error, the
	// slopes of the two halves, how much rounding may hide or feign, the smallest level at which the
	// growth is certain, and the shape besides growth.
	Slope, Error, Early, Late, Rounding, Sure float64
	Shape                                     shape.Shape
	// Leaps is the number of steps up that may be growth in leaps: 2 steps, or 1 high last value.
	// Leapt is their sum. Both are 0 if the series has none, or if they are too small to matter.
	Leaps int
	Leapt float64
	// Verdict is that of the series at the level of its own report. If the report explains the growth
	// of the ledger in another way, so that its finding does not fail, no series of it fails.
	Verdict Verdict
	Gates   bool // the policy gates on Check
	// Shared is set if the values include the memory of other processes, so that growth may be theirs.
	Shared bool
}

// noteGrowth keeps a judged series for the report.
func (j *Judge) noteGrowth(s *series, process int, r *shape.Result, v Verdict) {
	g := Growth{
		Check: s.check, Subject: s.subject, Ledger: s.ledger, Unit: s.unit, Limit: s.limit,
		Process: process, Files: r.Files, Slope: r.Slope.Estimate, Error: r.Error,
		Early: r.Early, Late: r.Late, Rounding: r.Rounding, Sure: r.Sure, Shape: r.Shape, Verdict: v,
		Gates: slices.Contains(j.policy.Gate, s.check),
	}
	switch {
	case r.Shape == shape.Steps && r.Size > 0:
		g.Leaps, g.Leapt = 2, r.Size
	case r.Ends > 0:
		g.Leaps, g.Leapt = 1, r.Ends
	}
	j.judged = append(j.judged, g)
}

// settle makes the growths of a finding agree with its verdict, after the finding was explained.
func (j *Judge) settle(w *worstProcess) {
	for i := w.growths[0]; i < w.growths[1]; i++ {
		g := &j.judged[i]
		switch {
		case w.finding.Verdict == Skipped:
			g.Verdict = Skipped
		case w.finding.Verdict != Fail && g.Verdict == Fail:
			g.Verdict = w.finding.Verdict
		}
	}
}
