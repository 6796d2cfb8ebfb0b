package smi

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/scan"
)

// begin notes that rows follow this line, which is the header or repeats it. The next row is the
// first one of a poll.
func (h *csvHead) begin(l *scan.Line) {
	h.noteLast(l)
	h.fresh, h.bare = true, false
	h.poll = csvPoll{size: h.poll.size, gap: h.poll.gap}
}

// noteLast remembers the line as the last line of the table.
func (h *csvHead) noteLast(l *scan.Line) { h.last = append(h.last[:0], l.Text...) }

// fit returns the fields of a row in the order of the header's columns. ok is false if the line
// is not a row of the table.
func (h *csvHead) fit(l *scan.Line, row csvRow) (fields [][]byte, ok bool) {
	if fields, ok = h.cut(row); !ok {
		return nil, false
	}
	evidence, numbers := len(h.columns) > 2, 0
	for i, col := range h.columns {
		f := fields[i]
		switch col.kind {
		case csvMemory:
			if _, ok := col.size(f); ok {
				numbers++
				evidence = evidence || !lex.IsDigit(f[len(f)-1])
			} else if !isAbsent(f) {
				return nil, false
			}
		case csvTimes:
			evidence = true
		}
		if col.known && !isAbsent(f) && col.number != col.hasForm(f) {
			return nil, false
		}
	}
	if !evidence && (numbers > 0 || h.blind) {
		before, there := l.Previous(1)
		evidence = there && bytes.Equal(before, h.last)
	}
	if evidence {
		h.learn(fields)
	}
	return fields, evidence
}

// learn sets known and number of each column from a row that was recognised. Later rows must have
// the same form.
func (h *csvHead) learn(fields [][]byte) {
	for i := range h.columns {
		c := &h.columns[i]
		if (c.kind == csvOther || c.kind == csvTimes) && !c.known && !isAbsent(fields[i]) {
			c.known, c.number = true, c.hasForm(fields[i])
		}
	}
}

// hasForm reports whether a field is a time, if this is a column of times. For other columns it
// reports whether the field is a number.
func (c csvColumn) hasForm(f []byte) (ok bool) {
	if c.kind == csvTimes {
		_, ok = csvTime(f)
		return ok
	}
	_, _, ok = lex.CutNumber(f)
	return ok
}

// cut returns the fields of a row. If there are more fields than columns, the name or the time in
// one column contains commas, and cut joins its pieces.
func (h *csvHead) cut(row csvRow) (fields [][]byte, ok bool) {
	text, spans := row.text, row.spans
	if len(spans) < len(h.columns) {
		return nil, false
	}
	extra := len(spans) - len(h.columns)
	for _, kind := range []csvKind{csvProcess, csvText, csvTimes} {
		for at, col := range h.columns {
			if extra > 0 && (col.kind != kind || kind == csvTimes && extra > 1) {
				continue
			}
			fields = fields[:0]
			for i := 0; i < len(spans); i++ {
				from := spans[i][0]
				if i == at {
					i += extra
				}
				fields = append(fields, text[from:spans[i][1]])
			}
			if fields[0], ok = h.unwrap(fields[0]); ok && h.typed(fields) {
				return fields, true
			}
			if extra == 0 {
				return nil, false
			}
		}
	}
	return nil, false
}

// unwrap returns the first field of a row without the text that a wrapper puts before the line.
// ok is false if this text is missing.
func (h *csvHead) unwrap(f []byte) (rest []byte, ok bool) {
	if h.mark == "" {
		return f, true
	}
	i := bytes.LastIndex(f, []byte(h.mark))
	if i < 0 {
		return nil, false
	}
	return bytes.TrimSpace(f[i+len(h.mark):]), true
}

// typed reports whether every field of a row has the form of its column's values.
func (h *csvHead) typed(fields [][]byte) bool {
	for i, col := range h.columns {
		if !col.holds(fields[i]) {
			return false
		}
	}
	return true
}

// holds reports whether a field has the form of the column's values.
func (c csvColumn) holds(f []byte) bool {
	switch c.kind {
	case csvMemory:
		_, ok := c.size(f)
		return ok || isAbsent(f)
	case csvIndex:
		_, ok := deviceNumber(f)
		return ok || isAbsent(f)
	case csvPID:
		_, rest, ok := lex.CutInt(f)
		return ok && len(rest) == 0 || isAbsent(f)
	case csvTimes:
		return len(f) > 0 && len(f) <= 40 && bytes.ContainsAny(f, "0123456789")
	case csvID:
		return len(f) > 0
	}
	return true
}

// isTornRow reports whether a line begins like a row of the table but does not go on like one.
func (h *csvHead) isTornRow(row csvRow) bool {
	text, spans := row.text, row.spans
	if len(h.columns) < 3 || len(spans) < 2 {
		return false
	}
	first, ok := h.unwrap(text[spans[0][0]:spans[0][1]])
	second := text[spans[1][0]:spans[1][1]]
	if !ok || !h.columns[0].holds(first) || len(second) == 0 || !h.columns[1].holds(second) {
		return false
	}
	evidence := isSMITime(first) && h.columns[0].kind == csvTimes
	for i, col := range h.columns[:2] {
		evidence = evidence || col.kind == csvID && isDeviceID([][]byte{first, second}[i])
	}
	return evidence
}

// splitCSV returns the offsets at which the fields of a row begin and end, without the blanks and
// quotes around them.
func splitCSV(text []byte) [][2]int {
	var spans [][2]int
	for from := 0; len(spans) < maxCSVFields; {
		for from < len(text) && (text[from] == ' ' || text[from] == '\t') {
			from++
		}
		end := from
		quoted := from < len(text) && text[from] == '"'
		if quoted {
			if i := bytes.IndexByte(text[from+1:], '"'); i >= 0 {
				end = from + 1 + i
			} else {
				quoted = false
			}
		}
		next := len(text)
		if i := bytes.IndexByte(text[end:], ','); i >= 0 {
			next = end + i
		}
		if quoted && len(bytes.TrimSpace(text[end+1:next])) == 0 {
			spans = append(spans, [2]int{from + 1, end})
		} else {
			stop := next
			for stop > from && (text[stop-1] == ' ' || text[stop-1] == '\t') {
				stop--
			}
			spans = append(spans, [2]int{from, stop})
		}
		if next == len(text) {
			break
		}
		from = next + 1
	}
	return spans
}
