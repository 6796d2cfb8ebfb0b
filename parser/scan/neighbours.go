package scan

import (
	"iter"

	"vramsoak/parser/source"
)

// Above yields the texts of the lines before this one, from the nearest. It ends at the log's
// beginning or at the margin of the window. It is faster than [Line.Previous] for many lines.
func (l *Line) Above() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for from := l.start; ; {
			start, end, ok := l.s.lineBefore(from)
			if !ok || !yield(source.PlainText(l.s.win.Buf[start:end])) {
				return
			}
			from = start
		}
	}
}

// Unfinished reports whether the log ends in this line, without a line end. The program then still
// writes the line, or it was ended while it wrote the line. The rows of a screen and the outputs of
// a notebook are never unfinished.
func (l *Line) Unfinished() bool { return !l.s.Printed && l.End >= len(l.s.win.Buf) }
