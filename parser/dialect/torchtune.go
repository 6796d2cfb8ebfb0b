package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// torchtuneDialect reads torchtune (torchtune/training/memory.py, metric_logging.py):
//
//	INFO:torchtune.utils._logging:Memory stats after model init:
//		GPU peak memory allocation: 2.33 GiB
//		GPU peak memory reserved: 2.34 GiB
//		GPU peak memory active: 2.33 GiB
//	Step 1 | loss:1.93 lr:5e-06 tokens_per_second_per_gpu:1500.1 peak_memory_active:5.1 peak_memory_alloc:4.512502193450928 ...
//	INFO:torchtune.utils.logging:Memory Stats after model init:
//	{'peak_memory_active': 9.478172672, 'peak_memory_alloc': 8.953868288, 'peak_memory_reserved': 11.112808448}
//
// Until August 2024 it divided by 10^9 and said GB. The digits of a number without a unit show its
// divisor, see [cutTorchtune].
var torchtuneDialect = scan.Dialect{
	Name: "torchtune",
	Needles: []string{
		"peak memory allocation: ",
		"peak memory alloc: ",
		"peak memory reserved: ",
		"peak memory active: ",
		"peak_memory_alloc",
		"peak_memory_reserved",
	},
	Read: func(l *scan.Line, at int) int {
		if l.Text[at+len("peak")] == ' ' {
			return readTorchtune(l, at)
		}
		if !scan.StartsKeyed(l, at, torchtuneKeys) {
			return 0
		}
		c := l.Checkpoint(at, "step")
		c.Sampled = true
		r, end := scan.ReadKeyed(l, at, torchtuneKeys, func([]byte) bool { return false }, cutTorchtune)
		c.Reading = r
		return end
	},
}

var torchtuneKeys = []scan.Keyed{
	{Key: "peak_memory_alloc", Q: record.Peak},
	{Key: "peak_memory_reserved", Q: record.PeakReserved},
}

// readTorchtune reads the lines of peaks below a message. The message names the checkpoint.
func readTorchtune(l *scan.Line, at int) (end int) {
	c := l.Checkpoint(at, "peak memory")
	c.Sampled = true
	if text, ok := l.Previous(1); ok {
		text = text[:min(len(text), 512)]
		_, stage, ok := bytes.Cut(text, []byte("emory stats "))
		if !ok || len(stage) >= 128 {
			_, stage, ok = bytes.Cut(text, []byte("emory Stats "))
		}
		if ok && len(stage) < 128 {
			c.Name, c.Sampled = l.Str(bytes.TrimRight(stage, ": \r")), false
		}
	}
	text := l.Text[at:]
	for range 3 {
		label, rest, ok := bytes.Cut(text, []byte(": "))
		size, _, isSize := lex.CutDecimalSize(rest)
		if !ok || !isSize || size.Bytes < 0 {
			break
		}
		switch string(label) {
		case "peak memory allocation", "peak memory alloc":
			c.Set(record.Peak, size)
		case "peak memory reserved":
			c.Set(record.PeakReserved, size)
		}
		next, ok := l.Peek(1)
		i := bytes.Index(next[:min(len(next), 128)], []byte(" peak memory "))
		if !ok || i < 0 {
			break
		}
		l.Next()
		text = next[i+1:]
	}
	if c.Len() == 0 {
		l.Undo()
		return 0
	}
	return len(l.Text)
}

// cutTorchtune reads a number of gigabytes that was not rounded. If torchtune divided by 10^9,
// the number has at most nine decimals and gives a multiple of 512 bytes, the unit of PyTorch's
// allocator. If torchtune divided by 2^30, this is so only by accident. So these two properties
// tell which divisor was used.
func cutTorchtune(value []byte) (s record.Size, ok bool) {
	n, _, ok := lex.CutNumber(value)
	if !ok {
		return record.Size{}, false
	}
	unit := record.GiB
	if n.Decimals >= 7 && n.Decimals <= 9 && n.Digits < 1e15 &&
		n.Digits*int64(lex.Pow10[9-n.Decimals])%512 == 0 {
		unit = lex.GB
	}
	s, ok = n.Times(unit)
	return record.Exact(s.Bytes), ok
}
