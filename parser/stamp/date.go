package stamp

import (
	"bytes"

	"vramsoak/parser/lex"
)

// A date is the date that a line gives before its time of day.
type date struct {
	year, month, day int
	gap              Gap
}

// A Gap says which part of its date a time lacks.
type Gap uint8

// The gaps, from the smallest to the largest.
const (
	NoGap Gap = iota
	NoYear
	NoDate
)

var undated = date{0, 1, 1, NoDate}

// dateBefore returns the date at the end of b, the text before a time of day, and the offset where
// the date begins. If the text does not end with a date, it returns undated.
func dateBefore(b []byte) (d date, start int) {
	end := len(b)
	if end == 0 {
		return undated, end
	}
	if end >= 11 && (end == 11 || !lex.IsDigit(b[end-12])) {
		if d, ok := isoDate(b[end-11:]); ok {
			return d, end - 11
		}
	}
	joint := b[end-1]
	switch joint {
	case 'T', 't', ':', '_', '-':
		end--
	case ' ':
		for end > 0 && b[end-1] == ' ' {
			end--
		}
		if end > 0 && b[end-1] == ',' { // Nov 20, 2026, 02:00:03
			end--
		}
	default:
		return undated, end
	}
	b = b[:end]
	n := trailingDigits(b)
	last := 0
	if n > 0 && n <= 8 {
		last = lex.ParseDigits(b[end-n:])
	}
	start = end - n
	switch {
	case joint == ':':
		if n == 4 {
			d, start = dateWithMonthName(b[:start], last)
		}
	case n == 8: // 20261120 and glog's I20261120
		d = date{year: last / 10000, month: last / 100 % 100, day: last % 100}
		if start > 0 && lex.IsTextByte(b[start-1]) {
			if start--; joint != ' ' || !endsWithGlogLevel(b[:start+1]) {
				return undated, end
			}
		}
	case n == 4 && joint == ' ' && start > 0 && endsWithGlogLevel(b[:start]): // I1120
		d, start = date{month: last / 100, day: last % 100, gap: NoYear}, start-1
	case n == 4:
		if d, start = dateEndingInYear(b[:start], last); d.month == 0 {
			d, start = dateWithMonthName(b[:end-n], last)
		}
	case n == 1 || n == 2:
		d, start = dateEndingInTwoDigits(b, start, last)
	}
	if d.month < 1 || d.month > 12 || d.day < 1 || d.day > 31 ||
		d.gap == NoGap && (d.year < 1970 || d.year >= 2200) {
		return undated, len(b)
	}
	return d, start
}

// isoDate reads "2026-11-20T" and "2026/11/20 ". It is a fast path, because nearly all logs write
// dates in one of these two ways.
func isoDate(b []byte) (d date, ok bool) {
	_ = b[10]
	if b[4] != '-' && b[4] != '/' || b[7] != b[4] || b[10] != 'T' && b[10] != ' ' {
		return date{}, false
	}
	y1, y2, y3, y4, m1, m2, d1, d2 := b[0]-'0', b[1]-'0', b[2]-'0', b[3]-'0', b[5]-'0', b[6]-'0',
		b[8]-'0', b[9]-'0'
	if y1 > 9 || y2 > 9 || y3 > 9 || y4 > 9 || m1 > 9 || m2 > 9 || d1 > 9 || d2 > 9 {
		return date{}, false
	}
	d.year, d.month, d.day = int(y1)*1000+int(y2)*100+int(y3)*10+int(y4), int(m1)*10+int(m2),
		int(d1)*10+int(d2)
	return d, d.year >= 1970 && d.year < 2200 && d.month >= 1 && d.month <= 12 && d.day >= 1 &&
		d.day <= 31
}

// dateEndingInTwoDigits reads the date at the end of b, if the date's last number has at most two
// digits: "2026-11-20", "11-20", "Nov 3", "26/11/20", "11/20/26", "20-Nov-26". The parameter
// start is the offset of this last number, and last is its value. The result from is the offset
// of the whole date. If b ends with no such date, d.month is 0.
func dateEndingInTwoDigits(b []byte, start, last int) (d date, from int) {
	if start == 0 {
		return date{}, 0
	}
	sep := b[start-1]
	n := trailingDigits(b[:start-1])
	from = start - 1 - n
	switch {
	case (sep == '-' || sep == '/') && (n == 1 || n == 2):
		second := lex.ParseDigits(b[from : from+n])
		if from == 0 || b[from-1] != sep {
			if from > 0 && lex.IsTextByte(b[from-1]) {
				return date{}, 0
			}
			return date{month: second, day: last, gap: NoYear}, from // 11-20
		}
		m := trailingDigits(b[:from-1])
		first := from - 1 - m
		switch value := lex.ParseDigits(b[first : first+min(m, 4)]); {
		case m == 4:
			return date{year: value, month: second, day: last}, first // 2026-11-20
		case m != 2 || sep != '/' || first > 0 && (lex.IsTextByte(b[first-1]) || b[first-1] == sep):
			return date{}, 0
		case value > 12:
			return date{year: 2000 + value, month: second, day: last}, first // 26/11/20
		default:
			return date{year: 2000 + last, month: value, day: second}, first // 11/20/26, from Rich
		}
	case sep == '-' && n == 0: // 20-Nov-26
		return dateWithMonthName(b[:start], 2000+last)
	case sep == ' ':
		for start > 0 && b[start-1] == ' ' {
			start--
		}
		if month, at := monthBefore(b[:start]); month > 0 { // Nov 20, Nov  3
			return date{month: month, day: last, gap: NoYear}, at
		}
	}
	return date{}, 0
}

