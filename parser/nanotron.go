package parser

import "bytes"

// nanotronDialect is that of log_memory of nanotron (src/nanotron/logging/base.py), which resets the peaks:
//
//	12/15/2024 10:00:00 [INFO|DP=0|PP=0|TP=0]:  Memory usage: 2341.25MiB. Peak allocated 2341.26MiB. Peak reserved: 2592.00MiB
//	... [Before train batch iter] Memory usage: 2341.25MiB. Peak allocated 2341.26MiB. Peak reserved: 2592.00MiB
var nanotronDialect = dialect{
	name:    "nanotron",
	needles: []string{needleNanotron},
	read:    readNanotron,
}

const needleNanotron = ". Peak allocated "

func readNanotron(l *line, at int) (end int) {
	const label = "Memory usage: "
	start := max(0, at-nearby)
	from := bytes.LastIndex(l.text[start:at], []byte(label))
	if from += start; from < start || isTemplate(l.text[from:at]) {
		return 0
	}
	allocated, rest, ok := cutSize(l.text[from+len(label):at], 0)
	if !ok || len(rest) > 0 {
		return 0
	}
	rest = l.text[at+len(needleNanotron):]
	if len(rest) > 0 && !isDigit(rest[0]) {
		return 0
	}
	peak, rest, ok := cutSize(rest, 0)
	rest, known := cutPrefix(rest, ". Peak reserved: ")
	reserved, rest, fits := cutSize(rest, 0)
	if !ok || !known || !fits {
		l.bad(from, "Memory usage: 2341.25MiB. Peak allocated 2341.26MiB. Peak reserved: 2592.00MiB", tornAdvice)
		return at + len(needleNanotron)
	}
	name := "memory"
	before := bytes.TrimRight(lastBytes(l.text[:from], nearby), " ")
	if i := bytes.LastIndexByte(before, '['); i >= 0 && before[len(before)-1] == ']' && len(before)-i < 100 {
		if inner := before[i+1 : len(before)-1]; bytes.IndexByte(inner, '|') < 0 {
			name = l.str(inner)
		}
	}
	c := l.checkpoint(from, name)
	c.Sampled = name == "memory"
	c.Set(Allocated, allocated)
	c.Set(Peak, peak)
	c.Set(PeakReserved, reserved)
	return len(l.text) - len(rest)
}
