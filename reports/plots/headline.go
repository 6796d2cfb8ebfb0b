package plots

import (
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// nameLength is the most runes of a name that a headline shows. A longer name would leave no room
// for the size of what was found.
const nameLength = 60

// Headline returns the title of a run's plot: the verdict, its cause, and how large that is.
func Headline(rep *check.Report) string {
	verdict := strings.ToUpper(string(rep.Verdict))
	if rep.Verdict == check.Pass {
		if answer := wording.PassedAnswer(rep); answer != "" {
			return verdict + ": " + answer
		}
		return verdict + ": " + wording.Plural(len(wording.WithVerdict(rep.Findings, check.Pass)),
			"check") + " passed"
	}
	short := *rep
	short.Findings = slices.Clone(rep.Findings)
	for i := range short.Findings {
		f := &short.Findings[i]
		f.Subject = shortName(f.Subject)
		if f.At != nil {
			f.At = &record.Position{
				Path: wording.ShortenPath(f.At.Path, nameLength), Line: f.At.Line,
			}
		}
		if f.Cause != nil {
			f.Cause = &check.Cause{Check: f.Cause.Check, Subject: shortName(f.Cause.Subject)}
		}
	}
	return verdict + ": " + sink.Line(wording.Worst(&short))
}

func shortName(subject string) string { return wording.Shorten(sink.Line(subject), nameLength) }

// Decisive returns the finding that the headline is about, or nil.
func Decisive(rep *check.Report) *check.Finding {
	if groups := wording.Deciding(rep); len(groups) > 0 {
		return &groups[0].Finding
	}
	return nil
}
