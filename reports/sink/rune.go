package sink

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// harmful reports whether a terminal does something at a rune instead of showing it. These are
// control characters (tabs and newlines too), line separators, marks that reorder text, invisible
// tags and annotations, and code points without a character.
func harmful(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0: // C0, DEL, C1
		return true
	case r < 0x600:
		return false
	}
	return unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) ||
		unicode.Is(unicode.Noncharacter_Code_Point, r) || r == '\uFEFF' ||
		r >= '\uFFF9' && r <= '\uFFFB' || r >= 0xE0000 && r < 0xE0080
}

// ignorable reports whether a comparison by the rules of a language skips a rune. GitHub's runner
// compares in this way, so it obeys "::" and "##[" even with a zero-width joiner inside.
func ignorable(r rune) bool {
	return r > 0x7f && unicode.In(r, unicode.Cf, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point)
}

// appendVisible appends a rune in the spelling of a Go string: \n, \x1b, \u202e.
func appendVisible(b []byte, r rune) []byte {
	switch {
	case r == '\n':
		return append(b, `\n`...)
	case r == '\r':
		return append(b, `\r`...)
	case r == '\t':
		return append(b, `\t`...)
	case r < 0x80:
		return fmt.Appendf(b, `\x%02x`, r)
	case r < 0x10000:
		return fmt.Appendf(b, `\u%04x`, r)
	}
	return fmt.Appendf(b, `\U%08x`, r)
}

// appendByte appends a byte that is not UTF-8, spelled as \xff.
func appendByte(b []byte, c byte) []byte { return fmt.Appendf(b, `\x%02x`, c) }

// Line returns s as a part of one line. It replaces everything that a terminal would act on,
// including newlines and tabs. Commands of CI systems may remain, because they depend on where in a
// line they are; [Terminal] breaks them.
func Line(s string) string {
	for i, r := range s {
		if harmful(r) || r == utf8.RuneError {
			return string(appendLine([]byte(s[:i]), s[i:]))
		}
	}
	return s
}

func appendLine(b []byte, s string) []byte {
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			b = appendByte(b, s[0])
		case harmful(r):
			b = appendVisible(b, r)
		default:
			b = append(b, s[:n]...)
		}
		s = s[n:]
	}
	return b
}
