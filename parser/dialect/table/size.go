package table

import (
	"bytes"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// size returns the size in a group. behind is the text behind it, which may have the unit. If there
// is no size, expected says what the group should have.
func (r *reader) size(group, behind []byte) (s record.Size, expected string) {
	n, rest, ok := lex.CutFloat(group)
	if !ok || len(rest) > 0 && rest[0] == ',' {
		n, rest, ok = lex.CutFloat(withoutCommas(bytes.TrimSpace(group)))
	}
	if !ok || n.Digits < 0 && !r.Change {
		return record.Size{}, "a size of 0 or more"
	}
	unit := int64(0)
	if len(rest) > 0 { // the unit is in the group
		if unit, rest = r.cutUnit(rest); len(bytes.TrimSpace(rest)) > 0 {
			return record.Size{}, "a size such as 7.23 GiB"
		}
	}
	if unit == 0 {
		unit = r.unitOf(behind)
	}
	if unit == 0 {
		unit = r.bare
	}
	if unit == 0 {
		return record.Size{}, "a unit such as MiB"
	}
	if s, ok = r.rounded(n, unit); !ok {
		return record.Size{}, "a size below 4 EiB"
	}
	return s, ""
}

// unitOf returns the unit at the beginning of the text behind a number, after at most one blank. It
// returns 0 if the text begins with no unit. A unit such as MB may be glued to the number and to
// the text of another writer, as in "13998MB2026-11-20" and "13998MBstep". A lone K, M, G or T is a
// unit only at the end of the line or before one of unitEnds.
func (r *reader) unitOf(text []byte) int64 {
	glued := len(text) > 0 && text[0] != ' ' && text[0] != '\t'
	if !glued {
		text = text[min(1, len(text)):]
	}
	if len(text) == 0 || text[0]|0x20 < 'a' || text[0]|0x20 > 'z' {
		return 0
	}
	unit, rest := r.cutUnit(text)
	n, isUpper := len(text)-len(rest), text[0] < 'a'
	ends := len(rest) == 0 || !lex.IsTextByte(rest[0])
	switch {
	case n > 1 && (ends || isUpper && lex.IsDigit(rest[0])):
		return unit
	case n == 1 && unit > 1 && isUpper &&
		(len(rest) == 0 || strings.IndexByte(unitEnds, rest[0]) >= 0):
		return unit
	case n == 0 && glued && len(text) > 3 && text[1] == 'i' && text[2] == 'B':
		unit, _ = r.cutUnit(text[:3])
		return unit
	case n == 0 && glued && len(text) > 2 && text[1] == 'B':
		unit, _ = r.cutUnit(text[:2])
		return unit
	}
	return 0
}

// unitEnds are the characters that may follow a unit of one letter.
const unitEnds = " \t,;|\"'()[]{}"

// rounded returns the size of a number of units. The line's rounding gives its resolution.
func (r *reader) rounded(n lex.Decimal, unit int64) (s record.Size, ok bool) {
	switch r.Rounding {
	case Down:
		return lex.Floored(n, unit)
	case UpOrDown:
		s, ok = n.Times(unit)
		s.Resolution = max(unit, 2*s.Resolution) // 3.18e+04 is rounded to more than a unit
	case None:
		if s, ok = n.Times(unit); r.Decimals == 0 || n.Decimals != r.Decimals {
			s.Resolution = 0
		}
	default:
		return n.Rounded(r.Decimals).Times(unit)
	}
	return s, ok
}

// withoutCommas removes the commas of a number that has one before every three digits:
// "7,763,421,184 bytes".
func withoutCommas(b []byte) []byte {
	if bytes.IndexByte(b, ',') < 0 {
		return b
	}
	whole := 0
	for whole < len(b) && (lex.IsDigit(b[whole]) || b[whole] == ',') {
		whole++
	}
	groups := bytes.Split(b[:whole], []byte{','})
	if len(groups) == 1 || len(groups[0]) == 0 || len(groups[0]) > 3 {
		return b
	}
	for _, g := range groups[1:] {
		if len(g) != 3 {
			return b
		}
	}
	return append(bytes.Join(groups, nil), b[whole:]...)
}
