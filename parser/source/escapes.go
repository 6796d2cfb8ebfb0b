package source

import (
	"bytes"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/search"
)

// Plain returns a line without its terminal escape sequences, such as colours. Dialects see lines
// in this form.
func Plain(line string) string { return string(PlainText([]byte(line), false)) }

// Shown returns the text that a terminal shows of a line in the end, without trailing blanks. If
// the line is a progress bar, which overwrites itself with '\r', Shown returns only the last state.
// The result is valid UTF-8.
func Shown(line string) string {
	line = strings.TrimRight(Plain(line), " \t\r\n")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	return strings.ToValidUTF8(line, "\uFFFD")
}

// PlainText returns the text of a line without wrappers and escapes. The parameter docker is set if
// the line may be of Docker's log.
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

// WithoutHole returns a line without the NUL bytes at its beginning. These bytes are a hole in the
// file. A file gets a hole if "> run.log" or logrotate's copytruncate truncates it while a program
// goes on writing at its old offset.
func WithoutHole(b []byte) []byte {
	if len(b) == 0 || b[0] != 0 {
		return b
	}
	return bytes.TrimLeft(b, "\x00")
}

// StripEscapes appends b to dst without terminal control sequences such as the colours in
// "\x1b[32m[GPU Memory] ...\x1b[0m".
//
// ECMA-48 has three kinds of them. ESC '[' precedes parameter and intermediate bytes 0x20-0x3f and
// one final byte 0x40-0x7e. ESC alone precedes intermediate bytes 0x20-0x2f and one final byte, as
// in "\x1b(B". ESC ']' precedes a title, which ends with BEL or ESC '\'. If a sequence moves the
// cursor to the right ("\x1b[12C"), StripEscapes writes blanks.
func StripEscapes(dst, b []byte) []byte {
	blanks := len(b) + 1<<10 // most blanks that cursor moves add to a line
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

// titleEnd returns the length of a title if it ends within 256 bytes, else 0.
func titleEnd(b []byte) int {
	for i, c := range b[:min(len(b), 256)] {
		if c == 0x07 || c == '\\' && b[i-1] == search.Escape {
			return i + 1
		}
	}
	return 0
}
