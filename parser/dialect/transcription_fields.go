package dialect

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// cutName splits a checkpoint at the colon before its first field: "Before Whisper Cleanup" and
// "Allocated: 7.23GB (30.1%)". It returns the two parts.
func cutName(text []byte) (name, fields []byte, ok bool) {
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], ':')
		if i < 0 {
			return nil, nil, false
		}
		from += i + 1
		if len(text) >= from+12 && string(text[from:from+12]) == " Allocated: " && from > 1 {
			return text[:from-1], text[from+1:], true
		}
		rest := lex.TrimBlanks(text[from:])
		if _, _, known := cutLabel(rest); known && from > 1 {
			return text[:from-1], rest, true
		}
	}
}

// labelOf returns the quantity whose label begins with the letter `first`, and this label in
// lower case. Pipelines print labels with a capital letter, and manuals also print them in lower
// case. "Cached" is the older word for reserved.
func labelOf(first byte) (word string, q record.Quantity) {
	switch first | 0x20 {
	case 'a':
		return "allocated", record.Allocated
	case 'r':
		return "reserved", record.Reserved
	case 'f':
		return "free", record.Free
	case 't':
		return "total", record.Total
	case 'c':
		return "cached", record.Reserved
	case 'u':
		return "used", record.Used
	case 'p':
		return "peak", record.Peak
	}
	return "", 0
}

// cutLabel cuts a field's label and its colon off the beginning of the text.
func cutLabel(text []byte) (q record.Quantity, rest []byte, ok bool) {
	if len(text) == 0 {
		return 0, nil, false
	}
	word, q := labelOf(text[0])
	if word == "" || len(text) <= len(word) || !equalFold(text[:len(word)], word) {
		return 0, nil, false
	}
	rest = text[len(word):]
	if rest[0] != ':' {
		if rest = lex.TrimBlanks(rest); len(rest) == 0 || rest[0] != ':' {
			return 0, nil, false
		}
	}
	return q, rest[1:], true
}

// equalFold reports whether b equals word, apart from upper and lower case. Both must be ASCII
// and have the same length, and word must be in lower case.
func equalFold(b []byte, word string) bool {
	for i := range b {
		if b[i]|0x20 != word[i] {
			return false
		}
	}
	return true
}

