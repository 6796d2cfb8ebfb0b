package text

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
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
		foldLine(&out, string(line[:len(line)-1]), f.width)
	}
	f.rest = append(f.rest[:0], f.rest[end+1:]...)
	if _, err := io.WriteString(f.w, out.String()); err != nil {
		return 0, fmt.Errorf("write folded lines: %w", err)
	}
	return len(p), nil
}

// columnGap finds the blanks between two columns.
var columnGap = regexp.MustCompile(`(\S) {3,}`)

// foldLine writes a line with its end. Lines after the first are indented by four blanks more than
// the line itself.
func foldLine(out *strings.Builder, line string, width int) {
	indent := strings.Repeat(" ", min(width/4, len(line)-len(strings.TrimLeft(line, " "))+4))
	if twwidth.Width(line) > width {
		line = columnGap.ReplaceAllString(line, "$1  ")
	}
	for twwidth.Width(line) > width {
		head := strings.TrimRight(cutAtBlank(line, width), " ")
		out.WriteString(head + "\n")
		line = indent + strings.TrimLeft(line[len(head):], " ")
	}
	out.WriteString(line + "\n")
}

// cutAtBlank returns the beginning of a line up to the last blank behind a word that leaves it at
// most `width` columns wide. Without such a blank it cuts a word.
func cutAtBlank(line string, width int) string {
	head := widest(line, width)
	text := strings.TrimLeft(head, " ")
	if line[len(head)] == ' ' {
		return head
	}
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		return head[:len(head)-len(text)+i]
	}
	return line[:len(cutAt(line, width))]
}
