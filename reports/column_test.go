package reports_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/reports/records"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

// TestColumnsAreAligned: the columns after a name begin at the same place in every row, whatever
// characters the name has and however many of them are escaped.
func TestColumnsAreAligned(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	names := []string{
		"Plain", "\x00Red\x1b[31m", "gpj\u202eexe", "日本語", "e\u0301te\u0301", "👩‍🔬", "##[error]x",
		"##vso[task.x]", "::error::x",
		"\xff\xfe", "tab\tbed", strings.Repeat("日本語", 9), strings.Repeat("plain ", 9),
	}
	for i, name := range names {
		fmt.Fprintf(&log, "[GPU Memory] Ready for %d: Allocated: 0.00GB\n[GPU Memory] Before %s "+
			"Cleanup: Allocated: 2.00GB\n[GPU Memory] After %s Cleanup: Allocated: 1.50GB\n", i, name,
			name)
	}
	shown := func(write func(w io.Writer) error) string {
		var out strings.Builder
		if err := sink.Text(write)(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	b := &parser.Builder{}
	if err := b.Read(strings.NewReader(log.String()), "a.log"); err != nil {
		t.Fatal(err)
	}
	tl := b.Timeline()
	rep := check.Of(tl, check.DefaultPolicy())
	report := shown(func(w io.Writer) error {
		return text.Report(w, tl, rep, text.Options{Width: 140, Verbose: true})
	})
	table, pattern, _ := strings.Cut(report, "Memory pattern")
	for what, text := range map[string]struct{ text, column string }{
		"findings": {table, "25.0 %  >= 95 %"},
		"pattern":  {pattern, "1.50 GiB"},
		"records": {shown(func(w io.Writer) error {
			_, err := records.Write(w, parser.Read(strings.NewReader(log.String()), "a.log"),
				records.Options{Format: "table"})
			return err
		}), "allocated "},
	} {
		at, rows := -1, 0
		for line := range strings.Lines(text.text) {
			before, _, ok := strings.Cut(line, text.column)
			if !ok || what == "records" && (strings.Contains(line, "日本語日本語") ||
				strings.Contains(line, "plain plain")) {
				continue // in this format, a long name may push the columns to the right
			}
			rows++
			if width := twwidth.Width(before); at < 0 {
				at = width
			} else if width != at {
				t.Errorf("%s: the column begins at %d, expected %d: %q", what, width, at, line)
			}
		}
		if rows < len(names)-2 {
			t.Errorf("%s: %d rows, expected %d:\n%s", what, rows, len(names), text.text)
		}
	}
}
