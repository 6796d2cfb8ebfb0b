package smi

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// An smiRow is a row of nvidia-smi's table that gives the memory of a device, a part of it or a
// process.
type smiRow struct {
	at          int    // offset of the memory in the line
	edge        int    // offset of the '|' at which the row begins in the line
	device      int    // -1 if the row does not name its device
	name        string // the part of the device that the row is about; "" for all of it
	pid, what   []byte // number and name of the process that the row is about
	used, total record.Size
	bar1, torn  bool
	graphics    bool // the process only draws on a screen
}

// newSMIRow returns the row in a line, or nil if the line is not about memory.
func newSMIRow(text []byte) *smiRow {
	var before []byte
	edge := 0 // offset of the '|' before the cell `before`
	for from := bytes.IndexByte(text, '|') + 1; from > 0; {
		end, closed := len(text), false
		if i := bytes.IndexByte(text[from:], '|'); i >= 0 {
			end, closed = from+i, true
		}
		cell := text[from:end]
		if row := newDeviceRow(cell, before, closed); row != nil {
			row.at += from
			row.edge = edge
			row.readDevice(text, before)
			return row
		}
		if closed {
			if row := newProcessRow(cell); row != nil {
				row.at += from
				row.edge = from - 1
				return row
			}
		}
		if !closed {
			return nil
		}
		before, edge, from = cell, from-1, end+1
	}
	return nil
}

// newDeviceRow returns the row of a device, or nil if the cell does not give the device's memory:
// "1835MiB / 46068MiB". The parameter before is the cell to the left. The parameter closed is set
// if a '|' ends the cell.
func newDeviceRow(cell, before []byte, closed bool) *smiRow {
	rest := lex.TrimBlanks(cell)
	row := &smiRow{at: len(cell) - len(rest)}
	// Drivers before 319 print the used percentage first: "3%   70MB / 2687MB".
	if _, percent, ok := lex.CutNumber(rest); ok && len(percent) > 0 && percent[0] == '%' {
		rest = percent[1:]
	}
	var ok bool
	if row.used, rest, ok = lex.CutSize(rest, 0); !ok || row.used.Resolution == 0 {
		return nil
	}
	if rest = lex.TrimBlanks(rest); len(rest) == 0 || rest[0] != '/' {
		return nil
	}
	row.bar1 = len(before) > 0 && len(bytes.TrimSpace(before)) == 0
	if !row.bar1 && bytes.IndexByte(before, '/') < 0 && !isMIG(before) {
		return nil
	}
	row.total, rest, ok = lex.CutSize(rest[1:], 0)
	row.torn = !ok || !closed || len(bytes.TrimSpace(rest)) > 0
	return row
}

// readDevice sets the device of a row from the row itself. A row of a MIG device names its device.
// So does a line in which two rows were joined:
//
//	|   0  NVIDIA H800                    On  |   00000000:9D:00.0 Off | ...
func (r *smiRow) readDevice(text, before []byte) {
	r.device = -1
	if isMIG(before) {
		words := bytes.Fields(before)
		r.device, _, _ = lex.CutInt(words[0])
		r.name = "MIG device " + string(words[3])
	} else if n, edge, ok := deviceOfRow(text); ok {
		r.device, r.edge = n, edge
	}
}

// isMIG reports whether a cell names a MIG device: GPU, GPU instance, compute instance and number.
func isMIG(cell []byte) bool {
	words := bytes.Fields(cell)
	for _, w := range words {
		if _, rest, ok := lex.CutInt(w); !ok || len(rest) > 0 {
			return false
		}
	}
	return len(words) == 4
}

