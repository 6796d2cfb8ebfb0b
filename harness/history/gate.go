package history

import (
	"fmt"
	"slices"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/history/changepoint"
)

// MinRuns is how many runs a suite must have to be judged.
const MinRuns = changepoint.MinBefore + 1

// What makes a regression the one that was accepted: the same series, a first bad run at most so many runs away, or as many as
// [Change.Off] says, because more runs show the place more clearly, and a step at most so many times as large.
const (
	sameWithin = 3
	sameStep   = 1.5
)

// An Outcome is a suite's judgement: a regression that lasts and is not known fails it.
type Outcome struct {
	Verdict check.Verdict
	Reason  string // why it is undecided
	Newest  Entry  // the run up to which it was judged
	Judged  int    // series
	New     []Change
	Known   []Known
}

// A Known regression was accepted.
type Known struct {
	Change
	Acceptance
}

// Gate judges the newest run against those before it. A regression that was mended since fails nothing.
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
			fmt.Sprintf("run %d measured nothing: none of its files ended well", o.Newest.ID)
	case o.Judged == 0:
		o.Verdict, o.Reason = check.Undecided, fmt.Sprintf(
			"suite %s has %d comparable runs; at least %d are needed", h.Suite, most, MinRuns)
	}
	for _, c := range h.Changes(h.Judged(), policy) {
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

// same says whether a regression is the one that was accepted.
func (h *History) same(c Change, a Acceptance) bool {
	first := slices.IndexFunc(h.Runs, func(e Entry) bool { return e.ID == a.Run })
	away := max(c.Bad-first, first-c.Bad)
	return first >= 0 && c.Series.SeriesKey == a.SeriesKey && away <= max(sameWithin, c.Off) &&
		c.Step() <= sameStep*a.Step
}

// Acceptances are what is to be stored when a person accepts the new regressions.
func (o Outcome) Acceptances(h *History, at time.Time, note string) []Acceptance {
	var out []Acceptance
	for _, c := range o.New {
		out = append(out, Acceptance{SeriesKey: c.Series.SeriesKey, Run: h.Runs[c.Bad].ID, Step: c.Step(),
			At: at, Note: note})
	}
	return out
}
