// Package text writes reports as text for people: verdicts with their findings, comparisons,
// histories, calibrations, validations, profiles and memory snapshots. No line is wider than the
// terminal, or than 100 columns in a pipe. On a terminal, tables have lines and signs. In a pipe or
// a file, the text is plain ASCII.
package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/timeline"
	"vramsoak/reports/pattern"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// Report writes the verdict on a run: a headline with the answer, each finding that did not pass,
// with what follows from it and what to do, and one line for all that passed. If Options.Verbose is
// set, it also writes what [Details] writes.
func Report(w io.Writer, tl *timeline.Timeline, rep *check.Report, opts Options) error {
	t := newWriter(opts)
	t.headline(rep.Verdict, string(rep.Verdict), sink.Line(wording.Headline(rep)), "  ")
	groups := wording.Groups(rep)
	var deciding, others []wording.Group
	for _, g := range groups {
		switch {
		case g.Decides():
			deciding = append(deciding, g)
		case g.Verdict == check.Fail || g.Waived != nil: // noted, or waived
			others = append(others, g)
		}
	}
	t.groups(deciding)
	t.groups(others)
	t.passed(rep)
	t.notes(wording.Notes(rep))
	if opts.Verbose {
		if err := t.details(tl, rep); err != nil {
			return err
		}
	}
	return t.flush(w)
}

// Details writes the table of all findings, why checks were not judged, and the memory of a typical
// file.
func Details(w io.Writer, tl *timeline.Timeline, rep *check.Report, opts Options) error {
	t := newWriter(opts)
	if err := t.details(tl, rep); err != nil {
		return err
	}
	return t.flush(w)
}

func (t *writer) details(tl *timeline.Timeline, rep *check.Report) error {
	findings := wording.Sorted(rep)
	if err := t.findings(findings); err != nil {
		return err
	}
	t.otherAdvice(findings)
	t.skipped(wording.WithVerdict(findings, check.Skipped))
	t.pattern(pattern.Of(tl, rep))
	return nil
}

const (
	// groupsShown is the most findings with a cause of their own that are shown without Verbose.
	groupsShown = 10
	// consequencesShown is the most consequences of a finding that are shown without Verbose.
	consequencesShown = 5
)

// groups writes each finding with its message and place in the log. Below it are what follows from
// it and the advice.
func (t *writer) groups(groups []wording.Group) {
	shown := t.shown(len(groups), groupsShown)
	for _, g := range groups[:shown] {
		t.WriteByte('\n')
		t.judged(g.Verdict, t.verdictWord(g.Finding), wording.Named(g.Finding), withLocation(g.Finding))
		advice := slices.Clone(g.Advice)
		consequences := t.shown(len(g.Consequences), consequencesShown)
		for _, f := range g.Consequences {
			advice = append(advice, f.Advice...)
		}
		for _, f := range g.Consequences[:consequences] {
			place := wording.Location(f)
			if f.At != nil && g.At != nil && f.At.Path == g.At.Path {
				place = fmt.Sprintf("line %d", f.At.Line)
			}
			if place != "" {
				place = " [" + place + "]"
			}
			t.below(t.paint(f.Verdict, "so"), sink.Line(wording.Consequence(f))+place)
		}
		if more := len(g.Consequences) - consequences; more > 0 {
			t.below(t.paint(check.Fail, "so"), wording.Plural(more, "more finding")+
				" follow from this; --verbose shows all")
		}
		for _, text := range advice {
			t.below("advice:", sink.Line(text))
		}
	}
	more := 0
	for i := range groups[shown:] {
		more += groups[shown+i].Stands()
	}
	if more > 0 {
		t.WriteByte('\n')
		t.wrap("and "+wording.Plural(more, "more finding")+"; --verbose shows all", "  ")
	}
}

// shown returns how many of n items to show: at most `most`, unless Verbose is set.
func (t *writer) shown(n, most int) int {
	if t.Verbose {
		return n
	}
	return min(n, most)
}

// below writes an indented line under a finding: "  so peak, high-water mark: ...".
func (t *writer) below(word, s string) {
	t.WriteString("  ")
	t.Width -= 2
	t.wrap(word+" "+s, "     ")
	t.Width += 2
}

// passed writes one line for all checks that passed, with what they measured, and one for those
// without data.
func (t *writer) passed(rep *check.Report) {
	t.WriteByte('\n')
	if passed := wording.PassedChecks(rep); passed != "" {
		t.wrap(t.paint(check.Pass, "passed")+": "+sink.Line(passed), "  ")
	}
	if unsure := wording.Unsure(rep); len(unsure) > 0 {
		t.wrap(t.paint(check.Undecided, "undecided")+", without effect on the verdict: "+
			strings.Join(unsure, ", ")+" (--verbose says why)", "  ")
	}
	if missing := wording.NotJudged(rep); len(missing) > 0 {
		them := "them"
		if len(missing) == 1 {
			them = "it"
		}
		t.wrap(fmt.Sprintf("%s: %s; the log has no data for %s (--verbose says why)",
			t.paint(check.Skipped, "not judged"), strings.Join(missing, ", "), them), "  ")
	}
}

// withLocation returns a finding's message. If the finding did not pass, the log line that shows it
// follows in brackets.
func withLocation(f check.Finding) string {
	if f.At == nil || f.Verdict == check.Pass {
		return sink.Line(f.Message)
	}
	return sink.Line(f.Message) + " [" + wording.Location(f) + "]"
}

// skipped writes one line for each finding that was not judged.
func (t *writer) skipped(findings []check.Finding) {
	if len(findings) == 0 {
		return
	}
	t.WriteByte('\n')
	for _, f := range findings {
		t.judged(check.Skipped, "skipped", wording.Named(f), f.Message)
	}
}

// notes writes the report's notes.
func (t *writer) notes(notes []string) {
	if len(notes) > 0 {
		t.WriteByte('\n')
	}
	for _, note := range notes {
		t.wrap("note: "+sink.Line(note), "  ")
	}
}
