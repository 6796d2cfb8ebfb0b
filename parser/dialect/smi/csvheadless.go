package smi

import (
	"bytes"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

const (
	headExpected = `the header of such rows before them, with "memory.used [MiB]" in it`
	headAdvice   = "put the log's first line, which names the columns, back before the rows; or run " +
		"nvidia-smi with --format=csv and without noheader; or describe the rows under dialects: in " +
		"vramsoak.yaml"
	maxPeers = 16 // most lines on each side that are searched for a row of the same device
)

// readHeadless adds an error for a row without a header, but only once in a log. The parameter at
// is the offset of the needle.
func readHeadless(l *scan.Line, at int) (end int) {
	row := l.Text
	if !headlessRow(row) && !headlessColumn(l) && !headlessPeers(l, row) {
		row = l.Text[rowStart(l.Text, at):] // behind a logger's prefix
		if len(row) == len(l.Text) || !headlessRow(row) && !headlessPeers(l, row) {
			return 0
		}
	}
	if t := openTables(l); !t.headless {
		t.headless = true
		l.Bad(len(l.Text)-len(row), headExpected, headAdvice)
	}
	return len(l.Text)
}

// A fieldKind is what a field of a row without a header holds, as its form shows.
type fieldKind byte

const (
	fieldText   fieldKind = 'x'
	fieldMemory fieldKind = 'm' // 841 MiB
	fieldUnit   fieldKind = 'u' // 45 %, 250.10 W, 1410 MHz, P0
	fieldTime   fieldKind = 't' // nvidia-smi's form of a time
	fieldID     fieldKind = 'i' // a UUID or a bus id
	fieldNumber fieldKind = 'n' // a number without a unit
	fieldAbsent fieldKind = 'a'
	fieldName   fieldKind = 'd' // the name of a device
)

// kindsOf returns the kinds of a row's fields, one byte each.
func kindsOf(text []byte) []byte {
	var kinds []byte
	for _, span := range splitCSV(text) {
		kinds = append(kinds, byte(kindOf(text[span[0]:span[1]])))
	}
	return kinds
}

func kindOf(f []byte) fieldKind {
	n, unit, number := lex.CutNumber(f)
	switch {
	case number && n.Decimals == 0 && string(unit) == mebibytes:
		return fieldMemory
	case number && (string(unit) == " %" || string(unit) == " W" || string(unit) == " MHz"):
		return fieldUnit
	case isPState(f):
		return fieldUnit
	case isSMITime(f):
		return fieldTime
	case isDeviceID(f):
		return fieldID
	case number && len(unit) == 0:
		return fieldNumber
	case isAbsent(f) && len(f) > 0:
		return fieldAbsent
	}
	for _, maker := range []string{"NVIDIA ", "Tesla ", "GeForce ", "Quadro ", "TITAN ", "GRID "} {
		if _, ok := lex.CutPrefix(f, maker); ok {
			return fieldName
		}
	}
	return fieldText
}

// countKinds returns how many of the kinds are in the set.
func countKinds(kinds []byte, set string) (n int) {
	for _, k := range kinds {
		if bytes.IndexByte([]byte(set), k) >= 0 {
			n++
		}
	}
	return n
}

// headlessRow reports whether a line can only be a row of nvidia-smi. Such a line has an amount
// of memory, and another value in the form that nvidia-smi prints:
//
//	2 %, 588 MiB
//	2024/01/01 10:00:00.123, NVIDIA A100-SXM4-40GB, 45 %, 1234 MiB, 40960 MiB
func headlessRow(text []byte) bool {
	if bytes.IndexByte(text, ',') < 0 {
		return false
	}
	kinds := kindsOf(text)
	memory, other, texts := countKinds(kinds, "m"), countKinds(kinds, "uti"), countKinds(kinds, "xd")
	return memory > 0 && memory+other > 1 && texts <= 2 && (other > 0 || texts == 0)
}

// isPState reports whether a field is a performance state: "P0" to "P15".
func isPState(f []byte) bool {
	return (len(f) == 2 || len(f) == 3) && f[0] == 'P' && lex.IsDigit(f[1]) && lex.IsDigit(f[len(f)-1])
}

// headlessColumn reports whether the line has only an amount of memory, and the line before or
// behind it has only an amount of memory, too.
func headlessColumn(l *scan.Line) bool {
	alone := func(text []byte) bool {
		n, unit, ok := lex.CutNumber(text)
		return ok && n.Decimals == 0 && string(bytes.TrimRight(unit, " ")) == mebibytes
	}
	if !alone(l.Text) {
		return false
	}
	before, _ := l.Previous(1)
	after, _ := l.Peek(1)
	return alone(before) || alone(after)
}

// headlessPeers reports whether a row is one of several readings of a device or a process. Another
// line near it then differs from it only in its memory:
//
//	0, NVIDIA A40, 841 MiB
//	1, NVIDIA A40, 7 MiB
//	0, NVIDIA A40, 842 MiB
//
// A row that stands alone does not count. Scripts print the size of their devices in this form.
func headlessPeers(l *scan.Line, row []byte) bool {
	kinds := kindsOf(row)
	if len(kinds) < 2 || countKinds(kinds, "m") == 0 || countKinds(kinds, "x") > 1 {
		return false
	}
	prefix := l.Text[:len(l.Text)-len(row)]
	isPeer := func(text []byte) bool {
		text, ok := cutLike(text, prefix)
		return ok && len(text) <= maxCSVRow && !bytes.Equal(text, row) &&
			bytes.Count(text, comma) == len(kinds)-1 && bytes.Equal(kindsOf(text), kinds) &&
			differInMemory(row, text, kinds)
	}
	lines := 0
	for text := range l.Above() { // the log may grow, so that no line is below yet
		if lines++; lines > maxPeers {
			break
		}
		if isPeer(text) {
			return true
		}
	}
	for n := 1; n <= maxPeers; n++ {
		text, ok := l.Peek(n)
		if !ok {
			break
		}
		if isPeer(text) {
			return true
		}
	}
	return false
}

// differInMemory reports whether two rows of the given kinds of fields differ, and only in their
// memory.
func differInMemory(a, b, kinds []byte) (differ bool) {
	spansA, spansB := splitCSV(a), splitCSV(b)
	for i, kind := range kinds {
		equal := bytes.Equal(a[spansA[i][0]:spansA[i][1]], b[spansB[i][0]:spansB[i][1]])
		switch {
		case equal:
		case fieldKind(kind) == fieldMemory:
			differ = true
		default:
			return false
		}
	}
	return differ
}

// noteHeadless adds an error if rows of the first header are already above it. The first lines of a
// log are missing if it was rotated or cut, and nvidia-smi was started again later.
func (t *csvTables) noteHeadless(l *scan.Line, h *csvHead) {
	if t.headless || len(t.heads) > 0 {
		return
	}
	for n := 1; n <= 3; n++ {
		text, ok := l.Previous(n)
		if !ok || len(text) > maxCSVRow {
			return
		}
		row := h.body(text)
		kinds := kindsOf(row)
		if countKinds(kinds, "ti") == 0 || countKinds(kinds, "nm") == 0 || len(kinds) != len(h.columns) {
			continue
		}
		if _, ok := h.cut(csvRow{row, splitCSV(row)}); ok {
			t.headless = true
			l.Add(record.SyntaxError{
				Header: l.HeaderAbove(n), Expected: headExpected, Found: found(row), Advice: headAdvice,
			})
			return
		}
	}
}

// found returns a row as errors quote it.
func found(row []byte) string { return lex.Shorten(strings.ToValidUTF8(string(row), "�"), 80) }
