package parser

import (
	"bytes"
)

// failed notes whose line the message of a failure is, and how much of a traceback is above it.
func (l *line) failed(o *OutOfMemory) {
	at := l.offset(o.Text)
	o.Speaker, o.Again = speakerOf(l.text, at), bytes.HasSuffix(l.text[:at], []byte("error detected: "))
	above, first := l.tracebackAbove()
	if o.Traceback = above; above > 0 && o.Speaker == "" {
		o.Speaker = speakerOf(first, len(first))
	}
}

// offset returns where a message begins in the line.
func (l *line) offset(message string) int {
	return max(0, bytes.Index(l.text, []byte(message[:min(len(message), 24)])))
}

// tracebackAbove returns how many lines of a Python traceback are above the line that says what was
// raised, its head counted, and the line before them. It returns 0 where there is no traceback, and for
// that of a second failure, which came of the first:
//
//	During handling of the above exception, another exception occurred:
func (l *line) tracebackAbove() (lines int, before []byte) {
	for end, n := l.start, 0; n < tracebackMax; n++ {
		from, stop, ok := l.s.win.lineBefore(end)
		if !ok || l.start-from > margin/2 {
			return 0, nil
		}
		end = from
		text := plain(l.s.win.buf[from:stop], l.s.win.docker)
		if !bytes.Contains(text[:min(len(text), 256)], tracebackHead) {
			if text = rankTag().ReplaceAll(text[:min(len(text), 64)], nil); len(text) == 0 || text[0] != ' ' && text[0] != '\t' {
				return 0, nil
			}
			continue
		}
		lines = bytes.Count(l.s.win.buf[from:l.start], newline)
		for len(trimBlanks(before)) == 0 {
			if from, stop, ok = l.s.win.lineBefore(from); !ok || l.start-from > margin/2 {
				return lines, nil
			}
			before = plain(l.s.win.buf[from:stop], l.s.win.docker)
		}
		if bytes.Contains(before, []byte("the above exception")) || bytes.Contains(before, []byte("The above exception")) {
			return 0, nil
		}
		return lines, before
	}
	return 0, nil
}

// tracebackMax is the longest traceback that is known as one, in lines.
const tracebackMax = 128

var (
	tracebackHead = []byte("Traceback (most recent call last):")
	rankTag       = expression(`^\[[a-z]+\d+\]:`)
)
