package output

import (
	"bytes"
	"iter"

	"vramsoak/parser"
)

// lineMax is how much of an unfinished line is held back. A line of 100 MB is passed on in pieces
// of this size.
const lineMax = 1 << 20

// lines cuts what a pipeline prints into lines. It holds an unfinished line back until its end has
// come, so that the harness can write its own lines before it: file-start goes before the
// pipeline's first line on the file.
type lines struct {
	dialects *parser.Set
	held     []byte
}

// A piece is some of the pipeline's bytes, in order: a line with its newline, several lines without
// records, or a part of a line that is too long to be held back.
type piece struct {
	text []byte
	// parse says that the text is one line, or a part of one, and may hold a record.
	parse bool
}

// cut yields the pieces that are complete with chunk. They are valid until the next call.
func (l *lines) cut(chunk []byte) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		end := bytes.LastIndexByte(chunk, '\n')
		if end >= 0 {
			end += len(l.held) + 1
		}
		l.held = append(l.held, chunk...)
		switch {
		case end >= 0:
		case len(l.held) < lineMax:
			return
		default:
			// A progress bar draws itself again and again with '\r' and no newline. What follows
			// the last '\r' may yet become a record.
			end = len(l.held)
			if i := bytes.LastIndexByte(l.held, '\r'); i >= lineMax/2 {
				end = i + 1
			}
		}
		for p := range pieces(l.held[:end], l.dialects) {
			if !yield(p) {
				break
			}
		}
		l.held = append(l.held[:0], l.held[end:]...)
	}
}

// pieces yields the lines that may hold a record of one of the dialects one by one, and the lines
// between them as one piece.
func pieces(text []byte, dialects *parser.Set) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for at := 0; at < len(text); {
			hit, ok := dialects.Next(text, at)
			if !ok {
				yield(piece{text: text[at:]})
				return
			}
			begin := at + bytes.LastIndexByte(text[at:hit], '\n') + 1
			if begin > at && !yield(piece{text: text[at:begin]}) {
				return
			}
			at = len(text)
			if i := bytes.IndexByte(text[hit:], '\n'); i >= 0 {
				at = hit + i + 1
			}
			if !yield(piece{text: text[begin:at], parse: true}) {
				return
			}
		}
	}
}

// rest returns the unfinished line that the pipeline left.
func (l *lines) rest() piece {
	text := l.held
	l.held = nil
	return piece{text, true}
}
