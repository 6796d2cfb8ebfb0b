package text

import (
	"fmt"
	"io"
	"strings"

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
		s = t.ascii(strings.ReplaceAll(s, "±", "+/-"))
	}
	for _, line := range Fold(breaks.Replace(s), t.Width, indent) {
		t.WriteString(line + "\n")
	}
}

// continuation writes a line that continues the one before it.
func (t *writer) continuation(s string) {
	t.WriteString("  ")
	t.Width -= 2
	t.wrap(s, "    ")
	t.Width += 2
}
