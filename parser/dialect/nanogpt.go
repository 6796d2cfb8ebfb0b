package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// nanoGPTDialect is that of the small GPT-2 trainers: llm.c (train_gpt2.cu, train_gpt2.py), modded-nanogpt, and what came of
// them. Their sizes are rounded down, see [lex.CutFloored]:
//
//	peak memory allocated: 57971 MiB reserved: 69054 MiB
//	peak memory consumption: 31232 MiB
//	device memory usage: 21315 MiB / 81100 MiB
//	allocating 18564 MiB for activations
//
// The memory per sequence that llm.c prints next is an estimate.
var nanoGPTDialect = scan.Dialect{
	Name:    "nanogpt",
	Needles: []string{"peak memory allocated: ", "peak memory consumption: ", "device memory usage: ", " MiB for "},
	Read:    readNanoGPT,
}

// nanoGPTLines are the lines with one size, or with two and what stands between them.
var nanoGPTLines = []struct {
	prefix, name  string
	first, second record.Quantity
	between       string
}{
	{"peak memory allocated: ", "peak memory", record.Peak, record.PeakReserved, " reserved: "},
	{"peak memory consumption: ", "peak memory", record.Peak, 0, ""},
	{"device memory usage: ", "device memory usage", record.Used, record.Total, " / "},
}

func readNanoGPT(l *scan.Line, at int) (end int) {
	for _, form := range nanoGPTLines {
		rest, ok := lex.CutPrefix(l.Text[at:], form.prefix)
		if !ok {
			continue
		}
		first, rest, ok := cutMiB(rest)
		if !ok {
			return 0
		}
		c := l.Checkpoint(at, form.name)
		c.Sampled = true
		c.Set(form.first, first)
		if between, ok := lex.CutPrefix(rest, form.between); ok && form.between != "" {
			second, behind, ok := cutMiB(between)
			if !ok {
				l.Bad(len(l.Text)-len(between), "a size such as 69054 MiB", "the line was cut, or torn by another writer")
				return len(l.Text)
			}
			c.Set(form.second, second)
			rest = behind
		}
		return len(l.Text) - len(rest)
	}
	head := lex.TrimBlanks(l.Text[:at])
	number, ok := lex.CutPrefix(head, "allocating ")
	if !ok {
		number, ok = lex.CutPrefix(head, "allocated ")
	}
	name := bytes.TrimSpace(l.Text[at+len(" MiB for "):])
	n, rest, isNumber := lex.CutNumber(number)
	size, fits := lex.Floored(n, record.MiB)
	if !ok || !isNumber || len(rest) > 0 || n.Decimals > 0 || n.Digits < 0 || !fits || len(name) == 0 || len(name) > 64 ||
		source.IsTemplate(name) {
		return 0
	}
	c := l.Checkpoint(at, l.Str(name))
	c.Sampled = true
	c.Set(record.Buffer, size)
	return len(l.Text)
}

// cutMiB cuts "57971 MiB" off the text.
func cutMiB(text []byte) (s record.Size, rest []byte, ok bool) {
	n, rest, ok := lex.CutNumber(text)
	rest, found := lex.CutPrefix(rest, " MiB")
	if !ok || !found || n.Decimals > 0 || n.Digits < 0 {
		return record.Size{}, text, false
	}
	s, ok = lex.Floored(n, record.MiB)
	return s, rest, ok
}
