package smi

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/scan"
)

// readHeadless adds an error for a row without a header, but only once in a log.
func readHeadless(l *scan.Line) (end int) {
	if !headlessRow(l.Text) && !headlessColumn(l) {
		return 0
	}
	if t := openTables(l); !t.headless {
		t.headless = true
		l.Bad(0, `the header of such rows before them, with "memory.used [MiB]" in it`,
			"run nvidia-smi without noheader, or describe the rows under dialects: in vramsoak.yaml")
	}
	return len(l.Text)
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
	memory, other, texts := 0, 0, 0
	for _, span := range splitCSV(text) {
		f := text[span[0]:span[1]]
		n, unit, number := lex.CutNumber(f)
		switch {
		case number && n.Decimals == 0 && string(unit) == mebibytes:
			memory++
		case number && (string(unit) == " %" || string(unit) == " W" || string(unit) == " MHz"):
			other++
		case isSMITime(f) || isDeviceID(f) || isPState(f):
			other++
		case number && len(unit) == 0 || isAbsent(f) && len(f) > 0:
		default:
			texts++
		}
	}
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
