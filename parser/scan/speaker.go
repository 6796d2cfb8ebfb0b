package scan

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/source"
)

// failed sets Speaker, Repeated and Traceback of a failed allocation from this line and the lines
// above.
func (l *Line) failed(o *record.OutOfMemory) {
	at := l.offset(o.Text)
	o.Speaker = l.head.speaker(at)
	o.Repeated = bytes.HasSuffix(l.Text[:at], []byte("error detected: "))
	above, first := l.TracebackAbove()
	if o.Traceback = above; above > 0 && o.Speaker == "" {
		o.Speaker = source.SpeakerOf(first, len(first))
	}
}

// offset returns the offset in the line at which a message's text begins, or 0 if the line lacks
// it.
func (l *Line) offset(message string) int {
	return max(0, bytes.Index(l.Text, []byte(message[:min(len(message), 24)])))
}

// TracebackAbove returns the number of lines in the Python traceback directly above this line,
// including the traceback's head. It also returns the line before the traceback. The number is 0 if
// there is no traceback, or if the traceback belongs to a second failure that followed from the
// first:
//
//	During handling of the above exception, another exception occurred:
func (l *Line) TracebackAbove() (lines int, before []byte) {
	for end, n := l.start, 0; n < TracebackMax; n++ {
		from, stop, ok := l.s.lineBefore(end)
		if !ok || l.start-from > source.Margin/2 {
			return 0, nil
		}
		end = from
		text := source.PlainText(l.s.win.Buf[from:stop])
		if !bytes.Contains(text[:min(len(text), 256)], tracebackHead) {
			if len(text) == 0 || text[0] != ' ' && text[0] != '\t' {
				return 0, nil
			}
			continue
		}
		lines = l.LineEnds(from, l.start)
		for len(lex.TrimBlanks(before)) == 0 {
			if from, stop, ok = l.s.lineBefore(from); !ok || l.start-from > source.Margin/2 {
				return lines, nil
			}
			before = source.PlainText(l.s.win.Buf[from:stop])
		}
		if bytes.Contains(before, []byte("the above exception")) ||
			bytes.Contains(before, []byte("The above exception")) {
			return 0, nil
		}
		return lines, before
	}
	return 0, nil
}

// TracebackMax is the most lines of a traceback that is recognised.
const TracebackMax = 128

var tracebackHead = []byte("Traceback (most recent call last):")
