package plots

import (
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// nameLength is the most runes of a name that a headline shows. A longer name would leave no room
// for the size of what was found.
const nameLength = 60

// Headline returns the title of a run's plot: the verdict, its cause, and how large that is.
func Headline(rep *check.Report) string {
	verdict := strings.ToUpper(string(rep.Verdict))
	short := *rep
	short.Findings = slices.Clone(rep.Findings)
	for i := range short.Findings {
		f := &short.Findings[i]
		f.Subject = wording.Shorten(sink.Line(f.Subject), nameLength)
	}
	switch f := Decisive(&short); {
	case rep.Verdict == check.Pass:
		return verdict + ": " + wording.Plural(len(wording.WithVerdict(rep.Findings, check.Pass)),
			"check") + " passed"
	case f == nil:
		return verdict + ": no check has the data that it needs"
	case rep.Verdict == check.Fail:
		brief := wording.Brief(*f)
		others := strings.TrimPrefix(wording.Cause(&short), brief)
		return verdict + ": " + sink.Line(sized(brief, *f)+others)
	default:
		return verdict + ": " + sink.Line(wording.Brief(*f))
	}
}

// sized returns a finding in a few words, with what it measured if the words do not say it.
func sized(brief string, f check.Finding) string {
	measured := wording.Measured(f)
	if f.Unit == check.Count || strings.Contains(brief, strings.TrimSuffix(measured, check.PerFile)) {
		return brief
	}
	return brief + " (" + measured + ")"
}

// Decisive returns the finding that the headline is about, or nil.
func Decisive(rep *check.Report) *check.Finding {
	for i := range rep.Findings {
		f := &rep.Findings[i]
		if f.Verdict == rep.Verdict && f.Verdict != check.Pass && f.Gates && f.Waived == nil {
			return f
		}
	}
	return nil
}
