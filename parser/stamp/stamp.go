package stamp

import (
	"bytes"
	"time"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// A Stamp is the time that a line gives.
type Stamp struct {
	time.Time
	local    bool // without a zone; Time holds the digits as if they were UTC
	dateless bool // without a date; Time is on January 1 of the year 0
	yearless bool // without a year; Time is in the year 0
}

// Full is the detail of a time with date, year and zone.
const Full = 4

// Detail returns how complete the stamp is: from 0 for no time to [Full].
func (s Stamp) Detail() int {
	switch {
	case s.IsZero():
		return 0
	case s.dateless:
		return 1
	case s.yearless:
		return 2
	case s.local:
		return 3
	}
	return Full
}

// Into sets the time of a header, and the header's flags for the parts that the time lacks.
func (s Stamp) Into(h *record.Header) {
	h.Time, h.Local, h.Dateless, h.Yearless = s.Time, s.local, s.dateless, s.yearless
}

// A Line caches the times found in one line for all records of this line. Without it, each record
// would need a new search, and a line of 64 KiB may hold thousands of records.
type Line struct {
	head     Stamp // the time in text[:headEnd], which is at most SearchLimit bytes
	headEnd  int
	dated    Stamp // the first time with a date after SearchLimit; it ends at datedEnd
	datedEnd int
	searched int   // number of bytes that were searched for dated
	keyed    Stamp // the time after a key, anywhere in the line
	// keyedKnown is set if the line was searched for keyed already.
	keyedKnown bool
}

// RecordTime returns the time of a record that begins at the offset `at` of the line. It looks
// for a time before the record. It also looks for a time after a key such as "time" anywhere in
// the line, because some wrappers put the time last.
func (l *Line) RecordTime(text []byte, at int, last *Last) Stamp {
	begin := min(at, SearchLimit)
	if begin < l.headEnd || begin > l.headEnd && l.head.Detail() < 3 {
		l.head = Find(text[:begin])
		last.note(text[:begin], l.head)
	}
	l.headEnd = begin
	if l.head.Detail() < 4 && (bytes.IndexByte(text[:begin], '{') >= 0 ||
		bytes.IndexByte(text[:begin], '=') >= 0) {
		if !l.keyedKnown {
			l.keyed, l.keyedKnown = keyedTime(text), true
		}
		if l.keyed.Detail() > l.head.Detail() {
			return l.keyed
		}
	}
	if l.head.IsZero() && at > begin {
		return l.datedAfterHead(text, at)
	}
	return l.head
}

// A Last holds the time of an earlier line, and the text before that line's record. In most of
// the following lines, only the seconds of this text differ. So [Last.Reuse] reads only the
// seconds of such a line.
type Last struct {
	Stamp
	head []byte // the text before the record, with the time; empty if the time cannot be reused
	// head[second:end] holds the seconds, with or without a fraction.
	second, end int
}

// note remembers the time s, which was found in the text before a record.
func (l *Last) note(head []byte, s Stamp) {
	l.head = l.head[:0]
	if s.Detail() < 3 || len(head) > maxHead || bytes.IndexByte(head, '{') >= 0 ||
		bytes.IndexByte(head, '=') >= 0 {
		return // the text may have a key that gives another time
	}
	// The seconds follow the second colon of the time, which follows the first colon between digits.
	colon := 1
	for colon+6 <= len(head) && (head[colon] != ':' || !lex.IsDigit(head[colon-1]) ||
		!lex.IsDigit(head[colon+1])) {
		colon++
	}
	if colon+6 > len(head) || head[colon+3] != ':' || !lex.IsDigit(head[colon+4]) ||
		!lex.IsDigit(head[colon+5]) {
		return
	}
	if found, _, _ := clockAt(head, colon); found != s {
		return
	}
	l.second, l.end = colon+4, colon+6
	if l.end+1 < len(head) && (head[l.end] == '.' || head[l.end] == ',') &&
		lex.IsDigit(head[l.end+1]) {
		l.end += 1 + min(9, lex.CountDigits(head[l.end+1:]))
	}
	second, nanos, _ := secondsOf(head[l.second:l.end])
	s.Time = s.Add(-time.Duration(second)*time.Second - time.Duration(nanos))
	l.Stamp, l.head = s, append(l.head, head...)
}

// Reuse reports whether the text before a record equals the remembered text, except for the
// seconds. If so, Reuse sets the header's time.
func (l *Last) Reuse(head []byte, h *record.Header) bool {
	if len(l.head) != len(head) || len(head) == 0 ||
		string(head[:l.second]) != string(l.head[:l.second]) ||
		string(head[l.end:]) != string(l.head[l.end:]) {
		return false
	}
	second, nanos, ok := secondsOf(head[l.second:l.end])
	if !ok || len(head[l.second:l.end]) > 2 && head[l.second+2] != l.head[l.second+2] {
		return false
	}
	l.Into(h)
	h.Time = h.Time.Add(time.Duration(second*1e9 + nanos))
	return true
}

// Holds reports whether this text before a record is the one that [Last.Reuse] compares with.
func (l *Last) Holds(head []byte) bool { return string(l.head) == string(head) }

// secondsOf reads "03", or "03.123" with one to nine decimals. Any byte may replace the point.
func secondsOf(b []byte) (second, nanos int, ok bool) {
	second, ok = lex.ParseDigits(b[:2]), lex.IsDigit(b[0]) && lex.IsDigit(b[1])
	if len(b) > 3 {
		scale := 1_000_000_000
		for _, c := range b[3:] {
			scale /= 10
			nanos, ok = nanos+int(c-'0')*scale, ok && lex.IsDigit(c)
		}
	}
	return second, nanos, ok && second < 60
}

// maxStamp is larger than the length of any time with its date, without the zone.
const maxStamp = 48

// datedAfterHead returns the first time with a date that lies after the line's first SearchLimit
// bytes and before the offset `at`.
func (l *Line) datedAfterHead(text []byte, at int) Stamp {
	if l.datedEnd == 0 && at > l.searched {
		l.dated, l.datedEnd = firstDated(text[:at], max(SearchLimit, l.searched)-maxStamp)
		l.searched = at
	}
	if l.datedEnd == 0 || l.datedEnd > at {
		return Stamp{}
	}
	return l.dated
}

// firstDated returns the first time with a date that has its first colon at or after the offset
// `from`. It also returns the offset where the time ends.
func firstDated(b []byte, from int) (s Stamp, end int) {
	for at := from; ; at++ {
		colon := bytes.IndexByte(b[at:], ':')
		if colon < 0 {
			return Stamp{}, 0
		}
		at += colon
		if s, _, end = clockAt(b, at); s.Detail() >= 3 {
			return s, end
		}
	}
}

// SearchLimit is the number of bytes at the beginning of a line that are searched for all kinds of
// times. Later bytes are searched only for times with a date.
const SearchLimit = 512

// Find returns the time in the text before a record. It prefers the first time with a date. If no
// time has a date, it returns the first time without one. It knows these forms:
//
//	2026-11-20T02:00:03.123Z                        ISO 8601, RFC 3339
//	[2026-01-10 02:14:07,123] [INFO]                Python's logging
//	2026/01/10 02:14:07.123, 0, Tesla V100          nvidia-smi
//	[2024-03-27 22:09]                              ComfyUI
//	01/10/2026 02:14:07 - INFO                      Transformers: month, day
//	26/01/10 02:14:07 INFO                          Spark: year, month, day
//	20/Nov/2026:02:00:03 +0000                      access logs
//	Fri Nov 20 02:00:03 2026                        date(1), nvidia-smi
//	20261120T020003Z
//	[1700000000.123]                                seconds, or milliseconds, since 1970
//	Nov 20 02:00:03                                 syslog: no year
//	I1120 02:00:03.123456                           glog: no year
//	INFO 11-20 02:00:03 [gpu_model_runner.py:1843]  vLLM: no year
//	[02:00:03,123] [23:16:01:785372]                no date
//
// A time without a year or a date counts only at the head of the line, where loggers put it.
// Elsewhere it may be the duration of an epoch, or a position in a film.
func Find(b []byte) (s Stamp) {
	b = b[:min(len(b), SearchLimit)]
	for at := 0; ; at++ {
		colon := bytes.IndexByte(b[at:], ':')
		if colon < 0 {
			break
		}
		at += colon
		found, start, end := clockAt(b, at)
		switch {
		case found.IsZero():
		case found.Detail() >= 3:
			return found
		case s.IsZero() && (found.yearless && !lex.IsDigit(b[start]) || atHead(b[:start], b[end:])):
			s = found
		}
	}
	if !s.IsZero() || len(b) < len("1700000000") {
		return s
	}
	if s = findCompact(b); s.IsZero() {
		s = leadingEpoch(b)
	}
	return s
}

// maxHead is the longest text before the time at the beginning of a line, in bytes.
const maxHead = 128

// atHead reports whether a time is at the head of a line: before the message, where loggers put
// it. The caller asks this about times without a date, and about times whose month and day are
// digits. The time may follow only texts that programs and launchers put there:
//
//	(EngineCore_DP0 pid=964370) INFO 03-09 09:32:24 [gpu_model_runner.py:5360]
//	[default0]:[02:00:03] [INFO]
//	2342727,15:47:02.841977,free,0x10012400000,1048576,0
//
// In the following lines, the text before or behind the digits shows that they are no time of
// day:
//
//	Epoch: [0]  [120/128]  eta: 10:12:43  lr: 0.0001
//	 50%|█████     | 10/20 [10:02:03<10:00:00, 3600.00s/it]
//	[00:01:02.000 --> 00:01:05.000]   Good morning to all of you.    (printed by Whisper)
func atHead(before, behind []byte) bool {
	if len(before) > maxHead {
		return false
	}
	if len(behind) > 0 && (lex.IsTextByte(behind[0]) || behind[0] == '<' || behind[0] == '/' ||
		behind[0] == '%' || behind[0] == ':' && len(behind) > 1 && lex.IsDigit(behind[1])) {
		return false
	}
	if next := lex.TrimBlanks(behind); bytes.HasPrefix(next, []byte("-->")) ||
		bytes.HasPrefix(next, []byte("/ ")) || bytes.HasPrefix(next, []byte("<")) {
		return false
	}
	if n := len(before); n > 1 && before[n-1] == ',' && lex.IsDigit(before[n-2]) && len(behind) > 0 &&
		behind[0] == ',' {
		return lex.CountDigits(before) == n-1 // the first column is the number of a thread
	}
	if key, ok := keyBefore(before); ok {
		return isTimeKey(key) || isMessageKey(key)
	}
	for opened := false; ; {
		trimmed := bytes.TrimRight(before, " \t")
		n := len(trimmed)
		if n == 0 {
			return true
		}
		adjacent := n == len(before)
		before = trimmed
		switch c := before[n-1]; {
		case c == '[' || c == '"' || c == '\'' || c == '(':
			if opened {
				return false
			}
			opened, before = true, before[:n-1]
		case c == ']' || c == ')':
			open := bytes.LastIndexByte(before, map[byte]byte{']': '[', ')': '('}[c])
			if open < 0 {
				return false
			}
			before = before[:open]
		case c == '|' || c == '-' && !adjacent:
			// docker compose puts a text before the time: worker-1  | 02:00:03 INFO
			before = bytes.TrimRight(before[:n-1], " \t")
			if word := trailingWord(before); word == len(before) || isLevel(before[len(before)-word:]) {
				before = before[:len(before)-word]
			}
		case c == ':' && n > 1 && (before[n-2] == ']' || before[n-2] == ')'):
			before = before[:n-1]
		case c == ':' && !adjacent: // rank0: 02:00:03
			before = before[:n-1]
			word := trailingWord(before)
			if word == 0 || !isLevel(before[n-1-word:]) && (word < n-1 || !lex.IsDigit(before[n-2])) {
				return false
			}
			before = before[:n-1-word]
		default:
			word := trailingWord(before)
			if word == 0 || !isLevel(before[n-word:]) || adjacent && !opened {
				return false
			}
			before = before[:n-word]
		}
	}
}

// trailingWord returns the length of the word at the end of the text, such as a program's name.
func trailingWord(b []byte) (n int) {
	for n < len(b) && (lex.IsTextByte(b[len(b)-1-n]) || b[len(b)-1-n] == '-' || b[len(b)-1-n] == '.') {
		n++
	}
	return n
}

// isLevel reports whether a word is a logger's level, or glog's letter for one.
func isLevel(word []byte) bool {
	return len(word) == 1 && bytes.IndexByte([]byte("IWED"), word[0]) >= 0 || lex.IsLevel(word)
}
