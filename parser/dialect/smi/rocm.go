package smi

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// ROCm reads what rocm-smi --showmeminfo vram prints, with or without --json. [CSV] reads its
// --csv:
//
//	GPU[0]		: VRAM Total Memory (B): 17163091968
//	GPU[0]		: VRAM Total Used Memory (B): 10485760
//	{"card0": {"VRAM Total Memory (B)": "17163091968", "VRAM Total Used Memory (B)": "10485760"}}
var ROCm = scan.Dialect{
	Name:    "rocm-smi",
	Needles: []string{rocmTotal, rocmUsed},
	Read:    readROCm,
}

const (
	rocmTotal = "Total Memory (B)"
	rocmUsed  = "Total Used Memory (B)"
)

// readROCm makes one reading of a device's total and its used memory.
func readROCm(l *scan.Line, at int) (end int) {
	q, size, device, end := rocmField(l.Text, at)
	if end == 0 || l.Unfinished() && end == len(l.Text) { // the number may go on
		return 0
	}
	c := l.Checkpoint(at, "rocm-smi")
	c.Lane.Device, c.Sampled = device, true
	c.Set(q, size)
	if q == record.Used {
		return end
	}
	// The used memory is behind the total, on the same line or on the next one.
	text, same := l.Text, true
	i := bytes.Index(text[end:min(len(text), end+64)], []byte(rocmUsed)) + end
	if i < end {
		var ok bool
		if text, ok = l.Peek(1); !ok || len(text) > maxRow {
			return end
		}
		if i, same = bytes.Index(text, []byte(rocmUsed)), false; i < 0 {
			return end
		}
	}
	_, used, number, stop := rocmField(text, i)
	if stop == 0 || number != device && (same || number >= 0) {
		return end
	}
	if !same {
		l.Next()
	}
	if !l.Unfinished() || stop < len(text) {
		c.Set(record.Used, used)
	}
	return stop
}

// rocmField reads the field that contains the needle at the offset `at`. end is the offset behind
// the field, or 0 if the field is not a device's memory.
func rocmField(text []byte, at int) (q record.Quantity, s record.Size, device, end int) {
	before := text[max(0, at-256):at]
	if !bytes.HasSuffix(before, []byte("VRAM ")) && !bytes.HasSuffix(before, []byte("vram ")) {
		return 0, record.Size{}, 0, 0
	}
	before = before[:len(before)-len("VRAM ")]
	if bytes.HasSuffix(before, []byte("VIS_")) { // the part that the host can see
		return 0, record.Size{}, 0, 0
	}
	rest := text[at:]
	q = record.Used
	if _, cut := lex.CutPrefix(rest, rocmTotal); cut {
		q = record.Total
		rest = rest[len(rocmTotal):]
	} else {
		rest = rest[len(rocmUsed):]
	}
	var mark string
	rest, quoted := lex.CutPrefix(rest, `"`)
	if mark = "GPU["; quoted {
		mark = `"card`
	}
	i := bytes.LastIndex(before, []byte(mark))
	if i < 0 || len(rest) == 0 || rest[0] != ':' {
		return 0, record.Size{}, 0, 0
	}
	device, _, ok := lex.CutInt(before[i+len(mark):])
	if !ok {
		return 0, record.Size{}, 0, 0
	}
	rest, quoted = lex.CutPrefix(lex.TrimBlanks(rest[1:]), `"`)
	n, rest, ok := lex.CutNumber(rest)
	if !ok || n.Decimals > 0 || n.Digits < 0 || quoted && (len(rest) == 0 || rest[0] != '"') {
		return 0, record.Size{}, 0, 0
	}
	return q, record.Exact(n.Digits), device, len(text) - len(rest)
}
