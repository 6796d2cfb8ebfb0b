package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// nanotronDialect is that of log_memory of nanotron (src/nanotron/logging/base.py), which resets the peaks:
//
//	12/15/2024 10:00:00 [INFO|DP=0|PP=0|TP=0]:  Memory usage: 2341.25MiB. Peak allocated 2341.26MiB. Peak reserved: 2592.00MiB
//	... [Before train batch iter] Memory usage: 2341.25MiB. Peak allocated 2341.26MiB. Peak reserved: 2592.00MiB
var nanotronDialect = scan.Dialect{
	Name:    "nanotron",
	Needles: []string{needleNanotron},
	Read:    readNanotron,
}

const needleNanotron = ". Peak allocated "

func readNanotron(l *scan.Line, at int) (end int) {
	const label = "Memory usage: "
	start := max(0, at-nearby)
	from := bytes.LastIndex(l.Text[start:at], []byte(label))
	if from += start; from < start || source.IsTemplate(l.Text[from:at]) {
		return 0
	}
	allocated, rest, ok := lex.CutSize(l.Text[from+len(label):at], 0)
	if !ok || len(rest) > 0 {
		return 0
	}
	rest = l.Text[at+len(needleNanotron):]
	if len(rest) > 0 && !lex.IsDigit(rest[0]) {
		return 0
	}
	peak, rest, ok := lex.CutSize(rest, 0)
	rest, known := lex.CutPrefix(rest, ". Peak reserved: ")
	reserved, rest, fits := lex.CutSize(rest, 0)
	if !ok || !known || !fits {
		l.Bad(from, "Memory usage: 2341.25MiB. Peak allocated 2341.26MiB. Peak reserved: 2592.00MiB", record.TornAdvice)
		return at + len(needleNanotron)
	}
	name := "memory"
	before := bytes.TrimRight(lex.LastBytes(l.Text[:from], nearby), " ")
	if i := bytes.LastIndexByte(before, '['); i >= 0 && before[len(before)-1] == ']' && len(before)-i < 100 {
		if inner := before[i+1 : len(before)-1]; bytes.IndexByte(inner, '|') < 0 {
			name = l.Str(inner)
		}
	}
	c := l.Checkpoint(from, name)
	c.Sampled = name == "memory"
	c.Set(record.Allocated, allocated)
	c.Set(record.Peak, peak)
	c.Set(record.PeakReserved, reserved)
	return len(l.Text) - len(rest)
}
