package plots

import (
	"slices"
	"strings"
	"testing"
)

func TestClauses(t *testing.T) {
	sty := Text(TextSize, Ink, 0, 0)
	long := strings.TrimSpace(strings.Repeat("memory ", 12))
	for _, c := range []struct {
		message string
		want    string
	}{
		{"grows; goes on", "grows; goes on"},
		{long + "; " + long, long},
		{"(killed; perhaps by the kernel); " + long, "(killed; perhaps by the kernel)"},
		{"", ""},
	} {
		if got := strings.Join(Clauses(sty, c.message, 220, 3), " "); got != c.want {
			t.Errorf("%q of %q, want %q", got, c.message, c.want)
		}
	}
	lines := Clauses(sty, strings.Repeat(long+" ", 5), 220, 3)
	if len(lines) != 3 || !strings.HasSuffix(lines[2], "...") {
		t.Errorf("got %d lines: %q", len(lines), lines)
	}
}

// TestWrap: every line fits, and together the lines have all of the text.
func TestWrap(t *testing.T) {
	sty := Text(TextSize, Ink, 0, 0)
	const width = 120
	for _, s := range []string{
		"", "one", "grows by 20.0 MiB a file, and 3 more findings",
		"a " + strings.Repeat("x", 300) + " b", strings.Repeat("\u00fc", 200), "a  b",
	} {
		lines := Wrap(sty, s, width)
		for _, line := range lines {
			if sty.Width(line) > width {
				t.Errorf("%q is too wide", line)
			}
		}
		if got, want := strings.Join(lines, ""), strings.ReplaceAll(s, " ", ""); strings.ReplaceAll(
			got, " ", "") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := Wrap(sty, strings.Repeat("\u00fc", 3), 1); !slices.Equal(got,
		[]string{"\u00fc", "\u00fc", "\u00fc"}) {
		t.Errorf("in no room: got %q", got)
	}
}
