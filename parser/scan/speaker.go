package scan

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/source"
)

// failed notes which process printed the message of a failed allocation, and how many lines of a
// traceback are above it.
func (l *Line) failed(o *record.OutOfMemory) {
	at := l.offset(o.Text)
	o.Speaker = l.head.speaker(at)
	o.Repeated = bytes.HasSuffix(l.Text[:at], []byte("error detected: "))
	above, first := l.TracebackAbove()
	if o.Traceback = above; above > 0 && o.Speaker == "" {
		o.Speaker = source.SpeakerOf(first, len(first))
	}
}

// offset returns where a message begins in the line.
func (l *Line) offset(message string) int {
	return max(0, bytes.Index(l.Text, []byte(message[:min(len(message), 24)])))
}

// TracebackAbove returns how many lines of a Python traceback are above this line, with the
// traceback's head, and the line before them. It returns 0 if there is no traceback. It also
// returns 0 for the traceback of a second failure that followed from the first:
//
//	During handling of the above exception, another exception occurred:
func (l *Line) TracebackAbove() (lines int, before []byte) {
	for end, n := l.start, 0; n < TracebackMax; n++ {
		from, stop, ok := l.s.win.LineBefore(end)
		if !ok || l.start-from > source.Margin/2 {
			return 0, nil
		}
		end = from
		text := source.PlainText(l.s.win.Buf[from:stop], l.s.win.Docker)
		if !bytes.Contains(text[:min(len(text), 256)], tracebackHead) {
			if text = rankTag().ReplaceAll(
				text[:min(len(text), 64)],
				nil,
			); len(text) == 0 ||
				text[0] != ' ' && text[0] != '\t' {
				return 0, nil
			}
			continue
		}
		lines = bytes.Count(l.s.win.Buf[from:l.start], source.Newline)
		for len(lex.TrimBlanks(before)) == 0 {
			if from, stop, ok = l.s.win.LineBefore(from); !ok || l.start-from > source.Margin/2 {
				return lines, nil
			}
			before = source.PlainText(l.s.win.Buf[from:stop], l.s.win.Docker)
		}
		if bytes.Contains(before, []byte("the above exception")) ||
			bytes.Contains(before, []byte("The above exception")) {
			return 0, nil
		}
		return lines, before
	}
	return 0, nil
}

// TracebackMax is the length of the longest traceback that is recognised, in lines.
const TracebackMax = 128

var (
	tracebackHead = []byte("Traceback (most recent call last):")
	rankTag       = lex.Expression(`^\[[a-z]+\d+\]:`)
)
