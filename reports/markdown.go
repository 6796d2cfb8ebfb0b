package reports

import (
	"fmt"
	"io"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/reports/sink"
)

// MarkdownLimit is the most bytes that [Markdown] writes: GitHub takes 65,536 characters in a comment and 1 MiB in a job
// summary.
const MarkdownLimit = 60_000

// Markdown writes a summary for a CI job or a comment: the verdict, what did not pass, the memory pattern, and what passed
// folded away. Where that is longer than [MarkdownLimit], rows are left out and counted.
func Markdown(w io.Writer, tl *parser.Timeline, rep *check.Report) error {
	m := markdown{left: MarkdownLimit}
	findings := ordered(rep)
	m.add(fmt.Sprintf("## %s vramsoak: %s\n\n%s\n", verdictSign(rep.Verdict), escape(string(rep.Verdict), 40), escape(headline(rep), 400)))

	pattern := patternTable(makePattern(tl, rep))
	// What failed comes first, but not at the cost of the pattern: it is short unless the log is odd.
	reserve := min(pattern.size(), MarkdownLimit/3)
	m.table(findingTable(withVerdict(findings, check.Fail, check.Undecided)), reserve)
	m.notes(rep.Notes, reserve)
	m.table(pattern, 0)
	m.fold("Passed", findingTable(withVerdict(findings, check.Pass)))
	m.fold("Not judged", findingTable(withVerdict(findings, check.Skipped)))
	if _, err := io.WriteString(w, m.String()); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

func verdictSign(v check.Verdict) string {
	return map[check.Verdict]string{check.Pass: "✅", check.Fail: "❌", check.Undecided: "⚠️"}[v]
}

// A markdown is a summary that is being written within a limit of bytes.
type markdown struct {
	strings.Builder
	left int
}

func (m *markdown) add(s string) {
	m.left -= len(s)
	m.WriteString(s)
}

// A mdTable is a table with its title; rows are finished lines.
type mdTable struct {
	title  string
	header string
	rows   []string
}

func (t mdTable) size() int {
	return len(t.title) + len(t.header) + len(strings.Join(t.rows, "")) + moreRoom
}

// moreRoom is kept for the line that counts what was left out, and for the tags around it.
const moreRoom = 100

// table writes the rows that fit while reserve bytes stay free.
func (m *markdown) table(t mdTable, reserve int) {
	if len(t.rows) == 0 || len(t.title)+len(t.header)+moreRoom+reserve > m.left {
		return
	}
	m.add(t.title + t.header)
	for i, row := range t.rows {
		if len(row)+moreRoom+reserve > m.left {
			m.add(fmt.Sprintf("\n%s more; the JSON report has them all.\n", plural(len(t.rows)-i, "row")))
			return
		}
		m.add(row)
	}
}

// notes writes a list of what is to be known beside the findings, as far as there is room.
func (m *markdown) notes(notes []string, reserve int) {
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

// fold writes a table inside a block that opens on a click.
func (m *markdown) fold(title string, t mdTable) {
	open, end := fmt.Sprintf("\n<details><summary>%s: %s</summary>\n", title, number(len(t.rows))), "\n</details>\n"
	if len(t.rows) == 0 || len(open)+len(end)+len(t.header)+2*moreRoom > m.left {
		return
	}
	m.add(open)
	m.table(t, len(end))
	m.add(end)
}

// findingTable is findings as rows.
func findingTable(findings []check.Finding) mdTable {
	t := mdTable{
		header: "\n| Verdict | Check | Subject | File | Measured | Limit | Finding |\n|---|---|---|--:|--:|:--|---|\n",
	}
	for _, f := range findings {
		file := ""
		if f.File > 0 {
			file = number(f.File)
		}
		message := escape(f.Message, 600)
		if f.At != nil {
			message += " (" + escape(location(f), 200) + ")"
		}
		t.rows = append(t.rows, fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", verdictWord(f), escape(f.Check, 60),
			escape(f.Subject, 120), file, measured(f), limit(f), message))
	}
	return t
}

// patternTable is the memory pattern as rows.
func patternTable(p pattern) mdTable {
	t := mdTable{
		title:  "\n" + escape(p.title(), 400) + "\n",
		header: "\n| Checkpoint | Level | | Freed |\n|---|--:|---|---|\n",
	}
	const cells = 24
	for _, s := range p.steps {
		n := p.filled(s.level, cells)
		freed := s.freed
		if s.verdict != "" {
			freed = strings.TrimRight(freed+" "+verdictSign(s.verdict), " ")
		}
		t.rows = append(t.rows, fmt.Sprintf("| %s | %s | `%s` | %s |\n", escape(s.name, 120), parser.FormatBytes(s.level),
			strings.Repeat("█", n)+strings.Repeat("─", cells-n), freed))
	}
	return t
}

// escape makes text from a log show as it is, in one line of a table, at most n runes of it.
func escape(s string, n int) string { return sink.Markdown(shorten(sink.Line(s), n)) }
