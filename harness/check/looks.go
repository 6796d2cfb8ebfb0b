package check

import (
	"cmp"
	"fmt"

	"vramsoak/parser/record"
)

// A run that is judged several times while it goes on has several chances of a false alarm. So its
// looks share a budget of false alarms. Look k gets the part 1/(k (k+1)) of it. These parts add up
// to 1 for any number of looks, so the looks need not be planned, and their dependence does not
// matter (Bonferroni). This is an error-spending function (Lan and DeMets, Discrete sequential
// boundaries for clinical trials, Biometrika 70, 1983).
//
// A run with --fail-fast can fail at a look and at its end. So both get half of runLevel.
const (
	looksLevel    = runLevel / 2
	failFastLevel = runLevel - looksLevel // at the end
)

// lookLevel returns the probability of a false alarm at a look, from 1 on.
func lookLevel(look int) float64 { return looksLevel / (float64(look) * float64(look+1)) }

// share returns the part of the run's rate of false alarms that the report may use.
func (j *Judge) share() float64 { return cmp.Or(j.Share, 1) }

// runLevel returns the probability of a false alarm for the whole report.
func (j *Judge) runLevel() float64 {
	share := j.share()
	if j.Look > 0 {
		return share * lookLevel(j.Look)
	}
	for i := range j.tl.Runs {
		if j.tl.Runs[i].Start.FailFast {
			return share * failFastLevel
		}
	}
	return share * runLevel
}

// earlyNote returns a note on why --fail-fast ended the run, or "".
func (j *Judge) earlyNote() string {
	for i := range j.tl.Runs {
		if run := &j.tl.Runs[i]; run.Early != nil && endedEarly(run.End) {
			return fmt.Sprintf("the run was %s: after %s it was certain: %s, %s: %s", byFailFast,
				Plural(run.Early.Files, "file"), run.Early.Check, run.Early.Subject, run.Early.Found)
		}
	}
	return ""
}

// endedEarly reports whether the run was ended early by --fail-fast.
func endedEarly(end *record.RunEnd) bool { return end != nil && end.Reason == record.FailFast }
