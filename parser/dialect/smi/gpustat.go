package smi

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// Gpustat reads the line that gpustat prints for each device, under a line with the host's name and
// the time. It also reads similar tools:
//
//	node1  Fri Nov 20 02:00:03 2026  535.54.03
//	[0] NVIDIA GeForce RTX 3090 | 45'C,  12 %,  18 / 350 W |  1234 / 24576 MB | user(567M)
//	[0] | A100-PCIE-40GB | 65'C | 75 % | 33409 / 40536 MB | user(33407M)
var Gpustat = scan.Dialect{
	Name:    "gpustat",
	Needles: []string{" MB |", " MB\t|"},
	Read:    readGPUStat,
}

// readGPUStat reads a device's line. The parameter at is the offset of " MB |". The time is in
// the header above the devices: one line above device 0, two lines above device 1, and so on.
func readGPUStat(l *scan.Line, at int) (end int) {
	cell := l.Text[:at]
	if len(cell) > maxRow {
		return 0
	}
	i := bytes.LastIndexByte(cell, '|')
	if i < 0 {
		return 0
	}
	number := cell[:i]
	device, open, ok := bracketed(number)
	if !ok || !bytes.ContainsAny(number[open:], "%?") {
		return 0
	}
	used, rest, ok := lex.CutSize(cell[i+1:], record.MiB)
	if !ok {
		return 0
	}
	if rest = lex.TrimBlanks(rest); len(rest) == 0 || rest[0] != '/' {
		return 0
	}
	total, rest, ok := lex.CutSize(rest[1:], record.MiB)
	if !ok || len(bytes.TrimSpace(rest)) > 0 {
		return 0
	}
	c := l.Checkpoint(open, "gpustat")
	c.Lane.Device, c.Sampled = device, true
	c.Set(record.Used, used)
	c.Set(record.Total, total)
	if device < 32 {
		if head, ok := l.Previous(device + 1); ok {
			findDate(head).setTime(c)
		}
	}
	return len(l.Text)
}

// bracketed returns the last number in brackets, and the offset of its bracket. Other brackets may
// precede it: "[INFO] [0] NVIDIA GeForce RTX 3090 |".
func bracketed(text []byte) (n, at int, ok bool) {
	for at = bytes.LastIndexByte(text, '['); at >= 0; at = bytes.LastIndexByte(text[:at], '[') {
		n, rest, ok := lex.CutInt(text[at+1:])
		if ok && len(rest) > 0 && rest[0] == ']' {
			return n, at, true
		}
	}
	return 0, 0, false
}
