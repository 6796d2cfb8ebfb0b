package source

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"vramsoak/parser/lex"
)

// DockerLog is the beginning of each line that Docker's json-file driver writes. The program's
// line is inside the JSON:
//
//	{"log":"[GPU Memory] After Whisper Cleanup: Allocated: 0.18GB\n","stream":"stderr","time":"2026-11-20T02:00:03.123456789Z"}
//
// Dialects see only the program's line. The records in this line get the time that Docker gives.
const DockerLog = `{"log":"`

// IsDocker reports whether a text begins like a line of Docker's json-file driver. Blanks behind
// the colon do not matter.
func IsDocker(text []byte) bool {
	rest, ok := lex.CutPrefix(text, DockerLog[:len(DockerLog)-1])
	rest = lex.TrimBlanks(rest)
	return ok && len(rest) > 0 && rest[0] == '"'
}

// jsonHead is how many bytes at a log's beginning are searched for a log driver's JSON.
const jsonHead = 4 << 10

// BeginsWithJSON reports whether one of the first lines of a text is in a log driver's JSON. Other
// wrappers may be around the JSON.
func BeginsWithJSON(text []byte) bool {
	var u Unwrapper
	text = text[:min(len(text), jsonHead)]
	for line := range bytes.Lines(text) {
		if w, ok := u.Unwrap(bytes.TrimRight(line, "\r\n")); ok && w.Kind&wrapJSON != 0 {
			return true
		}
	}
	return false
}

// appendUnquoted appends the text of a JSON string to dst. The string begins at b, behind its first
// quote. A log may end inside of it.
func appendUnquoted(dst, b []byte) []byte {
	for len(b) > 0 && b[0] != '"' {
		if b[0] != '\\' || len(b) == 1 {
			i := bytes.IndexAny(b[1:], `\"`)
			if i < 0 {
				return append(dst, b...)
			}
			dst, b = append(dst, b[:i+1]...), b[i+1:]
			continue
		}
		c := b[1]
		b = b[2:]
		switch c {
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'b', 'f':
		case 'u':
			r, n := cutHex(b), 4
			if utf16.IsSurrogate(r) && len(b) > 6 && b[4] == '\\' && b[5] == 'u' {
				r, n = utf16.DecodeRune(r, cutHex(b[6:])), 10
			}
			dst = utf8.AppendRune(dst, r)
			b = b[min(n, len(b)):]
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// cutHex returns the character whose code is the four hexadecimal digits at the beginning of b.
func cutHex(b []byte) rune {
	n, err := strconv.ParseUint(string(b[:min(4, len(b))]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}
