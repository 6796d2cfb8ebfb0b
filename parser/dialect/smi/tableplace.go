package smi

import (
	"bytes"
	"math"

	"vramsoak/parser/scan"
)

const (
	// maxApart is the most lines between a row and the head of its table. There are lines of other
	// programs among them.
	maxApart = 256
	// deviceAdvice is the advice for memory of an unknown device.
	deviceAdvice = "the device is not known, so this reading is left out; log the whole table, or " +
		"nvidia-smi --query-gpu=timestamp,index,memory.used,memory.total --format=csv"
)

// locate sets the device of a row and returns the time above its table. ok is false if the device
// is not known.
func (r *smiRow) locate(l *scan.Line) (date smiDate, ok bool) {
	switch {
	case r.device >= 0:
		return r.dateAbove(l), true
	case r.deviceAbove(l):
		return r.dateAbove(l), true
	case r.device < 0 && r.isAlone(l):
		r.device = 0
		return smiDate{}, true
	}
	return smiDate{}, false
}

// deviceAbove sets the device to that of the nearest row above that names one, and reports whether
// it did. It passes over the lines of other programs. It goes no further than the border between
// two devices, and not beyond the memory of another device.
func (r *smiRow) deviceAbove(l *scan.Line) bool {
	lines := 0
	for text := range l.Above() {
		if lines++; lines > maxApart {
			return false
		}
		if !mayBeBoxed(text) {
			continue
		}
		if row := newSMIRow(text); row != nil && r.sharesTable(l, text, row.edge) {
			return false
		}
		if n, edge, ok := deviceOfRow(text); ok && r.sharesTable(l, text, edge) {
			r.device = n
			return true
		}
		if r.isBorder(l, text) {
			return false
		}
	}
	return false
}

// isAlone reports whether a row that does not name its device is the only row of a poll: no line of
// a table is directly above it or below it.
func (r *smiRow) isAlone(l *scan.Line) bool {
	inTable := func(text []byte) bool {
		if !mayBeBoxed(text) {
			return false
		}
		row := newSMIRow(text)
		return r.isBorder(l, text) ||
			row != nil && row.pid == nil && r.sharesTable(l, text, row.edge)
	}
	lines := 0
	for text := range l.Above() {
		if lines++; lines > maxApart || lines > 1 && mayBeBoxed(text) && newSMIRow(text) != nil {
			break // the end of an earlier table
		}
		if inTable(text) {
			return false
		}
	}
	for n := 1; n <= 3; n++ {
		text, ok := l.Peek(n)
		if !ok {
			break
		}
		if (n == 1 || r.isBorder(l, text)) && inTable(text) {
			return false
		}
	}
	return true
}

// dateAbove returns the time above the table of a row, or the zero date if the table's head is not
// found above the row. The head of an earlier table does not count. So the numbers of the devices
// must become smaller on the way up. If lines of other programs are between a process and the head,
// the line that names the columns of the processes must be below them.
func (r *smiRow) dateAbove(l *scan.Line) smiDate {
	lines, last := 0, math.MaxInt
	apart, columns := false, r.pid == nil
	head := 0 // the number of the next line above the head, once the head was found
	for text := range l.Above() {
		if lines++; lines > maxApart {
			return smiDate{}
		}
		if head > 0 {
			if date := findDate(text); !date.t.IsZero() {
				return date
			}
			if head++; head > maxApart/8 || mayBeBoxed(text) && newSMIRow(text) != nil {
				return smiDate{}
			}
			continue
		}
		if !mayBeBoxed(text) {
			apart = apart || len(bytes.TrimSpace(text)) > 0
			continue
		}
		n, edge, ok := deviceOfRow(text)
		i := bytes.Index(text, []byte(smiHead))
		switch {
		case ok && r.sharesTable(l, text, edge):
			if n >= last || apart && !columns {
				return smiDate{}
			}
			last = n
		case i >= 0 && r.sharesTable(l, text, i):
			if apart && !columns {
				return smiDate{}
			}
			head = 1
		case !apart && bytes.Contains(text, []byte("Process name")):
			columns = true
		}
	}
	return smiDate{}
}

// sharesTable reports whether a line may be of the same table as the row. The parameter edge is the
// offset of the box in the line. The text before the box must be that of the same logger and of the
// same process.
func (r *smiRow) sharesTable(l *scan.Line, text []byte, edge int) bool {
	return isLike(text[:edge], l.Text[:r.edge])
}

// isBorder reports whether a line is a border of the row's table. A border is as wide as the row,
// so the borders of other programs' tables do not count.
func (r *smiRow) isBorder(l *scan.Line, text []byte) bool {
	text = bytes.TrimRight(text, " \t")
	edge := len(bytes.TrimRight(text, "+-=|"))
	return len(text) > edge && len(text)-edge == len(bytes.TrimRight(l.Text, " \t"))-r.edge &&
		r.sharesTable(l, text, edge)
}

// mayBeBoxed reports whether a line may be part of a table.
func mayBeBoxed(text []byte) bool {
	return len(text) <= maxRow && (bytes.IndexByte(text, '|') >= 0 || bytes.IndexByte(text, '+') >= 0)
}
