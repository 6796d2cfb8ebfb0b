package smi

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/source"
)

// FindHeadless returns an error for the first row of nvidia-smi without a header. The text is the
// beginning of a log in which no reading was found. FindHeadless also finds rows without units, in
// which the dialects find no needle. --format=csv,noheader,nounits and nvidia-smi dmon print such
// rows:
//
//	2026/11/20 02:00:01.123, 0, 12345
//	0, 12345, 40960
//	    0    62    27     -     7     1  1234    12
//
// Plain numbers may be of any program. They count only if the next line has the same columns. Rows
// below a line of names do not count, because that line is their header.
func FindHeadless(text []byte, path string) (bad record.SyntaxError, ok bool) {
	number, named := 0, 0 // named is the number of columns in the last line of names
	var above headlessLine
	for raw := range bytes.Lines(text) {
		number++
		if raw = bytes.TrimRight(raw, "\r\n"); len(raw) > maxCSVRow {
			above = headlessLine{}
			continue
		}
		line := source.Unwrapped(raw)
		if n := countNames(line); n > 0 {
			named = n
		}
		row := newHeadlessLine(line)
		switch sure := countKinds(row.kinds, "tid") > 0; {
		case row.kinds == nil || len(row.kinds) == named:
			row = headlessLine{}
		case sure:
			return row.missesHead(path, number), true
		case row.dmon == above.dmon && bytes.Equal(row.kinds, above.kinds):
			return above.missesHead(path, number-1), true
		}
		above = row
	}
	return record.SyntaxError{}, false
}

// A headlessLine is a line that may be a row of a table whose header is missing.
type headlessLine struct {
	text  []byte
	kinds []byte // of its fields; nil if the line is not such a row
	dmon  bool   // blanks, not commas, are between the fields
}

// newHeadlessLine returns the row in a line, which a logger's prefix may precede.
func newHeadlessLine(line []byte) headlessLine {
	if bytes.IndexByte(line, ',') < 0 {
		return headlessLine{line, dmonKinds(line), true}
	}
	row := line
	kinds := kindsOf(row)
	if !isTableRow(kinds) {
		row = line[rowStart(line, bytes.LastIndexByte(line, ',')):]
		if kinds = kindsOf(row); !isTableRow(kinds) {
			return headlessLine{}
		}
	}
	return headlessLine{row, kinds, false}
}

// missesHead returns the error for the row, which is on the given line of the log.
func (r headlessLine) missesHead(path string, number int) record.SyntaxError {
	bad := record.SyntaxError{Expected: headExpected, Found: found(r.text), Advice: headAdvice}
	bad.Pos, bad.Dialect = record.Position{Path: path, Line: number}, CSV.Name
	switch {
	case !r.dmon && countKinds(r.kinds, "mutid") == 0:
		bad.Advice = "if nvidia-smi printed them, " + headAdvice
	case r.dmon:
		bad.Dialect = Dmon.Name
		bad.Expected = `the header of such rows before them, with "# gpu" and "fb" in it`
		bad.Advice = "if nvidia-smi dmon printed them, put its two lines that name the columns back " +
			"before the rows; or describe the rows under dialects: in vramsoak.yaml"
	}
	return bad
}

// isTableRow reports whether fields of these kinds may be a row of a table with memory: two numbers
// or more, and at most one text.
func isTableRow(kinds []byte) bool {
	return len(kinds) > 1 && countKinds(kinds, "nm") > 0 && countKinds(kinds, "nmuti") > 1 &&
		countKinds(kinds, "x") <= 1
}

// dmonKinds returns the kinds of the words in a line that may be a row of nvidia-smi dmon, or nil.
// In such a row, the words are whole numbers, or "-".
func dmonKinds(text []byte) (kinds []byte) {
	for w := range bytes.FieldsSeq(text) {
		if _, rest, ok := lex.CutInt(w); string(w) != "-" && (!ok || len(rest) > 0) {
			return nil
		}
		kinds = append(kinds, byte(fieldNumber))
	}
	if len(kinds) < 5 || text[0] != ' ' {
		return nil
	}
	return kinds
}

// countNames returns the number of names in a line of names between commas, or 0 for another line.
func countNames(text []byte) int {
	spans := splitCSV(text)
	for i, span := range spans {
		if !isColumnName(columnName(text[span[0]:span[1]], i == 0)) {
			return 0
		}
	}
	if len(spans) < 2 {
		return 0
	}
	return len(spans)
}
