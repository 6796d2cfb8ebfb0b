package stamp

import (
	"bytes"
	"time"

	"vramsoak/parser/lex"
)

// clockAt reads the time whose first colon is at the offset `colon`, with its date and its zone.
// All parts of the time together are b[start:end].
func clockAt(b []byte, colon int) (s Stamp, start, end int) {
	if colon < 1 || colon+2 >= len(b) || !lex.IsDigit(b[colon-1]) || !lex.IsDigit(b[colon+1]) ||
		!lex.IsDigit(b[colon+2]) {
		return Stamp{}, 0, 0
	}
	start = colon - 1
	if start > 0 && lex.IsDigit(b[start-1]) {
		start--
	}
	if start > 0 && lex.IsDigit(b[start-1]) {
		return Stamp{}, 0, 0
	}
	short := colon-start == 1
	c := clock{hour: lex.ParseDigits(b[start:colon]), minute: lex.ParseDigits(b[colon+1 : colon+3])}
	rest, ok := c.cutSeconds(b[colon+3:])
	if !ok {
		return Stamp{}, 0, 0
	}
	d, from := dateBefore(b[:start])
	switch d.gap {
	case NoDate:
		if short || !c.hasSeconds {
			return Stamp{}, 0, 0
		}
	case NoYear:
		if !c.hasSeconds {
			return Stamp{}, 0, 0
		}
		if start = from; beginsWithMonth(b[start:]) {
			rest = d.cutYear(rest)
		}
	default:
		start = from
	}
	s = c.on(d)
	if rest, ok = s.cutZone(rest); ok {
		s.local = false
		if s.dateless || s.yearless {
			s.Time = s.AddDate(-s.Year(), 0, 0)
		}
		if s.dateless {
			s.Time = s.AddDate(0, 0, 1-s.YearDay())
		}
	}
	return s, start, len(b) - len(rest)
}

// A clock is a time of day.
type clock struct {
	hour, minute, second, nanos int
	hasSeconds                  bool
}

// cutSeconds cuts the seconds (":03"), a fraction, and AM or PM off the text behind "02:00". RMM
// writes a colon before the fraction:
//
//	[1051543][23:16:01:785372][error ]
func (c *clock) cutSeconds(rest []byte) (behind []byte, ok bool) {
	if len(rest) >= 3 && rest[0] == ':' && lex.IsDigit(rest[1]) && lex.IsDigit(rest[2]) {
		c.second, c.hasSeconds = lex.ParseDigits(rest[1:3]), true
		rest = rest[3:]
		if len(rest) > 1 && (rest[0] == '.' || rest[0] == ',' ||
			rest[0] == ':' && lex.CountDigits(rest[1:]) == 6) && lex.IsDigit(rest[1]) {
			rest = rest[1:]
			for scale := 100_000_000; len(rest) > 0 && lex.IsDigit(rest[0]); scale /= 10 {
				c.nanos += int(rest[0]-'0') * scale
				rest = rest[1:]
			}
		}
	}
	if len(rest) > 0 && (rest[0] == ':' && c.hasSeconds && len(rest) > 1 && lex.IsHex(rest[1]) ||
		lex.IsDigit(rest[0])) {
		return nil, false // a network address such as 00:1a:2b:3c:4d:5e
	}
	if len(rest) >= 3 && rest[0] == ' ' && rest[2] == 'M' && (rest[1] == 'A' || rest[1] == 'P') &&
		(len(rest) == 3 || !lex.IsTextByte(rest[3])) {
		if c.hour < 1 || c.hour > 12 {
			return nil, false
		}
		c.hour %= 12
		if rest[1] == 'P' {
			c.hour += 12
		}
		rest = rest[3:]
	}
	return rest, c.hour <= 23 && c.minute <= 59 && c.second <= 60
}

// on returns the stamp of the time of day c on the date d.
func (c clock) on(d date) Stamp {
	s := Stamp{local: true, dateless: d.gap == NoDate, yearless: d.gap == NoYear}
	s.Time = time.Date(d.year, time.Month(d.month), d.day, c.hour, c.minute, c.second, c.nanos,
		time.UTC)
	if d.day > 28 && c.second < 60 && s.Day() != d.day {
		return Stamp{} // a date such as February 30
	}
	return s
}

// cutZone cuts a zone off the beginning of the text and converts the time to UTC. It knows "Z",
// "+01:00", "+0100", "+01", " -0800", " UTC" and " GMT". Other names of zones are ambiguous.
func (s *Stamp) cutZone(rest []byte) (behind []byte, ok bool) {
	text := lex.TrimBlanks(rest)
	blank := len(text) < len(rest)
	if len(text) == 0 {
		return rest, false
	}
	switch text[0] {
	case 'Z', 'z':
		if !blank && (len(text) == 1 || !lex.IsTextByte(text[1])) {
			return text[1:], true
		}
	case 'U', 'G':
		if len(text) >= 3 && (string(text[:3]) == "UTC" || string(text[:3]) == "GMT") &&
			(len(text) == 3 || !lex.IsTextByte(text[3])) {
			return text[3:], true
		}
	case '+', '-':
		behind = text[1:]
		n := lex.CountDigits(behind)
		if n != 4 && n != 2 {
			return rest, false
		}
		hours, minutes := lex.ParseDigits(behind[:2]), 0
		colon := n == 2 && len(behind) > 2 && behind[2] == ':' && lex.CountDigits(behind[3:]) == 2
		switch {
		case colon:
			minutes, behind = lex.ParseDigits(behind[3:5]), behind[5:]
		case n == 4:
			minutes, behind = lex.ParseDigits(behind[2:4]), behind[4:]
		case blank: // a number behind a blank, as in " -12 MiB", is no zone
			return rest, false
		default:
			behind = behind[2:]
		}
		if hours > 14 || minutes > 59 {
			return rest, false
		}
		offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
		if text[0] == '+' {
			offset = -offset
		}
		s.Time = s.Add(offset)
		return behind, true
	}
	return rest, false
}

// findCompact returns the first time of the form 20261120T020003Z.
func findCompact(b []byte) Stamp {
	for at := 0; ; at++ {
		i := bytes.IndexByte(b[at:], 'T')
		if i < 0 {
			return Stamp{}
		}
		at += i
		if at < 8 || lex.CountDigits(b[at+1:]) != 6 {
			continue
		}
		d, from := dateBefore(b[:at+1])
		if at-from != 8 {
			continue
		}
		c := clock{hour: lex.ParseDigits(b[at+1 : at+3]), minute: lex.ParseDigits(b[at+3 : at+5])}
		rest, ok := c.cutSeconds(append([]byte{':'}, b[at+5:]...))
		if s := c.on(d); ok && !s.IsZero() {
			_, zoned := s.cutZone(rest)
			s.local = !zoned
			return s
		}
	}
}
