package markdown

import (
	"fmt"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// limit is the most bytes in a summary. GitHub accepts 65,536 characters in a comment and 1 MiB in
// a job summary.
const limit = 60_000

func verdictSign(v check.Verdict) string {
	return map[check.Verdict]string{check.Pass: "✅", check.Fail: "❌", check.Undecided: "⚠️"}[v]
}

// A document is a summary that is being written. It counts how many bytes may still be written.
type document struct {
	strings.Builder
	left int
}

func (m *document) add(s string) {
	m.left -= len(s)
	m.WriteString(s)
}

// A table is a Markdown table. Its rows are finished lines.
type table struct {
	title  string
	header string
	rows   []string
}

func (t table) size() int {
	return len(t.title) + len(t.header) + len(strings.Join(t.rows, "")) + moreRoom
}

// moreRoom is how many bytes are kept free for the line that counts the omitted rows, and for the
// tags around the table.
const moreRoom = 100

// table writes the table with as many rows as fit. It leaves `reserve` bytes free for later parts.
func (m *document) table(t table, reserve int) {
	if len(t.rows) == 0 || len(t.title)+len(t.header)+moreRoom+reserve > m.left {
		return
	}
	m.add(t.title + t.header)
	for i, row := range t.rows {
		if len(row)+moreRoom+reserve > m.left {
			m.add(fmt.Sprintf("\n%s more; the JSON report has them all.\n",
				wording.Plural(len(t.rows)-i, "row")))
			return
		}
		m.add(row)
	}
}

// fold writes a table inside a block that opens when the reader clicks on it.
func (m *document) fold(title string, t table) {
	open, end := fmt.Sprintf("\n<details><summary>%s: %s</summary>\n", title,
		wording.Count(len(t.rows))), "\n</details>\n"
	if len(t.rows) == 0 || len(open)+len(end)+len(t.header)+2*moreRoom > m.left {
		return
	}
	m.add(open)
	m.table(t, len(end))
	m.add(end)
}

// escape returns at most n runes of a text from a log, escaped so that Markdown shows the text
// unchanged in one cell.
func escape(s string, n int) string { return sink.Markdown(wording.Shorten(sink.Line(s), n)) }
