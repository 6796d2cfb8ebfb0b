package text

import (
	"io"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// Comparison writes a comparison of two runs and its verdict: a table with the worst metric first,
// then the message of each metric that did not pass.
func Comparison(w io.Writer, c *compare.Comparison, verdict check.Verdict, opts Options) error {
	t := newWriter(opts)
	changes, others := wording.ListChanges(wording.WorstFirst(c.Changes))
	t.headline(verdict, string(verdict), wording.ComparisonHeadline(c), "")
	t.WriteByte('\n')
	t.wrap("base: "+wording.Run(c.Base), "  ")
	t.wrap("new: "+wording.Run(c.New), "  ")
	for _, r := range c.Remarks {
		t.wrap("note: "+sink.Line(r), "  ")
	}
	for _, f := range c.FileFindings("") {
		t.WriteByte('\n')
		t.judged(f.Verdict, t.signedVerdict(f.Verdict), f.Subject, f.Message)
	}
	if err := t.changes(changes); err != nil {
		return err
	}
	for _, c := range changes {
		if c.Verdict == check.Fail || c.Verdict == check.Undecided {
			t.WriteByte('\n')
			t.judged(c.Verdict, t.signedVerdict(c.Verdict), c.Subject(), c.Message)
		}
	}
	t.notCompared(changes)
	for _, more := range others {
		t.WriteByte('\n')
		t.wrap(more, "  ")
	}
	return t.flush(w)
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
	if t.Terminal && tableWidth(rows) > t.Width {
		for i := range rows {
			rows[i] = rows[i][:kept]
		}
	}
	numbers := slices.DeleteFunc(slices.Clone(changeNumbers), func(i int) bool {
		return i >= len(rows[0])
	})
	return t.table(rows, numbers, metricColumn, t.fittingWidth(rows, metricColumn))
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
