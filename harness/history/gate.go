package history

import (
	"fmt"
	"slices"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/history/changepoint"
)

// MinRuns is the smallest number of runs that a suite needs to be judged.
const MinRuns = changepoint.MinRuns

// A regression counts as accepted if a stored acceptance matches it in three ways:
//
//   - Both are in the same series.
//   - Their first bad runs are at most sameWithin runs apart, or [Change.Off] runs if that is more.
//     The first bad run may move, because more runs show its position more exactly.
//   - The step is at most sameStep times as large as the accepted step.
const (
	sameWithin = 3
	sameStep   = 1.5
)

// An Outcome is the judgement of a suite. It fails if a regression lasts until the newest run and
// no person accepted it.
type Outcome struct {
	Verdict check.Verdict
	Reason  string // why the verdict is undecided
	Newest  Entry  // the newest run of the suite
	Judged  int    // number of series that were judged
	New     []Change
	Known   []Known
	// Withdrawn are the regressions that were reported until the run before the newest one.
	Withdrawn []Withdrawn
}

// A Known is a regression that a person accepted.
type Known struct {
	Change
	Acceptance
}

// Gate judges the newest run of the suite against the runs before it. A regression that a later run
// fixed does not fail the suite.
func (h *History) Gate(policy check.RegressionPolicy) Outcome {
	o := Outcome{Verdict: check.Pass}
	if len(h.Runs) == 0 {
		o.Verdict, o.Reason = check.Undecided,
			fmt.Sprintf("suite %s has no runs; vramsoak history add RUN adds one", h.Suite)
		return o
	}
	o.Newest = h.Runs[len(h.Runs)-1]
	most, measured := 0, false
	for _, s := range h.Judged() {
		most = max(most, len(s.Values))
		now := s.Runs[len(s.Runs)-1] == len(h.Runs)-1
		measured = measured || now
		if now && len(s.Values) >= MinRuns {
			o.Judged++
		}
	}
	switch {
	case !measured:
		o.Verdict, o.Reason = check.Undecided,
			fmt.Sprintf("run %d measured nothing: none of its files ended ok", o.Newest.ID)
	case o.Judged == 0:
		o.Verdict, o.Reason = check.Undecided, fmt.Sprintf(
			"suite %s has %d comparable runs; at least %d are needed", h.Suite, most, MinRuns)
	}
	changes, withdrawn := h.Changes(h.Judged(), policy)
	for _, w := range withdrawn {
		if w.Worse && w.Until == len(h.Runs)-1 {
			o.Withdrawn = append(o.Withdrawn, w)
		}
	}
	for _, c := range changes {
		if !c.Lasting {
			continue
		}
		if i := slices.IndexFunc(h.Accepted, func(a Acceptance) bool { return h.same(c, a) }); i >= 0 {
			o.Known = append(o.Known, Known{c, h.Accepted[i]})
		} else {
			o.New = append(o.New, c)
		}
	}
	if len(o.New) > 0 {
		o.Verdict, o.Reason = check.Fail, ""
	}
	return o
}

// same reports whether the acceptance a covers the regression c.
func (h *History) same(c Change, a Acceptance) bool {
	first := slices.IndexFunc(h.Runs, func(e Entry) bool { return e.ID == a.Run })
	away := max(c.Bad-first, first-c.Bad)
	return first >= 0 && c.Series.SeriesKey == a.SeriesKey && away <= max(sameWithin, c.Off) &&
		c.Step() <= sameStep*a.Step
}

// Acceptances returns what must be stored if a person accepts the new regressions of the outcome.
// The parameters at and note are the time and the person's remark.
func (o Outcome) Acceptances(h *History, at time.Time, note string) []Acceptance {
	var out []Acceptance
	for _, c := range o.New {
		out = append(out, Acceptance{
			SeriesKey: c.Series.SeriesKey, Run: h.Runs[c.Bad].ID, Step: c.Step(),
			At: at, Note: note,
		})
	}
	return out
}
