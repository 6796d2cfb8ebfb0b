package sink

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// A Terminal is stdout or stderr of a process. It need not be a real terminal: a pipe, too, ends in
// the log of a CI system or on a terminal. Several goroutines may use it.
type Terminal struct {
	mu     sync.Mutex
	file   *os.File // nil for newText
	filter filter
}

// NewTerminal returns the sink of a file such as [os.Stdout].
func NewTerminal(file *os.File) *Terminal {
	t := newText(file)
	t.file = file
	return t
}

// newText returns a sink for text that goes elsewhere, treated as a terminal's.
func newText(w io.Writer) *Terminal {
	return &Terminal{filter: filter{w: w, spell: spellVisible}}
}

// Text wraps write, which writes a text file, so that people can print the file on a terminal.
func Text(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		t := newText(w)
		return errors.Join(write(t), t.Close())
	}
}

// Name returns a name for a file that another program prints as it is. The name is in one line, and
// commands in it are broken.
func Name(s string) string {
	var b strings.Builder
	_, _ = io.WriteString(newText(&b), Line(s)) // memory takes it whole
	return b.String()
}

// Write implements [io.Writer].
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.filter.Write(p)
}

// Close writes what is left. It does not close the file.
func (t *Terminal) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.filter.Close()
}

// Width returns the columns of the terminal, or 0 if it does not tell, and reports whether it is
// one.
func (t *Terminal) Width() (columns int, terminal bool) {
	if t.file == nil || !term.IsTerminal(int(t.file.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(t.file.Fd()))
	if err != nil {
		columns = 0
	}
	return columns, true
}

// clearLine returns to the start of the line and clears it.
const clearLine = "\r\x1b[K"

// Overwrite replaces the last line by a line of status. The last line must be empty or a line of
// status too. An empty line clears it. Use it on a terminal only.
func (t *Terminal) Overwrite(line string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.filter.watch.newline()
	if _, err := io.WriteString(t.filter.w, clearLine); err != nil || line == "" {
		return err
	}
	_, err := io.WriteString(&t.filter, Line(line))
	return err
}

const escape = '\x1b'

// The styles of vramsoak's own text. Escape sequences in other text are spelled.
var styles = [][]byte{
	[]byte("\x1b[0m"), []byte("\x1b[2m"), []byte("\x1b[31m"), []byte("\x1b[32m"),
	[]byte("\x1b[33m"),
}

// styleLen returns the length of the style that text begins with, or 0.
func styleLen(text []byte) int {
	for _, s := range styles {
		if bytes.HasPrefix(text, s) {
			return len(s)
		}
	}
	return 0
}

// WriteStyled writes text with colours in one piece. All names in it must have gone through [Line].
func WriteStyled(w io.Writer, text string) error {
	t, ok := w.(*Terminal)
	if !ok {
		_, err := io.WriteString(w, text)
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.filter.styles = true
	defer func() { t.filter.styles = false }()
	_, err := t.filter.Write([]byte(text))
	return err
}
