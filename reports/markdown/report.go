// Package markdown writes summaries for CI jobs and comments on merge requests.
package markdown

import (
	"fmt"
	"io"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/pattern"
	"vramsoak/reports/wording"
)

// Report writes a summary for a CI job or a comment. It has the verdict, the findings that did not
// pass, the memory pattern, and the findings that passed in a folded block. If the summary is too
// long, Report omits rows and writes how many.
func Report(w io.Writer, tl *timeline.Timeline, rep *check.Report) error {
	m := document{left: limit}
	findings := wording.Sorted(rep)
	m.add(fmt.Sprintf("## %s vramsoak: %s\n\n%s\n", verdictSign(rep.Verdict),
		escape(string(rep.Verdict), 40), escape(wording.Headline(rep), 400)))

	pattern := patternTable(pattern.Of(tl, rep))
	// The findings that failed come first. They leave room for the pattern, which is usually short.
	reserve := min(pattern.size(), limit/3)
	m.table(findingTable(byCause(rep)), reserve)
	m.notes(wording.Advice(findings), reserve)
	m.notes(wording.Notes(rep), reserve)
	m.table(pattern, 0)
	m.fold("Passed", findingTable(wording.WithVerdict(findings, check.Pass)))
	m.fold("Not judged", findingTable(wording.WithVerdict(findings, check.Skipped)))
	if _, err := io.WriteString(w, m.String()); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

// byCause returns the findings that fail or are undecided, each followed by those that follow from
// it.
func byCause(rep *check.Report) (all []check.Finding) {
	for _, g := range wording.Groups(rep) {
		all = append(append(all, g.Finding), g.Consequences...)
	}
	return all
}

// notes lists as many of the report's notes as fit. It leaves `reserve` bytes free.
func (m *document) notes(notes []string, reserve int) {
	for i, note := range notes {
		item := "- " + escape(note, 400) + "\n"
		if i == 0 {
			item = "\n" + item
		}
		if len(item)+reserve > m.left {
			return
		}
		m.add(item)
	}
}

// findingTable returns findings as a table.
func findingTable(findings []check.Finding) table {
	t := table{
		header: "\n| Verdict | Check | Subject | File | Measured | Limit | Finding |\n" +
			"|---|---|---|--:|--:|:--|---|\n",
	}
	for _, f := range findings {
		file := ""
		if f.File > 0 {
			file = wording.Count(f.File)
		}
		message := escape(f.Message, 600)
		if f.At != nil {
			message += " (" + escape(wording.Location(f), 200) + ")"
		}
		verdict := wording.Verdict(f)
		if f.Cause != nil {
			verdict = "↳ " + verdict
		}
		t.rows = append(t.rows, fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n",
			verdict, escape(f.Check, 60),
			escape(f.Subject+wording.InShard(f), 200), file, wording.Measured(f), wording.Limit(f), message))
	}
	return t
}

// patternTable returns the memory pattern as a table.
func patternTable(p pattern.Pattern) table {
	t := table{
		title:  "\n" + escape(p.Title(), 400) + "\n",
		header: "\n| Checkpoint | Level | | Freed |\n|---|--:|---|---|\n",
	}
	const cells = 24
	for _, s := range p.Steps {
		n := p.Filled(s.Level, cells)
		freed := s.Freed + s.OfAll
		if s.Verdict != "" {
			freed = strings.TrimRight(freed+" "+verdictSign(s.Verdict), " ")
		}
		t.rows = append(t.rows, fmt.Sprintf("| %s | %s | `%s` | %s |\n", escape(s.Name, 120),
			record.FormatBytes(s.Level),
			strings.Repeat("█", n)+strings.Repeat("─", cells-n), freed))
	}
	return t
}
