package stamp

import (
	"bytes"
	"time"

	"vramsoak/parser/lex"
)

// maxKey is the largest length of a key, in bytes.
const maxKey = 16

// keyedTime returns the time after a key of JSON or logfmt, anywhere in the line. If the line has
// several, it returns the time with the most detail:
//
//	{"log":"[GPU Memory] Before ...\n","stream":"stderr","time":"2026-11-20T02:00:03.123456789Z"}
//	level=info msg="..." ts=1700000000.123
func keyedTime(text []byte) (best Stamp) {
	for i, c := range text {
		if c != '=' && c != ':' {
			continue
		}
		key, ok := keyBefore(text[:i+1])
		if !ok || !isTimeKey(key) {
			continue
		}
		value := bytes.TrimLeft(text[i+1:min(len(text), i+64)], " \t\\\"'")
		s, behind := cutEpoch(value)
		if s.IsZero() || len(behind) > 0 && lex.IsTextByte(behind[0]) {
			s = Parse(value)
		}
		if s.Detail() > best.Detail() {
			if best = s; s.Detail() == 4 {
				break
			}
		}
	}
	return best
}

// Parse returns the time at the beginning of the text.
func Parse(text []byte) Stamp {
	if lex.CountDigits(text) == 8 {
		if s := findCompact(text); !s.IsZero() {
			return s
		}
	}
	for at := 0; at < len(text); at++ {
		colon := bytes.IndexByte(text[at:], ':')
		if colon < 0 {
			break
		}
		at += colon
		if s, start, _ := clockAt(text, at); !s.IsZero() && start == 0 {
			return s
		}
	}
	return Stamp{}
}

// keyBefore returns the key at the end of the text, as in `"time": "` and `ts=`. Between the key
// and the end of the text there may be quotes, blanks and one colon or equals sign.
func keyBefore(b []byte) (key []byte, ok bool) {
	b = cutQuote(b)
	b = bytes.TrimRight(b, " ")
	if len(b) == 0 {
		return nil, false
	}
	switch b[len(b)-1] {
	case '=':
		b = bytes.TrimRight(b[:len(b)-1], " ")
	case ':':
		b = bytes.TrimRight(b[:len(b)-1], " ")
		named := cutQuote(b)
		if len(named) == len(b) {
			return nil, false
		}
		b = named
	default:
		return nil, false
	}
	n := 0
	for n < len(b) && n <= maxKey && (lex.IsTextByte(b[len(b)-1-n]) || b[len(b)-1-n] == '@') {
		n++
	}
	return b[len(b)-n:], n > 0
}

// cutQuote cuts one quote off the end of the text. The quote may have a backslash before it.
func cutQuote(b []byte) []byte {
	if n := len(b); n > 0 && (b[n-1] == '"' || b[n-1] == '\'') {
		return bytes.TrimRight(b[:n-1], `\`)
	}
	return b
}

func isTimeKey(key []byte) bool {
	switch string(key) {
	case "time", "ts", "timestamp", "@timestamp", "asctime", "datetime", "date", "created", "Time",
		"Timestamp", "TIMESTAMP":
		return true
	}
	return false
}

func isMessageKey(key []byte) bool {
	switch string(key) {
	case "log", "msg", "message", "event", "text", "line", "textPayload":
		return true
	}
	return false
}

// leadingEpoch returns the time at the beginning of a line if this time is a number that counts
// from 1970, see [cutEpoch]: "1700000000.123 ", "[1700000000.123] ". It ignores the "[12345.678]"
// of the Linux kernel, which counts seconds from the start of the machine.
func leadingEpoch(b []byte) Stamp {
	b = lex.TrimBlanks(b)
	for b = b[:min(len(b), 64)]; len(b) > 0 && bytes.IndexByte([]byte("[(\"'"), b[0]) >= 0; {
		b = b[1:]
	}
	s, rest := cutEpoch(b)
	if s.IsZero() {
		return s
	}
	if len(rest) > 0 && bytes.IndexByte([]byte(" \t])\"',;:|"), rest[0]) < 0 {
		return Stamp{}
	}
	if unit, _ := lex.CutUnit(rest); unit > 0 {
		return Stamp{}
	}
	return s
}

// cutEpoch cuts a time since 1970 off the beginning of the text. The number of digits says whether
// the unit is seconds, milliseconds, microseconds or nanoseconds. cutEpoch reads only times from
// 2001 to 2039.
func cutEpoch(b []byte) (s Stamp, rest []byte) {
	n := lex.CountDigits(b)
	if n != 10 && n != 13 && n != 16 && n != 19 {
		return Stamp{}, b
	}
	seconds := lex.ParseDigits(b[:10])
	if seconds < 1e9 || seconds >= 22e8 {
		return Stamp{}, b
	}
	nanos, scale := 0, 100_000_000
	fraction := func(text []byte) {
		for _, c := range text {
			nanos += int(c-'0') * scale
			scale /= 10
		}
	}
	fraction(b[10:n])
	rest = b[n:]
	if len(rest) > 1 && rest[0] == '.' && lex.IsDigit(rest[1]) {
		n = lex.CountDigits(rest[1:])
		fraction(rest[1 : 1+n])
		rest = rest[1+n:]
	}
	s.Time = time.Unix(int64(seconds), int64(nanos)).UTC()
	return s, rest
}
