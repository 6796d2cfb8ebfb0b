package sink

import (
	"bytes"
	"io"
	"os"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/term"
)

// A status holds the rows that are shown below the text of a terminal.
type status struct {
	rows   []string
	widths []int // of the rows that are on the screen, in columns
	// simple is set if the terminal knows no escape sequences. It then shows only one row.
	simple bool
}

// Size returns the size of the terminal, or 0 for what is unknown. terminal is set if the file is a
// terminal.
func (t *Terminal) Size() (columns, rows int, terminal bool) {
	if t.file == nil || !term.IsTerminal(int(t.file.Fd())) {
		return 0, 0, false
	}
	columns, rows, err := term.GetSize(int(t.file.Fd()))
	if err != nil {
		return 0, 0, true
	}
	return columns, rows, true
}

// IsSimple reports whether the terminal knows no escape sequences, so that Show shows one row only.
func (t *Terminal) IsSimple() bool { return t.status.simple }

// isSimple reports whether the terminal of this process knows no escape sequences.
func isSimple() bool {
	name := os.Getenv("TERM")
	return name == "dumb" || name == ""
}

// Show shows rows below all text, in place of the rows that it showed before. Text that is written
// later appears above them. Without rows, Show removes those that are shown. Call Show only for a
// real terminal.
//
// All rows must be narrower than the terminal. They may contain the styles of [WriteStyled], and
// names in them must have gone through [Line].
//
// The cursor stays on the line below the rows. So whatever else prints there, such as a shell after
// this process was killed, begins a line of its own.
func (t *Terminal) Show(rows ...string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frame(func() error {
		t.erase()
		t.status.rows = append([]string(nil), rows...)
		return t.draw()
	})
}

// above writes text above the status rows. A status of rows returns when the text ends with a
// newline, because the end of a line is still to come otherwise.
func (t *Terminal) above(p []byte) (n int, err error) {
	if len(t.status.rows) == 0 {
		return t.filter.Write(p)
	}
	err = t.frame(func() error {
		t.erase()
		if n, err = t.filter.Write(p); err != nil || !bytes.HasSuffix(p, []byte("\n")) {
			return err
		}
		return t.draw()
	})
	return n, err
}

// frame calls do, and writes everything that do writes at once, so that the screen does not
// flicker.
func (t *Terminal) frame(do func() error) error {
	out := t.filter.w
	var buffer bytes.Buffer
	t.filter.w = &buffer
	err := do()
	t.filter.w = out
	if _, failed := out.Write(buffer.Bytes()); failed != nil {
		return failed
	}
	return err
}

// erase removes the status rows from the screen, and what was typed on the line below them. It does
// so line by line: if the rows begin at the top of the screen, tmux and other terminals move all of
// them into the history when the whole screen is erased at once.
func (t *Terminal) erase() {
	shown := t.status.widths
	t.status.widths = nil
	switch {
	case len(shown) == 0:
	case t.status.simple:
		_, _ = io.WriteString(t.filter.w, "\r"+strings.Repeat(" ", shown[0])+"\r") // a buffer
	default:
		columns, _, _ := t.Size()
		_, _ = io.WriteString(t.filter.w, // a buffer
			"\r"+eraseLine+strings.Repeat(lineUp+eraseLine, height(shown, columns)))
	}
	t.filter.watch.newline()
}

const (
	eraseLine = "\x1b[2K"
	lineUp    = "\x1b[A"
)

// height returns how many lines of a terminal with so many columns the rows take; 0 columns stands
// for an unknown number. If the terminal has become narrower since they were drawn, it has wrapped
// them.
func height(widths []int, columns int) (lines int) {
	for _, width := range widths {
		lines++
		if columns > 0 && width > columns {
			lines += (width - 1) / columns
		}
	}
	return lines
}

// draw writes the status rows.
func (t *Terminal) draw() error {
	rows := t.status.rows
	if t.status.simple && len(rows) > 1 {
		rows = rows[:1]
	}
	t.filter.styles = true
	defer func() { t.filter.styles = false }()
	for _, row := range rows {
		text := row
		if !t.status.simple {
			text += "\n"
		}
		if _, err := t.filter.Write([]byte(text)); err != nil {
			return err
		}
		t.status.widths = append(t.status.widths, Columns(row))
	}
	return nil
}

// Columns returns how many columns of a terminal a line takes. Styles take none.
func Columns(line string) int {
	if strings.IndexByte(line, escape) >= 0 {
		for _, s := range styles {
			line = strings.ReplaceAll(line, string(s), "")
		}
	}
	return displaywidth.String(line)
}

// Cut returns the beginning of a line that takes at most the given number of columns. The line must
// have no styles. If something is cut off, the last column has "…", or "." if ascii is set.
func Cut(line string, columns int, ascii bool) string {
	if columns <= 0 {
		return ""
	}
	mark := "…"
	if ascii {
		mark = "."
	}
	return displaywidth.TruncateString(line, columns, mark)
}
