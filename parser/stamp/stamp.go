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
	local    bool // without a zone: the digits are as if they were UTC
	dateless bool // the time of day alone, of January 1 of the year 0
	yearless bool // of the year 0
}

// worth orders stamps by how much they say.
func (s Stamp) detail() int {
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
	return 4
}

// Into makes it a header's time.
func (s Stamp) Into(h *record.Header) {
	h.Time, h.Local, h.Dateless, h.Yearless = s.Time, s.local, s.dateless, s.yearless
}

// Line are the times of a line, found once for all of its records: a line of 64 KiB may hold thousands.
type Line struct {
	head       Stamp // in text[:at], at most stampMargin into the line
	headEnd    int
	dated      Stamp // the first with a date behind stampMargin, which ends at end
	datedEnd   int
	searched   int   // so far for later
	keyed      Stamp // behind a key, anywhere
	keyedKnown bool  // for keyed
}

// Of is the time of a record that begins at an offset of the line. What stands before it counts, or behind a key where a
// wrapper puts the time last.
func (l *Line) RecordTime(text []byte, at int, last *Last) Stamp {
	begin := min(at, SearchLimit)
	if begin < l.headEnd || begin > l.headEnd && l.head.detail() < 3 {
		l.head = Find(text[:begin])
		last.note(text[:begin], l.head)
	}
	l.headEnd = begin
	if l.head.detail() < 4 && (bytes.IndexByte(text[:begin], '{') >= 0 || bytes.IndexByte(text[:begin], '=') >= 0) {
		if !l.keyedKnown {
			l.keyed, l.keyedKnown = keyedTime(text), true
		}
		if l.keyed.detail() > l.head.detail() {
			return l.keyed
		}
	}
	if l.head.IsZero() && at > begin {
		return l.datedAfterHead(text, at)
	}
	return l.head
}

// A Last is the time of an earlier line and what stood before its record. Of the lines that follow most differ from it
// in the seconds alone, so that only these need be read.
type Last struct {
	Stamp
	head []byte // what stood before the record, with the time; empty where there is none to go by
	// head[second:end] are the seconds, with a fraction or without.
	second, end int
}

// note keeps the time that was found in what stands before a record.
func (l *Last) note(head []byte, s Stamp) {
	l.head = l.head[:0]
	if s.detail() < 3 || len(head) > maxHead || bytes.IndexByte(head, '{') >= 0 || bytes.IndexByte(head, '=') >= 0 {
		return // by a key another time may be found
	}
	// It is the one around the first colon that stands between digits.
	colon := 1
	for colon+6 <= len(head) && (head[colon] != ':' || !lex.IsDigit(head[colon-1]) || !lex.IsDigit(head[colon+1])) {
		colon++
	}
	if colon+6 > len(head) || head[colon+3] != ':' || !lex.IsDigit(head[colon+4]) || !lex.IsDigit(head[colon+5]) {
		return
	}
	if found, _, _ := clockAt(head, colon); found != s {
		return
	}
	l.second, l.end = colon+4, colon+6
	if l.end+1 < len(head) && (head[l.end] == '.' || head[l.end] == ',') && lex.IsDigit(head[l.end+1]) {
		l.end += 1 + min(9, lex.CountDigits(head[l.end+1:]))
	}
	second, nanos, _ := secondsOf(head[l.second:l.end])
	s.Time = s.Add(-time.Duration(second)*time.Second - time.Duration(nanos))
	l.Stamp, l.head = s, append(l.head, head...)
}

// Recurs says whether what stands before a record is what stood there last, but for the seconds, and gives a header its time.
func (l *Last) Reuse(head []byte, h *record.Header) bool {
	if len(l.head) != len(head) || len(head) == 0 ||
		string(head[:l.second]) != string(l.head[:l.second]) || string(head[l.end:]) != string(l.head[l.end:]) {
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

// secondsOf reads "03", or "03.123" with one to nine digits behind any byte.
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

// stampMax is longer than a time with its date, up to the zone.
const maxStamp = 48

// behind is the first time with a date that stands behind the line's first bytes, and before an offset.
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

// firstDated is the first time with a date whose colon stands at an offset of the text or behind it, and where it ends.
func firstDated(b []byte, from int) (s Stamp, end int) {
	for at := from; ; at++ {
		colon := bytes.IndexByte(b[at:], ':')
		if colon < 0 {
			return Stamp{}, 0
		}
		at += colon
		if s, _, end = clockAt(b, at); s.detail() >= 3 {
			return s, end
		}
	}
}

// Margin is how far into a line a time without a date, or one of another form than 2026-11-20 02:00:03, is looked for.
const SearchLimit = 512

// Find looks for the time in what stands before a record. The first that has a date is the line's, else the first one:
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
// Times of day without a year or a date must stand where logs have them, at the head of the line: elsewhere they are what
// is left of an epoch, or a place in a film.
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
		case found.detail() >= 3:
			return found
		case s.IsZero() && (found.yearless && !lex.IsDigit(b[start]) || atHead(b[:start], b[end:])):
			s = found
		}
	}
	if s.IsZero() {
		s = findCompact(b)
	}
	if s.IsZero() {
		s = leadingEpoch(b)
	}
	return s
}

// stampHead is how long a line's head may be before its time, in bytes.
const maxHead = 128

// atHead says that a time without a date, or one with a month and a day in digits, stands where a log has it: at the head of
// the line, behind at most what programs and launchers put there.
//
//	(EngineCore_DP0 pid=964370) INFO 03-09 09:32:24 [gpu_model_runner.py:5360]
//	[default0]:[02:00:03] [INFO]
//	2342727,15:47:02.841977,free,0x10012400000,1048576,0
//
// A duration stands elsewhere, or is followed by another one:
//
//	Epoch: [0]  [120/128]  eta: 10:12:43  lr: 0.0001
//	 50%|█████     | 10/20 [10:02:03<10:00:00, 3600.00s/it]
//	[00:01:02.000 --> 00:01:05.000]   a whisper's words
func atHead(before, behind []byte) bool {
	if len(before) > maxHead {
		return false
	}
	if len(behind) > 0 && (lex.IsTextByte(behind[0]) || behind[0] == '<' || behind[0] == '/' || behind[0] == '%' || behind[0] == ':' && len(behind) > 1 && lex.IsDigit(behind[1])) {
		return false
	}
	if next := lex.TrimBlanks(behind); bytes.HasPrefix(next, []byte("-->")) || bytes.HasPrefix(next, []byte("/ ")) || bytes.HasPrefix(next, []byte("<")) {
		return false
	}
	if n := len(before); n > 1 && before[n-1] == ',' && lex.IsDigit(before[n-2]) && len(behind) > 0 && behind[0] == ',' {
		return lex.CountDigits(before) == n-1 // the first column is a number, of a thread
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
			// worker-1  | 02:00:03 INFO
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

// trailingWord is the length of the word that the text ends with, such as a program's name.
func trailingWord(b []byte) (n int) {
	for n < len(b) && (lex.IsTextByte(b[len(b)-1-n]) || b[len(b)-1-n] == '-' || b[len(b)-1-n] == '.') {
		n++
	}
	return n
}

func isLevel(word []byte) bool {
	switch string(word) {
	case "INFO", "DEBUG", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "TRACE", "NOTICE", "I", "W", "E", "D",
		"info", "debug", "warning", "warn", "error", "critical", "fatal", "trace", "notice":
		return true
	}
	return false
}
