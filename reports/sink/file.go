package sink

import (
	"errors"
	"io"
)

// File returns a writer for the content of a file, such as a picture, which gets it unchanged. A
// terminal gets only text, which is made safe.
func (t *Terminal) File() io.Writer {
	if _, terminal := t.Width(); terminal {
		return textOnly{t}
	}
	return t.out
}

// errBinary is returned when a binary file is written on a terminal.
var errBinary = errors.New("expected a file or a pipe for a binary file, found a terminal; name " +
	"a file, or put | or > behind the command")

// A textOnly writer refuses a picture or another binary file.
type textOnly struct{ w io.Writer }

func (t textOnly) Write(p []byte) (int, error) {
	for _, c := range p {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return 0, errBinary
		}
	}
	return t.w.Write(p)
}
