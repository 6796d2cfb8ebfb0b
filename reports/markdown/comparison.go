package markdown

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/reports/wording"
)

// Comparison writes a comparison of two runs as a summary for a CI job or a comment.
func Comparison(w io.Writer, c *compare.Comparison, verdict check.Verdict) error {
	m := document{left: limit}
	m.add(fmt.Sprintf("## %s vramsoak compare: %s\n\n%s\n\n- base: %s\n- new: %s\n",
		verdictSign(verdict), verdict,
		escape(wording.ComparisonHeadline(c), 400), escape(wording.Run(c.Base), 400),
		escape(wording.Run(c.New), 400)))
	for _, r := range c.Remarks {
		m.add("- note: " + escape(r, 400) + "\n")
	}
	for _, f := range c.FileFindings("") {
		m.add(fmt.Sprintf("- **%s** %s: %s\n", f.Verdict, escape(f.Subject, 120),
			escape(f.Message, 600)))
	}
	// The summary has no room for the sentences on the changes left out.
	changes, _ := wording.ListChanges(wording.WorstFirst(c.Changes))
	table := func(verdicts ...check.Verdict) table {
		t := table{header: "\n| Verdict | Metric | Base | New | Change | Files | p | A usual " +
			"file, 95 % | Finding |\n" +
			"|---|---|--:|--:|--:|--:|--:|--:|---|\n"}
		for _, c := range changes {
			if slices.Contains(verdicts, c.Verdict) {
				cells := wording.ChangeCells(c)
				cells[0] = escape(cells[0], 120)
				t.rows = append(t.rows, fmt.Sprintf("| %s | %s | %s |\n", c.Verdict,
					strings.Join(cells, " | "), escape(c.Message, 600)))
			}
		}
		return t
	}
	m.table(table(check.Fail, check.Undecided), 0)
	m.fold("Passed", table(check.Pass))
	m.fold("Not compared", table(check.Skipped))
	if _, err := io.WriteString(w, m.String()); err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	return nil
}
