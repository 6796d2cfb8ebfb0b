package text

import (
	"io"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// Comparison writes a comparison of two runs and its verdict: the headline, the two runs, the
// message of each metric that did not pass, the worst first, and one line for those that passed. If
// Options.Verbose is set, a table of all metrics follows, and why some were not compared.
func Comparison(w io.Writer, c *compare.Comparison, verdict check.Verdict, opts Options) error {
	t := newWriter(opts)
	changes, others := wording.ListChanges(wording.WorstFirst(c.Changes))
	t.headline(verdict, string(verdict), wording.ComparisonHeadline(c), "  ")
	t.wrap("base: "+wording.Run(c.Base), "  ")
	t.wrap("new: "+wording.Run(c.New), "  ")
	for _, r := range c.Remarks {
		t.wrap("note: "+sink.Line(r), "  ")
	}
	for _, f := range c.FileFindings("") {
		t.WriteByte('\n')
		t.judged(f.Verdict, t.signedVerdict(f.Verdict), f.Subject, f.Message)
	}
	var bad []compare.Change
	for _, c := range changes {
		if c.Cause == "" && (c.Verdict == check.Fail || c.Verdict == check.Undecided) {
			bad = append(bad, c)
		}
	}
	shown := t.shown(len(bad), groupsShown)
	for _, c := range bad[:shown] {
		t.WriteByte('\n')
		t.judged(c.Verdict, t.signedVerdict(c.Verdict), c.Subject(), c.Message)
		var follow []string
		for _, other := range changes {
			if other.Cause == c.Subject() {
				follow = append(follow, wording.ChangeInBrief(other))
			}
		}
		if len(follow) > 0 {
			t.below(t.paint(check.Fail, "so"), t.list(follow))
		}
	}
	if more := len(bad) - shown; more > 0 {
		t.WriteByte('\n')
		t.wrap("and "+wording.Plural(more, "more metric")+"; --verbose shows all", "  ")
	}
	t.passedMetrics(changes)
	if t.Verbose {
		if err := t.changes(changes); err != nil {
			return err
		}
		t.notCompared(changes)
	}
	for _, more := range others {
		t.WriteByte('\n')
		t.wrap(more, "  ")
	}
	return t.flush(w)
}

// passedMetrics writes one line for the metrics that passed, and one for those that were not
// compared.
func (t *writer) passedMetrics(changes []compare.Change) {
	var passed, skipped []string
	for _, c := range changes {
		switch c.Verdict {
		case check.Pass:
			passed = append(passed, sink.Line(c.Subject()))
		case check.Skipped:
			skipped = append(skipped, sink.Line(c.Subject()))
		}
	}
	t.WriteByte('\n')
	if len(passed) > 0 {
		t.wrap(t.paint(check.Pass, "passed")+": "+t.list(passed)+" (--verbose has the numbers)", "  ")
	}
	if len(skipped) > 0 {
		t.wrap(t.paint(check.Skipped, "not compared")+": "+t.list(skipped)+" (--verbose says why)", "  ")
	}
}

// listShown is the most names in a line of names.
const listShown = 12

// list returns names in a line: "peak, idle level, and 3 more".
func (t *writer) list(names []string) string {
	shown := t.shown(len(names), listShown)
	text := strings.Join(names[:shown], ", ")
	if more := len(names) - shown; more > 0 {
		text += ", and " + wording.Count(more) + " more"
	}
	return text
}

// changeNumbers are the columns Base to Files.
var changeNumbers = []int{2, 3, 4, 5, 6}

// changes writes the table of compared metrics. On a terminal that is too narrow, it leaves out the
// interval and the p-value.
func (t *writer) changes(all []compare.Change) error {
	rows := [][]string{{
		"Verdict", "Metric", "Base", "New", "Change", "Files", "p",
		"A usual file, 95 %",
	}}
	for _, c := range all {
		if c.Verdict != check.Skipped {
			rows = append(rows, append([]string{t.paint(c.Verdict, t.signedVerdict(c.Verdict))},
				wording.ChangeCells(c)...))
		}
	}
	if len(rows) == 1 {
		return nil
	}
	t.WriteByte('\n')
	const metricColumn, kept = 1, 6
	if t.tableWidth(rows) > t.Width {
		for i := range rows {
			rows[i] = rows[i][:kept]
		}
	}
	numbers := slices.DeleteFunc(slices.Clone(changeNumbers), func(i int) bool {
		return i >= len(rows[0])
	})
	return t.table(rows, numbers, metricColumn)
}

// notCompared writes one line for each metric that was skipped.
func (t *writer) notCompared(changes []compare.Change) {
	first := true
	for _, c := range changes {
		if c.Verdict != check.Skipped {
			continue
		}
		if first {
			t.WriteByte('\n')
			first = false
		}
		t.judged(check.Skipped, "skipped", c.Subject(), c.Message)
	}
}
