package metrics

import (
	"os"
	"strings"
	"testing"
)

// TestDocumented: docs/reference/metrics.md has a row with each metric and its labels, and names
// each ledger, source and state.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	has := func(want string) {
		t.Helper()
		if !strings.Contains(string(text), want) {
			t.Errorf("expected %q in the page", want)
		}
	}
	for _, m := range All {
		labels := strings.Join(m.Labels, ", ")
		if labels != "" {
			labels += " "
		}
		has("\n| `" + m.Name + "` | " + labels + "| ")
	}
	for _, l := range Ledgers {
		has("`" + l.Key + "`")
	}
	for _, word := range append([]string{Checkpoint, Sample, AtFileEnd}, States...) {
		has("`" + word + "`")
	}
}
