package output

import (
	"bytes"
	"iter"

	"vramsoak/parser"
)

// lineMax is how many bytes of an unfinished line are held back at most. A line of 100 MB is cut
// into pieces of about this size.
const lineMax = 1 << 20

// lines cuts the output of a pipeline into lines. It holds an unfinished line back until the
// newline has come, because only the whole line shows whether the harness must write a line of its
// own first, such as file-start.
type lines struct {
	dialects *parser.Set
	held     []byte
}

// A piece is a part of the pipeline's output: one line with its newline, several lines without
// records, or a part of a line that is too long to be held back.
type piece struct {
	text []byte
	// parse is true if the text is one line, or a part of one, that may hold a record.
	parse bool
}

// cut adds chunk, the next part of the pipeline's output, and yields the pieces that are complete
// now. The pieces are valid until the next call.
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
			// A progress bar prints its state again and again with '\r' and without a newline. The text
			// after the last '\r' is held back, because it may be the beginning of a record.
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

// pieces yields each line of text that may hold a record of one of the dialects as a piece of its
// own. It yields all lines between two such lines together as one piece.
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

// rest returns the last line of a process that ended without printing a newline.
func (l *lines) rest() piece {
	text := l.held
	l.held = nil
	return piece{text, true}
}
