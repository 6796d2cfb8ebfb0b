package source

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// DockerLog begins each line that Docker's json-file driver writes. The line of the program is
// inside:
//
//	{"log":"[GPU Memory] After Whisper Cleanup: Allocated: 0.18GB\n","stream":"stderr","time":"2026-11-20T02:00:03.123456789Z"}
//
// Dialects read the line of the program. Its time is the one that Docker gives.
const DockerLog = `{"log":"`

// IsDocker reports whether a text begins like a line of Docker's.
func IsDocker(text []byte) bool {
	return len(text) > 0 && text[0] == '{' && bytes.HasPrefix(text, []byte(DockerLog))
}

// Unwrap appends the line of the program that is inside a line of a container's log. ok is false,
// and dst as it was, if the line is not wrapped. The time of the record is that of the wrapper. A
// new wrapper is taken off here.
func Unwrap(dst, line []byte) (text []byte, ok bool) {
	line = WithoutHole(line)
	if !IsDocker(line) {
		return dst, false
	}
	return appendDocker(dst, line), true
}

// appendDocker appends the line of the program that is inside a line of Docker's. A '\r' of a
// progress bar becomes a blank.
func appendDocker(dst, b []byte) []byte {
	b = b[len(DockerLog):]
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
		case 'r':
			dst = append(dst, ' ')
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

// cutHex returns the character that four hexadecimal digits stand for.
func cutHex(b []byte) rune {
	n, err := strconv.ParseUint(string(b[:min(4, len(b))]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}
