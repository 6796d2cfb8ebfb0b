package table_test

import (
	"testing"

	"vramsoak/parser/dialect/table"
)

// TestExamples: the example of a line is a text that its pattern reads, unless the pattern is only
// for torn lines.
func TestExamples(t *testing.T) {
	unreadable := []table.Mistake{
		{"example", "a line that can be read; if its numbers have no unit, add the key unit"},
	}
	for _, c := range []struct {
		pattern, unit, example string
		want                   []table.Mistake
	}{
		{`VRAM (?P<used>\d+);`, "MiB", "VRAM 12;", nil},
		{`VRAM (?P<used>\d+);`, "", "VRAM 12;", unreadable},
		{`VRAM (?P<used>\d+);`, "", "VRAM 12; VRAM 13;", unreadable},
		{`VRAM (?P<used>\w+) of (?P<total>\d+)`, "MiB", "VRAM many of 24", unreadable},
		{`file (?P<file>\S+) at (?P<used>\d+)`, "", "file a.wav at 12", unreadable},
		{`VRAM (?:(?P<used>\d+);|(?P<torn>\d))`, "MiB", "VRAM 12", unreadable},
		{`VRAM (?P<torn>\d)`, "", "VRAM 12", nil},
		{`VRAM (?P<used>\d+);`, "MiB", "RAM 12;", []table.Mistake{
			{"example", "a line that the pattern matches"},
		}},
	} {
		p := table.Program{Name: "ours", Lines: []table.Line{
			{Pattern: c.pattern, Unit: c.unit, Example: c.example},
		}}
		got := p.Mistakes()
		if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
			t.Errorf("%s with the example %q: got %v, want %v", c.pattern, c.example, got, c.want)
		}
	}
}