// deviceOfRow returns the number of the device that a row names. The number is in the cell to the
// left of the bus id. edge is the offset of the '|' before this cell.
func deviceOfRow(text []byte) (n, edge int, ok bool) {
	bus := busID(text)
	if bus == nil {
		return 0, 0, false
	}
	left := bytes.TrimRight(text[:bytes.Index(text, bus)], " ")
	if len(left) == 0 || left[len(left)-1] != '|' {
		return 0, 0, false
	}
	left = left[:len(left)-1]
	edge = bytes.LastIndexByte(left, '|')
	n, rest, ok := lex.CutInt(lex.TrimBlanks(left[edge+1:]))
	ok = ok && edge >= 0 && len(rest) > 0 && (rest[0] == ' ' || rest[0] == '.')
	return n, edge, ok
}

// newProcessRow returns the row of a process. The row gives the device, the MIG instances (in
// newer drivers), the process number, the type (since 2017), the name and the memory.
func newProcessRow(cell []byte) *smiRow {
	cell = bytes.TrimRight(cell, " ")
	i := bytes.LastIndexByte(cell, ' ')
	if i < 0 || i+1 == len(cell) || !lex.IsDigit(cell[i+1]) {
		return nil
	}
	used, rest, ok := lex.CutSize(cell[i+1:], 0)
	if !ok || len(rest) > 0 || used.Resolution == 0 {
		return nil
	}
	row := &smiRow{at: i + 1, used: used, name: "process"}
	name := cell[:i]
	word := func() (w []byte) {
		name = lex.TrimBlanks(name)
		end := bytes.IndexByte(name, ' ')
		if end < 0 {
			end = len(name)
		}
		w, name = name[:end], name[end:]
		return w
	}
	row.device, rest, ok = lex.CutInt(word())
	if !ok || len(rest) > 0 && string(rest) != "." {
		return nil
	}
	behind := name
	gpu, compute, pid, kind := word(), word(), word(), word()
	name = behind
	if isInstance(gpu) && isInstance(compute) && isPID(pid) && isProcessType(kind) {
		word()
		word()
	}
	if row.pid = word(); !isPID(row.pid) {
		return nil
	}
	behind = name
	if kind := word(); !isProcessType(kind) {
		name = behind
	} else {
		row.graphics = string(kind) == "G"
	}
	if row.what = bytes.TrimSpace(name); len(row.what) > 0 && lex.IsDigit(row.what[0]) &&
		len(bytes.Fields(row.what)) > 1 {
		return nil // another table, with numbers in all columns
	}
	return row
}

// isInstance reports whether a word names a MIG instance of a process: a number or "N/A".
func isInstance(w []byte) bool { return string(w) == "N/A" || isPID(w) }

// isPID reports whether a word is a whole number.
func isPID(w []byte) bool {
	_, rest, ok := lex.CutInt(w)
	return ok && len(rest) == 0
}

// isProcessType reports whether a word says how a process uses the device: for compute, graphics,
// both, or MPS.
func isProcessType(w []byte) bool {
	return len(w) > 0 && len(w) <= 5 && len(bytes.Trim(w, "CGM+")) == 0
}

// add adds the reading of the row to the records of the line.
func (r *smiRow) add(l *scan.Line) {
	switch {
	case r.bar1:
		return
	case r.torn:
		l.Bad(r.at, "used and total memory such as 1835MiB / 46068MiB",
			record.TornAdvice)
		return
	}
	date, ok := r.locate(l)
	if !ok {
		l.Bad(r.at, "above such memory the row that names its device, such as "+
			"| 0 NVIDIA A40 On | 00000000:CA:00.0 Off |", deviceAdvice)
		return
	}
	name := r.name
	switch {
	case r.pid != nil:
		name = processName(l, r.pid, r.what)
	case name == "":
		name = "nvidia-smi"
	}
	c := l.Checkpoint(r.at, name)
	c.Lane.Device, c.Sampled = r.device, true
	c.PID, c.Graphics = processID(r.pid), r.graphics
	if r.name != "" {
		c.Set(record.Buffer, r.used)
	} else {
		c.Set(record.Used, r.used)
		c.Set(record.Total, r.total)
	}
	date.setTime(c)
}
