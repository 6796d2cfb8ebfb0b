package parser

import (
	"os"
	"strings"
	"testing"

	"vramsoak/parser/dialect"
)

// TestDialectsDocumented: the table of docs/reference/dialects.md has exactly one row for each
// dialect.
func TestDialectsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/reference/dialects.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "| `--dialect` |")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string]bool{}
	for row := range strings.Lines(table) {
		if rest, ok := strings.CutPrefix(row, "| `"); ok {
			name, _, _ := strings.Cut(rest, "`")
			rows[name] = true
		}
	}
	for _, name := range dialect.Names() {
		if !rows[name] {
			t.Errorf("docs/reference/dialects.md: expected a row for the dialect `%s`, found none", name)
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("docs/reference/dialects.md has a row for `%s`, which is no dialect", name)
	}
}
