package scan

import (
	"iter"

	"vramsoak/parser/record"
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

// HeaderAbove returns the header for a record in the n-th line before this one, from 1. It has the
// time of this line. The scanner puts the record in the order of its line. If an earlier window has
// that line, the header has the number of this window's first line, because the records of the
// earlier window are out already.
func (l *Line) HeaderAbove(n int) record.Header {
	h := l.Header(0)
	start := l.start
	for range n {
		from, _, ok := l.s.lineBefore(start)
		if !ok {
			break
		}
		start = from
	}
	h.Pos.Line = max(1, h.Pos.Line-l.LineEnds(start, l.start))
	l.s.unordered = true
	return h
}

// Unfinished reports whether the log ends in this line, without a line end. The program then still
// writes the line, or it was ended while it wrote the line. The rows of a screen and the outputs of
// a notebook are never unfinished.
func (l *Line) Unfinished() bool { return !l.s.Printed && l.End >= len(l.s.win.Buf) }
