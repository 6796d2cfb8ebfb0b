package smi

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/scan"
)

// processName returns the name of a reading of one process: "process 2123797 (python)".
func processName(l *scan.Line, pid, name []byte) string {
	b := []byte("process")
	if len(pid) > 0 {
		b = append(append(b, ' '), pid...)
	}
	if i := bytes.LastIndexByte(name, '\\'); i >= 0 { // C:\Program Files\app\app.exe
		name = name[i+1:]
	} else {
		program, _, _ := bytes.Cut(name, []byte{' '})
		if i := bytes.LastIndexByte(program, '/'); i >= 0 && i+1 < len(program) {
			name = program[i+1:]
		}
	}
	if len(name) > 0 {
		b = append(append(append(b, " ("...), name[:min(len(name), 64)]...), ')')
	}
	return l.Str(b)
}

// processID returns the number of a process, or 0 if the text gives none.
func processID(text []byte) int32 {
	n, rest, ok := lex.CutInt(text)
	if !ok || len(rest) > 0 {
		return 0
	}
	return int32(n)
}
