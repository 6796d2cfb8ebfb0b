package parser

import "bytes"

// unslothDialect is that of Unsloth (unsloth/models/llama.py) and of its notebooks, whose cells print it with three
// decimals. GB is 1<<30.
//
//	   \\   /|    GPU: Tesla T4. Max memory: 14.748 GB. Platform = Linux.
//	   \\   /|    NVIDIA A100-SXM4-40GB. Num GPUs = 1. Max memory: 39.557 GB. Platform: Linux.
//	Unsloth: Your GPU has CUDA compute capability 7.5 with VRAM = 14.74 GB.
//	GPU = Tesla T4. Max memory = 14.748 GB.
//	5.984 GB of memory reserved.
//	Peak reserved memory = 7.922 GB.
//	Peak reserved memory for training = 1.938 GB.
//
// The maximum is the device's total. Both readings of reserved memory are torch.cuda.max_memory_reserved, the first one
// before the training; the one "for training" is their difference, and so a change. Per cents give nothing.
var unslothDialect = dialect{
	name:    "unsloth",
	needles: []string{"Max memory: ", "Max memory = ", " GB of memory reserved.", "Peak reserved memory", " with VRAM = "},
	read:    readUnsloth,
}

func readUnsloth(l *line, at int) (end int) {
	before := lastBytes(l.text[:at], near)
	switch l.text[at+1] {
	case 'a': // "Max memory: "
		if !bytes.Contains(before, []byte("/|")) && !bytes.Contains(before, []byte("GPU = ")) {
			return 0
		}
		s, end, ok := l.sizeAt(at, at+len("Max memory: "))
		if ok {
			l.part(at, "max memory", Lane{}, Total, s)
		}
		return end
	case 'w': // " with VRAM = "
		if !bytes.Contains(before, []byte("Unsloth: ")) {
			return 0
		}
		s, end, ok := l.sizeAt(at, at+len(" with VRAM = "))
		if ok {
			l.part(at, "max memory", Lane{}, Total, s)
		}
		return end
	case 'G': // " GB of memory reserved."
		number := bytes.TrimLeft(lastWord(before), "\"'")
		s, rest, ok := cutSize(number, GiB)
		if !ok || len(rest) > 0 || s.Bytes < 0 {
			return 0
		}
		l.part(at-len(number), "memory reserved", Lane{}, PeakReserved, s)
		return at + len(" GB of memory reserved.")
	}
	rest := l.text[at+len("Peak reserved memory"):]
	rest, training := cutPrefix(rest, " for training")
	rest, ok := cutPrefix(rest, " = ")
	if !ok {
		return 0
	}
	s, end, ok := l.sizeAt(at, len(l.text)-len(rest))
	switch {
	case !ok:
		return end
	case training:
		change := Change{Header: l.header(at), Name: "training"}
		change.Set(PeakReserved, s)
		l.add(change)
	default:
		l.part(at, "peak reserved memory", Lane{}, PeakReserved, s)
	}
	return end
}
