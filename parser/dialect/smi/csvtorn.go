package smi

import (
	"vramsoak/parser/lex"
	"vramsoak/parser/scan"
)

// maxUnitRows is the most lines that are searched for the next row of a table.
const maxUnitRows = 8

// lacksUnit reports whether memory has no unit, although it has one in the other rows of the table.
// The row was then cut off in the number:
//
//	2026/11/20 02:00:02.123, 0, 12345 MiB
//	2026/11/20 02:00:03.123, 0, 12
//
// A program that is started again may print no units, under the same header.
func (h *csvHead) lacksUnit(l *scan.Line, fields [][]byte) (lacks bool) {
	for i := range h.columns {
		c := &h.columns[i]
		if _, ok := c.size(fields[i]); !ok {
			continue
		}
		if !isBare(fields[i]) {
			c.withUnit = true
			continue
		}
		if h.fresh {
			if bare, ok := h.isBareBelow(l, i); ok {
				c.withUnit = !bare
			} else if h.bare { // the row above has no unit either
				c.withUnit = false
			}
		}
		lacks = lacks || c.withUnit
	}
	h.bare = lacks
	return lacks
}

// isBareBelow reports whether the memory in the table's next row has no unit. The parameter column
// is the index of its column. ok is false if no row is found before the next header.
func (h *csvHead) isBareBelow(l *scan.Line, column int) (bare, ok bool) {
	for n := 1; n <= maxUnitRows; n++ {
		text, ok := l.Peek(n)
		if !ok || h.isRepeated(text) {
			return false, false
		}
		if len(text) > maxCSVRow {
			continue
		}
		text = h.body(text)
		if fields, ok := h.cut(csvRow{text, splitCSV(text)}); ok && !isAbsent(fields[column]) {
			return isBare(fields[column]), true
		}
	}
	return false, false
}

// isBare reports whether a field ends with a digit, as an amount of memory without its unit does.
func isBare(field []byte) bool { return len(field) > 0 && lex.IsDigit(field[len(field)-1]) }

// isWhole reports whether the last field of a row is known to be whole, although no line break
// follows. The end of a number, an id or a time may be missing. A unit or a bracket ends the field,
// and what is missing from a name does not matter.
func (h *csvHead) isWhole(fields [][]byte) bool {
	last := len(h.columns) - 1
	switch f := fields[last]; h.columns[last].kind {
	case csvMemory:
		return !isBare(f)
	case csvIndex, csvID, csvPID, csvTimes:
		return false
	default:
		return last != h.gpu
	}
}
