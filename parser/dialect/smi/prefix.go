package smi

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/source"
)

// cutLike cuts a prefix off the text that is like the given one. A logger puts such prefixes before
// the lines of a table. They differ in their digits, in their level and in the blanks behind it:
//
//	2026-11-20 02:00:03,123 - INFO - index, memory.used [MiB]
//	2026-11-20 02:00:04,125 - WARNING - 0, 841 MiB
//
// ok is false if the text does not begin with such a prefix.
func cutLike(text, prefix []byte) (rest []byte, ok bool) {
	word := false // a letter precedes
	for len(prefix) > 0 {
		p := prefix[0]
		if len(text) == 0 {
			return nil, false
		}
		n, m := 1, 1
		switch {
		case lex.IsDigit(p):
			n, m = lex.CountDigits(prefix), lex.CountDigits(text)
		case p == ' ' || p == '\t':
			n = len(prefix) - len(lex.TrimBlanks(prefix))
			m = len(text) - len(lex.TrimBlanks(text))
		case !word && lex.LevelAt(prefix) > 0:
			n, m = lex.LevelAt(prefix), lex.LevelAt(text)
		case p != text[0]:
			m = 0
		}
		if m == 0 {
			return nil, false
		}
		word = p|0x20 >= 'a' && p|0x20 <= 'z'
		text, prefix = text[m:], prefix[n:]
	}
	return text, true
}

// isLike reports whether two lines have prefixes of one logger. If a prefix names the process that
// printed the line, as in "0: " or "[rank3]: ", both must name the same process.
func isLike(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	rest, ok := cutLike(a, b)
	return ok && len(rest) == 0 && source.SpeakerOf(a, len(a)) == source.SpeakerOf(b, len(b))
}