// firstValue returns the value of the first field, such as "1.00GB". A blank or a quote ends the
// value:
//
//	{"log":"[GPU Memory] A: Allocated: 1.00GB","stream":"stderr"}
func firstValue(fields []byte) []byte {
	_, rest, _ := bytes.Cut(fields, []byte(":"))
	rest = lex.TrimBlanks(rest)
	if i := bytes.IndexAny(rest, " \"'"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// readFields sets the sizes in a text such as "Allocated: 7.23GB (30.1%) | Reserved: 7.50GB
// (31.3%)". It returns the text behind the last field, and the first mistake in a field.
func readFields(c *record.Checkpoint, text []byte) (rest []byte, bad *lex.Mistake) {
	text, read := usualFields(&c.Reading, text)
	if read {
		var more bool
		if text, more = nextField(text); !more {
			return text, nil
		}
	}
	for {
		q, after, known := cutLabel(text)
		if !known {
			return text, bad
		}
		label := text[:len(text)-len(after)-1]
		after = lex.TrimBlanks(after)
		n, behind, ok := lex.CutNumber(after)
		unit, end := lex.CutUnit(behind)
		size, fits := n.Times(max(unit, 1))
		switch {
		case !ok || !fits || unit == 0 && startsWord(behind):
			return nil, &lex.Mistake{
				Expected: fmt.Sprintf(
					"a size such as 7.23GB after %q",
					string(bytes.TrimSpace(label))+":",
				),
				Found: after,
			}
		case unit == 0:
			number := after[:len(after)-len(behind)]
			return nil, &lex.Mistake{
				Expected: fmt.Sprintf(
					"a unit such as GB after %q",
					string(bytes.TrimSpace(label))+": "+string(number),
				),
				Found: after,
			}
		case size.Bytes < 0 && q != record.Free:
			// A program computes the free memory as total minus allocated, which may be negative.
			if bad == nil {
				bad = &lex.Mistake{
					Expected: fmt.Sprintf(
						"a size of 0 or more after %q",
						string(bytes.TrimSpace(label))+":",
					),
					Found: after,
				}
			}
		default:
			c.Set(q, size)
		}
		if text, ok = nextField(end); !ok {
			return text, bad
		}
	}
}

// nextField returns the text from the next field on. Behind a size, it skips " (30.1%) | ". ok is
// false if there is no further field.
func nextField(text []byte) (rest []byte, ok bool) {
	text = lex.TrimBlanks(text)
	if len(text) > 0 && text[0] == '(' {
		if i := bytes.IndexByte(text, ')'); i >= 0 {
			text = lex.TrimBlanks(text[i+1:])
		}
	}
	if len(text) == 0 || text[0] != '|' {
		return text, false
	}
	return lex.TrimBlanks(text[1:]), true
}

// usualFields is a fast version of [readFields]. It reads only fields in exactly the form that
// pipelines print: "Allocated: 7.23GB (30.1%) | ". If it comes to a field in another form, read
// is false and rest begins with that field. If all fields have the usual form, read is true and
// rest is the text behind the last size.
func usualFields(r *record.Reading, text []byte) (rest []byte, read bool) {
	for len(text) >= 12 {
		var q record.Quantity
		var i int
		switch word := binary.LittleEndian.Uint64(text); {
		case word == wordAllocated && text[8] == 'd':
			q, i = record.Allocated, len("allocated")
		case word == wordReserved:
			q, i = record.Reserved, len("reserved")
		case word<<24 == wordTotal:
			q, i = record.Total, len("total")
		case word<<32 == wordFree:
			q, i = record.Free, len("free")
		}
		if i == 0 || text[i] != ':' || text[i+1] != ' ' {
			return lex.TrimBlanks(text), false
		}
		i += 2
		first := i
		var n lex.Decimal
		for ; i < len(text) && text[i]-'0' <= 9 && i < first+5; i++ {
			n.Digits = n.Digits*10 + int64(text[i]-'0')
		}
		// Two decimals and the unit must follow.
		if i == first || i+5 > len(text) || text[i] != '.' || text[i+1]-'0' > 9 || text[i+2]-'0' > 9 ||
			text[i+4] != 'B' ||
			i+5 < len(text) && lex.IsTextByte(text[i+5]) {
			return lex.TrimBlanks(text), false
		}
		n.Digits = n.Digits*100 + int64(text[i+1]-'0')*10 + int64(text[i+2]-'0')
		n.Decimals = 2
		unit := record.GiB
		if text[i+3] != 'G' {
			if unit = record.MiB; text[i+3] != 'M' {
				return lex.TrimBlanks(text), false
			}
		}
		size, _ := n.Times(unit) // cannot fail, because seven digits fit
		r.Set(q, size)
		text = text[i+5:]
		// Behind the size comes " (30.1%) | ", or only " | ".
		i = 0
		if len(text) > 10 && text[0] == ' ' && text[1] == '(' {
			for i = 3; i < 10 && text[i-1] != ')'; {
				i++
			}
		}
		if len(text) < i+3 || i > 0 && text[i-1] != ')' || text[i] != ' ' || text[i+1] != '|' ||
			text[i+2] != ' ' {
			return text, true
		}
		text = text[i+3:]
	}
	return lex.TrimBlanks(text), false
}

// The first eight letters of each label as a number in little-endian order. A label of fewer than
// eight letters is in the high bytes, and the low bytes are 0.
var (
	wordAllocated = binary.LittleEndian.Uint64([]byte("Allocate"))
	wordReserved  = binary.LittleEndian.Uint64([]byte("Reserved"))
	wordTotal     = binary.LittleEndian.Uint64([]byte("...Total")) >> 24 << 24
	wordFree      = binary.LittleEndian.Uint64([]byte("....Free")) >> 32 << 32
)

// startsWord reports whether the text begins with a word, behind blanks.
func startsWord(b []byte) bool {
	b = lex.TrimBlanks(b)
	return len(b) > 0 && (b[0]|0x20 >= 'a' && b[0]|0x20 <= 'z' || b[0] == '.')
}
