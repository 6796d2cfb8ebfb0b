package text

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// A Folder folds the lines that are written to it to a width. Lines that fit stay as they are, so
// columns stay aligned. A line that does not fit loses the blanks that align its columns, and its
// rest is indented below it.
type Folder struct {
	w     io.Writer
	width int
	rest  []byte // a line whose end is not written yet
}

// NewFolder returns a Folder that writes to w. Every line must end with a newline.
func NewFolder(w io.Writer, opts Options) *Folder {
	return &Folder{w: w, width: Columns(opts)}
}

// Write implements [io.Writer].
func (f *Folder) Write(p []byte) (int, error) {
	f.rest = append(f.rest, p...)
	end := bytes.LastIndexByte(f.rest, '\n')
	if end < 0 {
		return len(p), nil
	}
	var out strings.Builder
	for line := range bytes.Lines(f.rest[:end+1]) {
		for _, folded := range foldLine(string(line[:len(line)-1]), f.width) {
			out.WriteString(folded + "\n")
		}
	}
	f.rest = append(f.rest[:0], f.rest[end+1:]...)
	if _, err := io.WriteString(f.w, out.String()); err != nil {
		return 0, fmt.Errorf("write folded lines: %w", err)
	}
	return len(p), nil
}

// foldLine returns the lines into which a line is folded. Those after the first are indented by
// four blanks more than the line itself.
func foldLine(line string, width int) []string {
	if twwidth.Width(line) <= width {
		return []string{line}
	}
	indent := min(width/4, len(line)-len(strings.TrimLeft(line, " "))+4)
	return Fold(line, width, strings.Repeat(" ", indent))
}
