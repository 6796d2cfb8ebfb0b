package parser

import "bytes"

// nanoGPTDialect is that of the small GPT-2 trainers: llm.c (train_gpt2.cu, train_gpt2.py), modded-nanogpt, and what came of
// them. Their sizes are rounded down, see [cutFloored]:
//
//	peak memory allocated: 57971 MiB reserved: 69054 MiB
//	peak memory consumption: 31232 MiB
//	device memory usage: 21315 MiB / 81100 MiB
//	allocating 18564 MiB for activations
//
// The memory per sequence that llm.c prints next is an estimate.
var nanoGPTDialect = dialect{
	name:    "nanogpt",
	needles: []string{"peak memory allocated: ", "peak memory consumption: ", "device memory usage: ", " MiB for "},
	read:    readNanoGPT,
}

// nanoGPTLines are the lines with one size, or with two and what stands between them.
var nanoGPTLines = []struct {
	prefix, name  string
	first, second Quantity
	between       string
}{
	{"peak memory allocated: ", "peak memory", Peak, PeakReserved, " reserved: "},
	{"peak memory consumption: ", "peak memory", Peak, 0, ""},
	{"device memory usage: ", "device memory usage", Used, Total, " / "},
}

func readNanoGPT(l *line, at int) (end int) {
	for _, form := range nanoGPTLines {
		rest, ok := cutPrefix(l.text[at:], form.prefix)
		if !ok {
			continue
		}
		first, rest, ok := cutMiB(rest)
		if !ok {
			return 0
		}
		c := l.checkpoint(at, form.name)
		c.Sampled = true
		c.Set(form.first, first)
		if between, ok := cutPrefix(rest, form.between); ok && form.between != "" {
			second, behind, ok := cutMiB(between)
			if !ok {
				l.bad(len(l.text)-len(between), "a size such as 69054 MiB", "the line was cut, or torn by another writer")
				return len(l.text)
			}
			c.Set(form.second, second)
			rest = behind
		}
		return len(l.text) - len(rest)
	}
	head := trimBlanks(l.text[:at])
	number, ok := cutPrefix(head, "allocating ")
	if !ok {
		number, ok = cutPrefix(head, "allocated ")
	}
	name := bytes.TrimSpace(l.text[at+len(" MiB for "):])
	n, rest, isNumber := cutNumber(number)
	size, fits := floored(n, MiB)
	if !ok || !isNumber || len(rest) > 0 || n.decimals > 0 || n.digits < 0 || !fits || len(name) == 0 || len(name) > 64 ||
		isTemplate(name) {
		return 0
	}
	c := l.checkpoint(at, l.str(name))
	c.Sampled = true
	c.Set(Buffer, size)
	return len(l.text)
}

// cutMiB cuts "57971 MiB" off the text.
func cutMiB(text []byte) (s Size, rest []byte, ok bool) {
	n, rest, ok := cutNumber(text)
	rest, found := cutPrefix(rest, " MiB")
	if !ok || !found || n.decimals > 0 || n.digits < 0 {
		return Size{}, text, false
	}
	s, ok = floored(n, MiB)
	return s, rest, ok
}
