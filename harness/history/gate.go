package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/history/changepoint"
	"vramsoak/harness/waiver"
)

// MinRuns is the smallest number of runs that a suite needs to be judged.
const MinRuns = changepoint.MinRuns

// A regression counts as accepted if a stored acceptance matches it in three ways:
//
//   - Both are in the same series.
//   - Their first bad runs are at most sameWithin runs apart, or [Change.Off] runs if that is more.
//     The first bad run may move, because more runs show its position more exactly.
//   - The step is at most sameStep times as large as the accepted step.
//
// Of two regressions that match, only the nearest was accepted.
const (
	sameWithin = 3
	sameStep   = 1.5
)

// An Outcome is the judgement of a suite. It fails if a regression lasts until the newest run,
// and no person accepted it or the acceptance has ended.
type Outcome struct {
	Verdict check.Verdict
	Reason  string // why the verdict is undecided
	Newest  Entry  // the newest run of the suite
	Judged  int    // number of series that were judged
	New     []Change
	Known   []Known
	Ended   []Known // regressions that were accepted, and whose acceptance ended before the newest run
	// Drifts are the drifts that explain regressions of New, Known or Ended: see [Drift.Steps].
	Drifts []Drift
	// Noted are the drifts without steps. The outcome does not fail because of them.
	Noted []Drift
	// Withdrawn are the regressions that were reported until the run before the newest one.
	Withdrawn []Withdrawn
}

// A Known is a regression that a person accepted.
type Known struct {
	Change
	Acceptance
}

// Gate judges the newest run of the suite against the runs before it. A regression that a later
// run fixed does not fail the suite.
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
			"suite %s has %s that can be compared; at least %d are needed: add more with vramsoak "+
				"history add", h.Suite, check.Plural(most, "run"), MinRuns)
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
		switch a, holds := h.acceptanceOf(c, changes, o.Newest.Started); {
		case a == nil:
			o.New = append(o.New, c)
		case holds:
			o.Known = append(o.Known, Known{c, *a})
		default:
			o.Ended = append(o.Ended, Known{c, *a})
		}
	}
	if len(o.New)+len(o.Ended) > 0 {
		o.Verdict, o.Reason = check.Fail, ""
	}
	for _, d := range h.Drifts(h.Judged(), changes, policy) {
		if len(d.Steps) > 0 {
			o.Drifts = append(o.Drifts, d)
		} else {
			o.Noted = append(o.Noted, d)
		}
	}
	return o
}

// Reported returns the new regressions for a report. A drift replaces the steps that it explains,
// unless some of them are not new: a report must not repeat what a person accepted.
func (o Outcome) Reported() (steps []Change, drifts []Drift) {
	old := func(c Change) bool { return !slices.Contains(o.New, c) }
	for _, d := range o.Drifts {
		if !slices.ContainsFunc(d.Steps, old) {
			drifts = append(drifts, d)
		}
	}
	return Unexplained(o.New, drifts), drifts
}

// acceptanceOf returns an acceptance that covers the regression c, which is one of changes, and
// whether it holds at this time. It returns nil if there is none. If there are several, one that
// holds comes first.
func (h *History) acceptanceOf(
	c Change, changes []Change, at time.Time,
) (a *Acceptance, holds bool) {
	for i := range h.Accepted {
		of := &h.Accepted[i]
		away, same := h.same(c, *of)
		if !same || slices.ContainsFunc(changes, func(other Change) bool {
			nearer, same := h.same(other, *of)
			return same && other.Lasting && nearer < away
		}) {
			continue
		}
		if of.Waiver.Holds(at) {
			return of, true
		}
		a = cmp.Or(a, of)
	}
	return a, false
}

// same reports whether the acceptance a may be of the regression c, and how many runs away c is
// from the run at which a was given.
func (h *History) same(c Change, a Acceptance) (away int, same bool) {
	first := slices.IndexFunc(h.Runs, func(e Entry) bool { return e.ID == a.Run })
	away = max(c.Bad-first, first-c.Bad)
	return away, first >= 0 && c.Series.SeriesKey == a.SeriesKey && away <= max(sameWithin, c.Off) &&
		c.Step() <= sameStep*a.Step
}

// Acceptances returns what must be stored if a person accepts the regressions for which the
// outcome fails. The parameter at is when the person accepts them.
func (o Outcome) Acceptances(h *History, at time.Time, w waiver.Waiver) []Acceptance {
	failing := slices.Clone(o.New)
	for _, k := range o.Ended {
		failing = append(failing, k.Change)
	}
	var out []Acceptance
	for _, c := range failing {
		out = append(out, Acceptance{
			SeriesKey: c.Series.SeriesKey, Run: h.Runs[c.Bad].ID, Step: c.Step(), At: at, Waiver: w,
		})
	}
	return out
}
