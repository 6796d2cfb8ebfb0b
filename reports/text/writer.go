package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"vramsoak/reports/sink"
)

// Options describe where the text is shown. The zero value is for a pipe or a file: the text has
// one line for each finding and, except for names from the log, only ASCII.
type Options struct {
	Terminal bool
	Width    int  // columns of the terminal; 0 is 80
	Color    bool // ANSI colours, on a terminal only
}

// A writer collects the text of a report.
type writer struct {
	strings.Builder
	Options
	fold bool // prose and tables are folded even without a terminal
}

func newWriter(opts Options) *writer {
	switch {
	case !opts.Terminal:
		opts.Width = 100
	case opts.Width <= 0:
		opts.Width = 80
	}
	opts.Color = opts.Color && opts.Terminal
	return &writer{Options: opts}
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

// wrap writes one line of prose. On a terminal it folds the line and indents all lines but the
// first.
func (t *writer) wrap(s, indent string) {
	s = breaks.Replace(s)
	if !t.Terminal && !t.fold {
		t.WriteString(s + "\n")
		return
	}
	width := 0
	for i, word := range words(s) {
		n := twwidth.Width(word)
		switch {
		case i == 0:
		case width+1+n > t.Width:
			t.WriteString("\n" + indent)
			width = len(indent)
		default:
			t.WriteByte(' ')
			width++
		}
		t.WriteString(word)
		width += n
	}
	t.WriteByte('\n')
}

// words splits a text at the blanks where a line may break. A line never breaks between a number
// and its unit.
func words(s string) []string {
	var out []string
	for word := range strings.FieldsSeq(s) {
		switch strings.TrimRight(word, ".,;:)") {
		case "%", "B", "KiB", "MiB", "GiB", "TiB", "MiB/file":
			if len(out) > 0 {
				out[len(out)-1] += " " + word
				continue
			}
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
