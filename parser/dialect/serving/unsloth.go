package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// Unsloth is that of Unsloth (unsloth/models/llama.py) and of its notebooks, whose cells print it
// with three decimals. GB is 1<<30.
//
//	   \\   /|    GPU: Tesla T4. Max memory: 14.748 GB. Platform = Linux.
//	   \\   /|    NVIDIA A100-SXM4-40GB. Num GPUs = 1. Max memory: 39.557 GB. Platform: Linux.
//	Unsloth: Your GPU has CUDA compute capability 7.5 with VRAM = 14.74 GB.
//	GPU = Tesla T4. Max memory = 14.748 GB.
//	5.984 GB of memory reserved.
//	Peak reserved memory = 7.922 GB.
//	Peak reserved memory for training = 1.938 GB.
//
// The maximum is the device's total. Both readings of reserved memory are
// torch.cuda.max_memory_reserved, the first one before the training; the one "for training" is
// their difference, and so a change. Per cents give nothing.
var Unsloth = scan.Dialect{
	Name: "unsloth",
	Needles: []string{
		"Max memory: ",
		"Max memory = ",
		" GB of memory reserved.",
		"Peak reserved memory",
		" with VRAM = ",
	},
	Read: readUnsloth,
}

func readUnsloth(l *scan.Line, at int) (end int) {
	before := lex.LastBytes(l.Text[:at], scan.Near)
	switch l.Text[at+1] {
	case 'a': // "Max memory: "
		if !bytes.Contains(before, []byte("/|")) && !bytes.Contains(before, []byte("GPU = ")) {
			return 0
		}
		s, end, ok := readSize(l, at, at+len("Max memory: "))
		if ok {
			addSampled(l, at, "max memory", record.Lane{}, record.Total, s)
		}
		return end
	case 'w': // " with VRAM = "
		if !bytes.Contains(before, []byte("Unsloth: ")) {
			return 0
		}
		s, end, ok := readSize(l, at, at+len(" with VRAM = "))
		if ok {
			addSampled(l, at, "max memory", record.Lane{}, record.Total, s)
		}
		return end
	case 'G': // " GB of memory reserved."
		number := bytes.TrimLeft(lastWord(before), "\"'")
		s, rest, ok := lex.CutSize(number, record.GiB)
		if !ok || len(rest) > 0 || s.Bytes < 0 {
			return 0
		}
		addSampled(l, at-len(number), "memory reserved", record.Lane{}, record.PeakReserved, s)
		return at + len(" GB of memory reserved.")
	}
	rest := l.Text[at+len("Peak reserved memory"):]
	rest, training := lex.CutPrefix(rest, " for training")
	rest, ok := lex.CutPrefix(rest, " = ")
	if !ok {
		return 0
	}
	s, end, ok := readSize(l, at, len(l.Text)-len(rest))
	switch {
	case !ok:
		return end
	case training:
		change := record.Change{Header: l.Header(at), Name: "training"}
		change.Set(record.PeakReserved, s)
		l.Add(change)
	default:
		addSampled(l, at, "peak reserved memory", record.Lane{}, record.PeakReserved, s)
	}
	return end
}
