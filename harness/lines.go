package harness

import (
	"bytes"
	"iter"
)

// lineMax is how much of an unfinished line is held back. A line of 100 MB passes in pieces of this size.
const lineMax = 1 << 20

// lines cuts what a pipeline prints into lines. An unfinished line is held back until its end has come, so that the
// harness can put its own lines before it: "file-start" before the pipeline's first word on the file.
type lines struct {
	held []byte
}

// A piece is some of the pipeline's bytes, in order: a line with its newline, several lines of no interest, or a part of
// a line that is too long to be held.
type piece struct {
	text []byte
	// look says that the text is one line, or a part of one, and may hold a record.
	look bool
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
			// A progress bar draws itself over and over with '\r' and no newline. What follows the last one may yet become a
			// record.
			end = len(l.held)
			if i := bytes.LastIndexByte(l.held, '\r'); i >= lineMax/2 {
				end = i + 1
			}
		}
		for p := range pieces(l.held[:end]) {
			if !yield(p) {
				break
			}
		}
		l.held = append(l.held[:0], l.held[end:]...)
	}
}

// pieces yields the lines that may hold a record one by one, and what lies between them at once.
func pieces(text []byte) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		at := 0
		for hit := range hits(text) {
			if hit < at {
				continue // in the line that was yielded for an earlier one
			}
			begin := at + bytes.LastIndexByte(text[at:hit], '\n') + 1
			if begin > at && !yield(piece{text: text[at:begin]}) {
				return
			}
			at = len(text)
			if i := bytes.IndexByte(text[hit:], '\n'); i >= 0 {
				at = hit + i + 1
			}
			if !yield(piece{text: text[begin:at], look: true}) {
				return
			}
		}
		if at < len(text) {
			yield(piece{text: text[at:]})
		}
	}
}

// rest is the unfinished line that the pipeline left.
func (l *lines) rest() piece {
	text := l.held
	l.held = nil
	return piece{text, true}
}

// needles are what a line must contain to hold a record that the harness acts on: "[GPU Memory]" and "out of memory" share
// the first. Nearly no line does, and parsing is for those that do.
var needles = [...][]byte{[]byte("emory"), []byte("[pipeline]")}

// hits yields where needles are, in order.
func hits(text []byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		var next [len(needles)]int // where each needle is next; behind the text where it is not
		find := func(k, from int) {
			next[k] = len(text)
			if i := bytes.Index(text[from:], needles[k]); i >= 0 {
				next[k] = from + i
			}
		}
		for k := range needles {
			find(k, 0)
		}
		for {
			k := 0
			for other := range next {
				if next[other] < next[k] {
					k = other
				}
			}
			if next[k] == len(text) || !yield(next[k]) {
				return
			}
			find(k, next[k]+len(needles[k]))
		}
	}
}
