package source

import (
	"bytes"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/search"
)

// Plain returns a line as a dialect sees it: without terminal escape sequences such as colours.
func Plain(line string) string { return string(PlainText([]byte(line), false)) }

// Shown returns what a terminal shows of a line in the end: no escapes, no blanks behind it, and of
// a progress bar that draws itself again with '\r' the last state. The result is valid UTF-8.
func Shown(line string) string {
	line = strings.TrimRight(line, " \t\r\n")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	return strings.ToValidUTF8(Plain(line), "\uFFFD")
}

// PlainText returns the text of a line without wrappers and escapes. docker says that it may be a
// line of Docker's.
func PlainText(b []byte, docker bool) []byte {
	b = WithoutHole(b)
	if docker {
		if inner, ok := Unwrap(nil, b); ok {
			b = inner
		}
	}
	if bytes.IndexByte(b, search.Escape) < 0 {
		return b
	}
	return StripEscapes(nil, b)
}

// WithoutHole returns a line without NULs at its beginning. They are a hole in the file. A file
// gets one when it is truncated, by "> run.log" or by logrotate's copytruncate, while a program
// goes on writing at its old offset.
func WithoutHole(b []byte) []byte {
	if len(b) == 0 || b[0] != 0 {
		return b
	}
	return bytes.TrimLeft(b, "\x00")
}

// StripEscapes appends b to dst without terminal control sequences: "\x1b[32m[GPU Memory]
// ...\x1b[0m".
//
// ECMA-48 has three kinds. ESC '[' has parameter and intermediate bytes 0x20-0x3f and one final
// byte 0x40-0x7e. ESC alone has intermediate bytes 0x20-0x2f ("\x1b(B") and one final byte. ESC ']'
// has a title, up to BEL or ESC '\'. A cursor that moves right ("\x1b[12C") leaves blanks.
func StripEscapes(dst, b []byte) []byte {
	blanks := len(b) + 1<<10 // no line grows to more than this by them
	for i := 0; i < len(b); i++ {
		if b[i] != search.Escape {
			dst = append(dst, b[i])
			continue
		}
		i++
		if i == len(b) {
			break
		}
		switch b[i] {
		case '[':
			from := i + 1
			for i++; i < len(b) && b[i] >= 0x20 && b[i] <= 0x3f; {
				i++
			}
			if i < len(b) && b[i] == 'C' {
				n, rest, ok := lex.CutInt(b[from:i])
				for ; ok && len(rest) == 0 && n > 0 && n < 256 && blanks > 0; n-- {
					dst = append(dst, ' ')
					blanks--
				}
			}
		case ']':
			if n := titleEnd(b[i:]); n > 0 {
				i += n - 1
			}
		default:
			for i < len(b) && b[i] >= 0x20 && b[i] <= 0x2f {
				i++
			}
		}
	}
	return dst
}

// titleEnd returns the length of a title that ends within 256 bytes, or 0.
func titleEnd(b []byte) int {
	for i, c := range b[:min(len(b), 256)] {
		if c == 0x07 || c == '\\' && b[i-1] == search.Escape {
			return i + 1
		}
	}
	return 0
}
