package text

import (
	"strings"
	"testing"

	"vramsoak/parser/dialect/table"
)

// TestMarked: a long line of a trial is cut far from its groups. Groups may lie within each other.
func TestMarked(t *testing.T) {
	text := strings.Repeat("é", 60) + "after a mem=\x07" + strings.Repeat("z", 60)
	from := len(strings.Repeat("é", 60))
	trial := table.Trial{Text: text, Groups: []table.Group{
		{Name: "checkpoint", Start: from, End: from + 7},
		{Name: "file", Start: from + 6, End: from + 7},
		{Name: "used", Start: from + 12, End: from + 12},
		{Name: "rank", Start: from + 12, End: from + 13},
	}}
	want := "..." + strings.Repeat("é", 20) +
		"<checkpoint=after <file=a>> mem=<used=><rank=\\x07>" + strings.Repeat("z", 37) + "..."
	if got := markGroups(&trial); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := markGroups(&table.Trial{Text: "no \x1b groups"}); got != `no \x1b groups` {
		t.Errorf("got %q", got)
	}
}
