package parser

import "time"

// findTime looks for the time in what stands before a record:
//
//	2026-11-20T02:00:03.123Z
//	[2026-01-10 02:14:07.123] [INFO]
//	2026-01-10 02:14:07,123 - pipeline - INFO -
//	2026-01-10 02:14:07+01:00
//
// local says that no zone stood there; the time then holds the digits as UTC. Without a time it is zero.
func findTime(b []byte) (t time.Time, local bool) {
	if i := timeIn(b, 0); i >= 0 {
		t, local, _ = timeAt(b[i:])
	}
	return t, local
}

// timeLen is the length of a time without a fraction and a zone.
const timeLen = len("2006-01-02T15:04:05")

// timeIn is where the first time stands in a text from an offset on, -1 where there is none.
func timeIn(b []byte, from int) int {
	for i := from; i+timeLen <= len(b); i++ {
		if i > 0 && isDigit(b[i-1]) {
			continue
		}
		if _, _, ok := timeAt(b[i:]); ok {
			return i
		}
	}
	return -1
}

func timeAt(b []byte) (t time.Time, local, ok bool) {
	for i, c := range []byte("dddd-dd-ddxdd:dd:dd") {
		switch {
		case c == 'd' && !isDigit(b[i]),
			c == 'x' && b[i] != 'T' && b[i] != ' ' && b[i] != 't',
			c == '-' && b[i] != '-' && b[i] != '/',
			c == ':' && b[i] != ':':
			return time.Time{}, false, false
		}
	}
	number := func(from, to int) (n int) {
		for _, c := range b[from:to] {
			n = n*10 + int(c-'0')
		}
		return n
	}
	month, day := number(5, 7), number(8, 10)
	hour, minute, second := number(11, 13), number(14, 16), number(17, 19)
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 {
		return time.Time{}, false, false
	}
	rest := b[19:]
	nanos := 0
	if len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') && isDigit(rest[1]) {
		rest = rest[1:]
		for scale := 100_000_000; len(rest) > 0 && isDigit(rest[0]); scale /= 10 {
			nanos += int(rest[0]-'0') * scale
			rest = rest[1:]
		}
	}
	t = time.Date(number(0, 4), time.Month(month), day, hour, minute, second, nanos, time.UTC)
	switch {
	case len(rest) > 0 && (rest[0] == 'Z' || rest[0] == 'z'):
		return t, false, true
	case len(rest) >= 5 && (rest[0] == '+' || rest[0] == '-') && isDigit(rest[1]) && isDigit(rest[2]):
		minutes := rest[3:]
		if minutes[0] == ':' {
			minutes = minutes[1:]
		}
		if len(minutes) < 2 || !isDigit(minutes[0]) || !isDigit(minutes[1]) {
			return t, true, true
		}
		offset := time.Duration(int(rest[1]-'0')*10+int(rest[2]-'0'))*time.Hour +
			time.Duration(int(minutes[0]-'0')*10+int(minutes[1]-'0'))*time.Minute
		if rest[0] == '+' {
			offset = -offset
		}
		return t.Add(offset), false, true
	}
	return t, true, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