// dateEndingInYear reads a date that ends with a year. The parameter b is the text before the
// year, such as "11/20/". The result from is the offset in b at which the date begins. If b does
// not end like a date, d.month is 0. "11/20/2026" is read as month and day, as in Python's
// examples, unless the first number is too large for a month. "20.11.2026" is read as day and
// month.
func dateEndingInYear(b []byte, year int) (d date, from int) {
	end := len(b) - 1
	if end < 3 || b[end] != '/' && b[end] != '-' && b[end] != '.' {
		return date{}, 0
	}
	n := trailingDigits(b[:end])
	from = end - n
	if n < 1 || n > 2 || from < 2 || b[from-1] != b[end] {
		return date{}, 0
	}
	m := trailingDigits(b[:from-1])
	first := from - 1 - m
	if m < 1 || m > 2 || first > 0 && (lex.IsTextByte(b[first-1]) || b[first-1] == b[end]) {
		return date{}, 0
	}
	d = date{
		year: year, month: lex.ParseDigits(b[first : first+m]),
		day: lex.ParseDigits(b[from : from+n]),
	}
	if d.month > 12 || b[end] == '.' {
		d.month, d.day = d.day, d.month
	}
	return d, first
}

// dateWithMonthName reads a date that has the name of a month and ends with a year. The parameter
// b is the text before the year: "20/Nov/", "20-Nov-", "20 Nov ", "Nov 20, ". The results are as
// in [dateEndingInYear].
func dateWithMonthName(b []byte, year int) (d date, from int) {
	if len(b) == 0 || b[len(b)-1] != '/' && b[len(b)-1] != '-' && b[len(b)-1] != ' ' {
		return date{}, 0
	}
	sep := b[len(b)-1]
	b = b[:len(b)-1]
	month, at := monthBefore(b)
	if month > 0 {
		if at == 0 || b[at-1] != sep {
			return date{}, 0
		}
		n := trailingDigits(b[:at-1])
		if from = at - 1 - n; n < 1 || n > 2 || from > 0 && lex.IsTextByte(b[from-1]) {
			return date{}, 0
		}
		return date{year: year, month: month, day: lex.ParseDigits(b[from : from+n])}, from
	}
	if sep != ' ' {
		return date{}, 0
	}
	b = bytes.TrimSuffix(b, []byte{','})
	n := trailingDigits(b)
	if n < 1 || n > 2 {
		return date{}, 0
	}
	day := lex.ParseDigits(b[len(b)-n:])
	b = bytes.TrimRight(b[:len(b)-n], " ")
	if month, from = monthBefore(b); month == 0 {
		return date{}, 0
	}
	return date{year: year, month: month, day: day}, from
}

const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

// beginsWithMonth reports whether a date begins with the name of a month ("Nov 20"), not with a
// digit, and not with a glog level such as the "I" in "I1120".
func beginsWithMonth(b []byte) bool {
	return len(b) > 1 && !lex.IsDigit(b[0]) && !lex.IsDigit(b[1])
}

// monthBefore returns the month, from 1, whose short name such as "Nov" is at the end of b, and the
// offset of the name. month is 0 if b does not end with a month.
func monthBefore(b []byte) (month, start int) {
	start = len(b) - 3
	if start < 0 || start > 0 && lex.IsTextByte(b[start-1]) || b[start] < 'A' || b[start] > 'S' {
		return 0, 0
	}
	for i := 0; i < len(months); i += 3 {
		if string(b[start:]) == months[i:i+3] {
			return i/3 + 1, start
		}
	}
	return 0, 0
}

// cutYear sets the year of a date from rest, the text behind the time of day. In "Fri Nov 20
// 02:00:03 2026" rest is " 2026". A time zone may precede the year, as in " CET 2026". cutYear
// returns the text from which the zone is read next: " CET" in the second example, and the text
// behind the year in the first. If rest does not begin with a year, it returns rest.
func (d *date) cutYear(rest []byte) (behind []byte) {
	text := lex.TrimBlanks(rest)
	word := 0
	for word < len(text) && text[word] >= 'A' && text[word] <= 'Z' {
		word++
	}
	year := text[word:]
	if word > 0 {
		if word < 3 || word > 4 || text[word-1] != 'T' && string(text[:word]) != "UTC" &&
			string(text[:word]) != "MSK" {
			return rest
		}
		year = lex.TrimBlanks(year)
	}
	if lex.CountDigits(year) != 4 || len(text) == len(rest) ||
		len(year) > 4 && lex.IsTextByte(year[4]) {
		return rest
	}
	if n := lex.ParseDigits(year[:4]); n >= 2000 && n < 2100 {
		d.year, d.gap = n, NoGap
		if word > 0 {
			return rest[:len(rest)-len(text)+word]
		}
		return year[4:]
	}
	return rest
}

// endsWithGlogLevel reports whether the text ends with a level of glog, such as the "I" in "I1120
// 02:00:03.123456".
func endsWithGlogLevel(b []byte) bool {
	n := len(b)
	return n > 0 && bytes.IndexByte([]byte("IWEFD"), b[n-1]) >= 0 &&
		(n == 1 || !lex.IsTextByte(b[n-2]))
}

// trailingDigits returns the number of digits that the text ends with.
func trailingDigits(b []byte) (n int) {
	for n < len(b) && lex.IsDigit(b[len(b)-1-n]) {
		n++
	}
	return n
}
