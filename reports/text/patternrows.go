package text

import (
	"fmt"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"vramsoak/parser/record"
	"vramsoak/reports/pattern"
	"vramsoak/reports/wording"
)

// patternRows is the most checkpoints of a pattern that are shown. A log with more probably has
// numbers in its checkpoint names.
const patternRows = 60

// pattern writes a line for each checkpoint: its level, a bar, and what a cleanup freed.
func (t *writer) pattern(p pattern.Pattern) {
	if len(p.Steps) == 0 {
		return
	}
	t.WriteByte('\n')
	t.wrap(p.Title(), "  ")
	name, after, ofAll := 0, 0, 0
	for _, s := range p.Steps {
		name = max(name, twwidth.Width(s.Name))
		after = max(after, twwidth.Width(s.Freed+t.verdictMark(s)))
		ofAll = max(ofAll, twwidth.Width(s.Freed+s.OfAll+t.verdictMark(s)))
	}
	const level, fewest = len("1023.99 MiB") - 2, 8
	name = min(name, 40, t.Width/2)
	cells := t.Width - 2 - name - 2 - level - 2 - 2
	wide := cells-ofAll >= fewest
	if wide {
		after = ofAll
	}
	below := cells-after < fewest // what a cleanup freed then has a line of its own
	if below {
		after = 0
	}
	cells = max(0, min(40, cells-after))
	full, empty := "█", "━"
	if !t.Terminal {
		full, empty = "#", "-"
	}
	for i, s := range p.Steps {
		if i == patternRows {
			t.WriteString("  and " + wording.Count(len(p.Steps)-i) + " more\n")
			break
		}
		n := p.Filled(s.Level, cells)
		bar := strings.Repeat(full, min(n, cells)) + strings.Repeat(empty, max(0, cells-n))
		freed := s.Freed
		if wide {
			freed += s.OfAll
		}
		freed += t.paint(s.Verdict, t.verdictMark(s))
		line := fmt.Sprintf("  %s  %*s  %s", wording.Pad(cutCell(s.Name, name), name),
			level, record.FormatBytes(s.Level), bar)
		if !below {
			line += "  " + freed
		}
		t.WriteString(strings.TrimRight(line, " ") + "\n")
		if below && freed != "" {
			t.below("", freed)
		}
	}
}

// verdictMark returns the end of a checkpoint's line: the verdict on its cleanup.
func (t *writer) verdictMark(s pattern.Step) string {
	if s.Verdict == "" {
		return ""
	}
	if !t.Terminal {
		return ", " + string(s.Verdict)
	}
	return " " + t.sign(s.Verdict)
}
