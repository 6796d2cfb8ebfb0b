package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"vramsoak/reports/sink"
)

// Options describe where the text is shown. The zero value is for a pipe or a file: the text has at
// most 100 columns and, except for names from the log, only ASCII.
type Options struct {
	Terminal bool // the text has signs, and tables have lines
	Width    int  // most columns of a line; 0 is 80 on a terminal and 100 elsewhere
	Color    bool // ANSI colours
	Verbose  bool // a report also has the table of all findings
}

// leastWidth is the smallest width in columns that a text is folded to.
const leastWidth = 40

// A writer collects the text of a report.
type writer struct {
	strings.Builder
	Options
}

func newWriter(opts Options) *writer {
	opts.Width = Columns(opts)
	return &writer{Options: opts}
}

// Columns returns how many columns a line may have.
func Columns(opts Options) int {
	switch {
	case opts.Width > 0:
		return max(opts.Width, leastWidth)
	case opts.Terminal:
		return 80
	}
	return 100
}

// flush writes the collected text to w.
func (t *writer) flush(w io.Writer) error {
	write := func(s string) error { _, err := io.WriteString(w, s); return err }
	if t.Color {
		write = func(s string) error { return sink.WriteStyled(w, s) }
	}
	if err := write(t.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// ascii replaces signs such as ≥ with ASCII, unless the output is a terminal.
func (t *writer) ascii(s string) string {
	if t.Terminal {
		return s
	}
	return strings.NewReplacer("≥", ">=", "≤", "<=").Replace(s)
}

// breaks escapes line ends and tabs in names. The report's own sentences have none.
var breaks = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`)

// wrap writes one line of prose, folded to the width. All lines but the first are indented.
func (t *writer) wrap(s, indent string) {
	if !t.Terminal {
		s = strings.ReplaceAll(s, "±", "+/-")
	}
	for _, line := range fold(breaks.Replace(s), t.Width, indent) {
		t.WriteString(line + "\n")
	}
}

// fold splits a text into lines of at most `width` columns. All lines but the first are indented. A
// word that is wider than a line, such as a path, is split too.
func fold(s string, width int, indent string) (lines []string) {
	line, columns := "", 0 // columns is the width of line
	begin := func() {
		lines = append(lines, line)
		line, columns = indent, len(indent)
	}
	blank := false // the line has a word
	for _, word := range words(s) {
		n := twwidth.Width(word)
		if blank {
			if columns+1+n > width {
				begin()
			} else {
				line, columns = line+" ", columns+1
			}
		}
		for columns+n > width {
			head := cutAt(word, width-columns)
			line += head
			begin()
			word = word[len(head):]
			n = twwidth.Width(word)
		}
		line, columns, blank = line+word, columns+n, true
	}
	return append(lines, line)
}

// cutAt returns the beginning of a word that is at most `width` columns wide. It ends after the
// last slash if that leaves at least half of the width.
func cutAt(word string, width int) string {
	head := widest(word, width)
	if i := strings.LastIndexByte(head, '/'); 2*twwidth.Width(head[:i+1]) >= width {
		return head[:i+1]
	}
	return head
}

// widest returns the longest beginning of a text that is at most `width` columns wide, but at least
// one rune.
func widest(s string, width int) string {
	columns := 0
	for i, c := range s {
		if columns += twwidth.Width(string(c)); columns > width && i > 0 {
			return s[:i]
		}
	}
	return s
}

// words splits a text at the blanks where a line may break. A line never breaks between a number
// and its unit, or in "[line 88]".
func words(s string) []string {
	var out []string
	for word := range strings.FieldsSeq(s) {
		n := len(out)
		switch unit, _, _ := strings.Cut(strings.TrimRight(word, ".,;:)"), "/"); unit {
		case "%", "B", "KiB", "MiB", "GiB", "TiB", "s":
			if n > 0 && strings.ContainsAny(out[n-1][:1], "(-+0123456789") {
				out[n-1] += " " + word
				continue
			}
		}
		if n > 0 && out[n-1] == "[line" {
			out[n-1] += " " + word
			continue
		}
		out = append(out, word)
	}
	return out
}

// continuation writes a line that continues the one before it.
func (t *writer) continuation(s string) {
	t.WriteString("  ")
	t.Width -= 2
	t.wrap(s, "    ")
	t.Width += 2
}
