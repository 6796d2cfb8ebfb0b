package sink

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
)

// A Terminal writes to stdout or stderr of a process. The file need not be a terminal: a pipe may
// also end at a terminal, or in the log of a CI system. Several goroutines may use a Terminal.
type Terminal struct {
	mu     sync.Mutex
	file   *os.File // nil for newText
	out    *output
	filter filter
	status status
}

// NewTerminal returns the sink of a file such as [os.Stdout].
func NewTerminal(file *os.File) *Terminal {
	t := newText(file)
	t.file = file
	t.status.simple = isSimple()
	return t
}

// newText returns a Terminal for text that does not go to a file directly.
func newText(w io.Writer) *Terminal {
	out := &output{w: w}
	return &Terminal{out: out, filter: filter{w: out, spell: spellVisible}}
}

// An output remembers the first error of a writer.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// Err returns the first error of writing to the file. What was printed is then not complete.
func (t *Terminal) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.err
}

// Text returns a function that calls write and makes its output safe to print on a terminal. The
// parameter write writes a text file.
func Text(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		t := newText(w)
		return errors.Join(write(t), t.Close())
	}
}

// Name returns a name for a file that another program prints unchanged. The name is in one line,
// and commands of CI systems in it are broken.
func Name(s string) string {
	var b strings.Builder
	_, _ = io.WriteString(newText(&b), Line(s)) // a strings.Builder returns no errors
	return b.String()
}

// Write implements [io.Writer].
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.above(p)
}

// Close writes the bytes that are still held back. It does not close the file.
func (t *Terminal) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.filter.Close()
}

// Width returns the number of columns of the terminal, or 0 if it is unknown. terminal is set if
// the file is a terminal.
func (t *Terminal) Width() (columns int, terminal bool) {
	columns, _, terminal = t.Size()
	return columns, terminal
}

const escape = '\x1b'

// The styles that vramsoak uses itself. Escape sequences in other text are made visible.
var styles = [][]byte{
	[]byte("\x1b[0m"), []byte("\x1b[2m"), []byte("\x1b[31m"), []byte("\x1b[32m"),
	[]byte("\x1b[33m"),
}

// styleLen returns the length of the style at the beginning of text, or 0 without a style.
func styleLen(text []byte) int {
	for _, s := range styles {
		if bytes.HasPrefix(text, s) {
			return len(s)
		}
	}
	return 0
}

// WriteStyled writes a text that contains styles. All names in the text must have gone through
// [Line].
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
	_, err := t.above([]byte(text))
	return err
}
