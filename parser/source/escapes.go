package source

import (
	"bytes"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/search"
)

// Plain returns a line without its terminal escape sequences, such as colours. Dialects read
// lines in this form.
func Plain(line string) string { return string(PlainText([]byte(line))) }

// Shown returns what a terminal shows of a line after the line has been printed, without trailing
// blanks. A progress bar overwrites itself with '\r'; of such a line, Shown returns only the last
// state. The result is valid UTF-8.
func Shown(line string) string {
	line = strings.TrimRight(Plain(line), " \t\r\n")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	return strings.ToValidUTF8(line, "\uFFFD")
}

// PlainText returns a line without NUL bytes at its beginning, and without escape sequences.
func PlainText(b []byte) []byte {
	b = WithoutHole(b)
	if bytes.IndexByte(b, search.Escape) < 0 {
		return b
	}
	return StripEscapes(nil, b)
}

// WithoutHole returns a line without the NUL bytes at its beginning. These bytes are a hole in
// the file: a part that was never written. A file gets a hole if "> run.log" or logrotate's
// copytruncate truncates the file, and the program then goes on writing at its old offset.
func WithoutHole(b []byte) []byte {
	if len(b) == 0 || b[0] != 0 {
		return b
	}
	return bytes.TrimLeft(b, "\x00")
}

// StripEscapes appends b to dst without terminal control sequences such as the colours in
// "\x1b[32m[GPU Memory] ...\x1b[0m". If a sequence moves the cursor to the right ("\x1b[12C"),
// StripEscapes writes blanks.
func StripEscapes(dst, b []byte) []byte {
	blanks := len(b) + 1<<10 // the limit on blanks that stand for cursor moves, in one line
	for i := 0; i < len(b); {
		if b[i] != search.Escape {
			dst = append(dst, b[i])
			i++
			continue
		}
		n := escapeLen(b[i:])
		if n > 3 && b[i+1] == '[' && b[i+n-1] == 'C' {
			k, rest, ok := lex.CutInt(b[i+2 : i+n-1])
			for ; ok && len(rest) == 0 && k > 0 && k < 256 && blanks > 0; k-- {
				dst = append(dst, ' ')
				blanks--
			}
		}
		i += n
	}
	return dst
}

// escapeLen returns the length of the control sequence at the beginning of b. ECMA-48 has three
// kinds of control sequences:
//
//   - ESC '[', then any number of bytes 0x20-0x3f, then one final byte 0x40-0x7e.
//   - ESC, then any number of bytes 0x20-0x2f, then one final byte, as in "\x1b(B".
//   - ESC ']', '_', 'P', 'X' or '^', then a string, which ends with BEL or ESC '\'. It may be a
//     title, or the time that Buildkite puts before a line: "\x1b_bk;t=1763604003123\x07".
func escapeLen(b []byte) int {
	if len(b) == 1 {
		return 1
	}
	i := 1
	switch b[1] {
	case '[':
		for i++; i < len(b) && b[i] >= 0x20 && b[i] <= 0x3f; {
			i++
		}
	case ']', '_', 'P', 'X', '^':
		if n := stringEnd(b[1:]); n > 0 {
			return 1 + n
		}
	default:
		for i < len(b) && b[i] >= 0x20 && b[i] <= 0x2f {
			i++
		}
	}
	return min(i+1, len(b))
}

// stringEnd returns the length of the string at the beginning of b if it ends within 256 bytes,
// else 0.
func stringEnd(b []byte) int {
	for i, c := range b[:min(len(b), 256)] {
		if c == 0x07 || c == '\\' && i > 0 && b[i-1] == search.Escape {
			return i + 1
		}
	}
	return 0
}
