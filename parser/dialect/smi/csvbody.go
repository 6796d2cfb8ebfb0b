package smi

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// A csvRow is the text of a row, without what a logger puts before it, and the offsets of its
// fields.
type csvRow struct {
	text  []byte
	spans [][2]int
}

// loggedHead returns the header that a line gives, or nil if the line is not a header. The
// parameter at is the offset of the first column of memory. A logger's prefix may precede the
// header:
//
//	2026-11-20 02:00:03,123 - INFO - index, memory.used [MiB]
//	INFO:root:index, memory.used [MiB]
func loggedHead(l *scan.Line, at int) *csvHead {
	if bytes.IndexByte(l.Text[at:], ',') < 0 && bytes.IndexByte(l.Text[:at], ',') < 0 {
		return newCSVHead(l.Text) // one column, or a sentence
	}
	from := l.Head(at).Message()
	if from += sourcePlace(l.Text[from:at]); from > 0 && l.Text[from-1] != '"' {
		if h := newCSVHead(l.Text[from:]); h != nil {
			h.setPrefix(l.Text[:from])
			return h
		}
	}
	return newCSVHead(l.Text)
}

// setPrefix sets what a logger or a launcher puts before the lines of the table.
func (h *csvHead) setPrefix(text []byte) {
	h.prefix, h.labelled = bytes.Clone(text), source.SpeakerOf(text, len(text)) != ""
}

// isSame reports whether two headers are equal, and behind prefixes of the same logger.
func (h *csvHead) isSame(o *csvHead) bool {
	rest, ok := cutLike(h.prefix, o.prefix)
	return h.text == o.text && h.mark == o.mark && ok && len(rest) == 0
}

// body returns a line without the logger's prefix, if it has one. Of a message with several lines,
// only the first one has the prefix.
func (h *csvHead) body(text []byte) []byte {
	if rest, ok := cutLike(text, h.prefix); ok {
		return rest
	}
	if h.labelled { // another process printed the line
		return nil
	}
	return text
}

// behindLogger returns the row behind a logger's prefix, if the header had another prefix or none.
// The parameter spans has the fields of the whole line. ok is false if the line has no such prefix,
// or if its last fields are not those of a row.
func (h *csvHead) behindLogger(l *scan.Line, spans [][2]int) (row csvRow, ok bool) {
	first := len(spans) - len(h.columns) // of the row
	if first < 0 || h.columns[0].kind == csvID {
		return csvRow{}, false
	}
	for i := 1; i < len(h.columns); i++ {
		if span := spans[first+i]; !h.columns[i].holds(l.Text[span[0]:span[1]]) {
			return csvRow{}, false
		}
	}
	at := spans[len(spans)-1][0]
	if len(h.columns) == 1 {
		at = len(l.Text)
		if end := l.Text[at-1]; end != 'B' && !lex.IsDigit(end) {
			return csvRow{}, false
		}
	}
	from := rowStart(l.Text, at)
	for i := range from {
		if lex.LevelAt(l.Text[i:from]) > 0 {
			text := l.Text[from:]
			return csvRow{text, splitCSV(text)}, true
		}
	}
	return csvRow{}, false
}

// rowStart returns the offset of the row behind a logger's prefix. The parameter at is the offset
// of a later field of the row. In "INFO:root:0, 841 MiB", the 0 belongs to the row. It only looks
// like the number of a source line, which some loggers print behind the name of the module.
func rowStart(text []byte, at int) int {
	from := source.MessageStart(text[:at])
	if from == len(text) || from < len(text) && (text[from] == ',' || text[from] == 'M') {
		end := len(bytes.TrimRight(text[:from], " "))
		for end > 0 && lex.IsDigit(text[end-1]) {
			end--
			from = end
		}
	}
	return from + sourcePlace(text[from:])
}

// sourcePlace returns the length of the place in program source with which a message begins, or 0.
// Loguru prints it behind the level:
//
//	2026-01-25 17:25:40.123 | INFO     | smi:log:12 - index, memory.used [MiB]
func sourcePlace(text []byte) int {
	const end = " - "
	i := bytes.Index(text[:min(len(text), maxCSVName)], []byte(end))
	if i < 0 || bytes.IndexByte(text[:i], ':') < 0 || bytes.ContainsAny(text[:i], " ,") {
		return 0
	}
	return i + len(end)
}

// isRepeated reports whether a line repeats the header.
func (h *csvHead) isRepeated(text []byte) bool {
	before, ok := bytes.CutSuffix(text, []byte(h.text))
	if !ok || len(before) == 0 || h.mark != "" {
		return ok
	}
	rest, like := cutLike(before, h.prefix)
	return like && len(rest) == 0
}

// gluedHead reads a row that was cut off and the header behind it, which nvidia-smi printed when it
// was started again:
//
//	2026/11/20 02:00:03.123, 0, 12timestamp, index, memory.used [MiB]
func (t *csvTables) gluedHead(l *scan.Line) bool {
	for i, h := range t.heads {
		row, ok := bytes.CutSuffix(h.body(l.Text), []byte(h.text))
		if !ok || len(row) == 0 || !lex.IsDigit(row[0]) || bytes.IndexByte(row, ',') < 0 ||
			bytes.IndexByte([]byte(" \t:|]"), row[len(row)-1]) >= 0 || h.isRepeated(l.Text) {
			continue
		}
		t.tear(l, "a line break between a row and the header")
		copy(t.heads[1:i+1], t.heads[:i])
		t.heads[0] = h
		h.begin(l)
		return true
	}
	return false
}

// blindHead notes a header of nvidia-smi without memory. It reports whether the line is one.
func (t *csvTables) blindHead(l *scan.Line) bool {
	if len(t.heads) == 0 {
		return false
	}
	text := t.heads[0].body(l.Text)
	if len(text) == 0 || text[0] < 'A' || bytes.IndexByte(text, '.') < 0 || countNames(text) == 0 {
		return false
	}
	h := newCSVHead(text)
	if h == nil || !h.blind {
		return false
	}
	h.setPrefix(l.Text[:len(l.Text)-len(text)])
	t.begin(l, h)
	return true
}
