package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// axolotlDialect reads Axolotl (src/axolotl/utils/bench.py, core/trainers/base.py). Until 2025 it
// printed the allocated memory, and what the allocator (cache) and the driver (misc) hold beyond
// it:
//
//	[2025-06-20 20:51:15,182] [INFO] [axolotl...:107] [PID:76471] [RANK:0] cuda memory usage baseline: 0.000GB (+0.554GB misc)
//	... cuda memory usage after model load: 9.264GB (+1.721GB cache, +0.375GB misc)
//
// Since then it prints the peaks of active, allocated and reserved memory. The plus signs stayed,
// but the peaks are not differences:
//
//	... [axolotl.loaders.model:262] [PID:4711] Memory usage after model load 9.264GB (+9.264GB allocated, +9.541GB reserved)
//	{'loss': 0.0001, 'memory/max_active (GiB)': 14.56, 'memory/max_allocated (GiB)': 14.56, 'memory/device_reserved (GiB)': 14.6}
//
// On Apple's GPUs the first two are the allocated memory and what the driver holds.
var axolotlDialect = scan.Dialect{
	Name: "axolotl",
	Needles: []string{
		"GB (+",
		"GB ()",
		"memory/max_allocated (GiB)",
		"memory/max_mem_allocated(gib)",
		"memory/device_reserved (GiB)",
		"memory/device_mem_reserved(gib)",
	},
	Read: func(l *scan.Line, at int) int {
		if l.Text[at] == 'G' {
			return readAxolotl(l, at)
		}
		if !scan.StartsKeyed(l, at, axolotlKeys) {
			return 0
		}
		c := l.Checkpoint(at, "step")
		c.Sampled = true
		r, end := scan.ReadKeyed(
			l,
			at,
			axolotlKeys,
			func(text []byte) bool { return bytes.Contains(text, []byte("memory/")) },
			func(value []byte) (record.Size, bool) {
				n, _, ok := lex.CutNumber(value)
				s, fits := n.Rounded(2).Times(record.GiB)
				return s, ok && fits
			},
		)
		c.Reading = r
		return end
	},
}

var axolotlKeys = []scan.Keyed{
	{Key: "memory/max_allocated (GiB)", Q: record.Peak},
	{Key: "memory/max_mem_allocated(gib)", Q: record.Peak},
	{Key: "memory/device_reserved (GiB)", Q: record.PeakReserved},
	{Key: "memory/device_mem_reserved(gib)", Q: record.PeakReserved},
}

// readAxolotl reads a line of the trainer's log: "9.264GB (+1.721GB cache, +0.375GB misc)". The
// parameter at is the offset of "GB (".
func readAxolotl(l *scan.Line, at int) (end int) {
	from := at
	for from > 0 && at-from < 20 && (lex.IsDigit(l.Text[from-1]) || l.Text[from-1] == '.') {
		from--
	}
	n, _, ok := lex.CutNumber(l.Text[from:at])
	level, fits := n.Times(record.GiB)
	if !ok || !fits || from == 0 || l.Text[from-1] != ' ' {
		return 0
	}
	extras := map[string]record.Size{}
	rest := l.Text[at+len("GB ("):]
	for len(rest) > 0 && rest[0] == '+' {
		size, behind, ok := lex.CutSize(rest[1:], 0)
		if !ok {
			return 0
		}
		word := bytes.TrimLeft(behind, " ")
		i := bytes.IndexAny(word, ",)")
		if i < 0 || i > 16 {
			return 0
		}
		extras[string(word[:i])] = size
		rest = bytes.TrimLeft(word[i:], ", ")
	}
	if len(rest) == 0 || rest[0] != ')' {
		return 0
	}
	message := bytes.TrimRight(l.Text[min(l.Logger(), from):from], " ")
	if i := bytes.LastIndex(message, []byte("] ")); i >= 0 {
		message = message[i+2:]
	}
	name, older := bytes.CutSuffix(message, []byte(":"))
	active := bytes.Contains(name, []byte("memory active"))
	if _, stage, ok := bytes.Cut(name, []byte("emory usage ")); ok {
		name = stage
	} else if older && !active {
		return 0
	}
	if len(name) == 0 || len(name) > 128 {
		return 0
	}
	c := l.Checkpoint(from, l.Str(name))
	c.Sampled = active
	c.Lane.Rank = axolotlRank(l.Text[:from])
	allocated, hasAllocated := extras["allocated"]
	reserved, hasReserved := extras["reserved"]
	switch {
	case hasAllocated && hasReserved:
		c.Set(record.Peak, allocated)
		c.Set(record.PeakReserved, reserved)
	case hasAllocated:
		c.Set(record.Allocated, level)
		if !bytes.Contains(message, []byte("npu")) {
			c.Set(record.Reserved, allocated)
		}
	case older && !active:
		cache, misc := extras["cache"], extras["misc"]
		c.Set(record.Allocated, level)
		held := record.Size{
			Bytes:      level.Bytes + cache.Bytes,
			Resolution: level.Resolution + cache.Resolution,
		}
		c.Set(record.Reserved, held)
		if _, has := extras["misc"]; has {
			c.Set(record.Used, record.Size{
				Bytes:      held.Bytes + misc.Bytes,
				Resolution: held.Resolution + misc.Resolution,
			})
		}
	default:
		l.Undo()
		return 0
	}
	return len(l.Text) - len(rest) + 1
}

// axolotlRank returns the rank in the logger's prefix, or 0: "[RANK:0]".
func axolotlRank(text []byte) int {
	if _, rest, ok := bytes.Cut(text[:min(len(text), 512)], []byte("[RANK:")); ok {
		if n, behind, ok := lex.CutInt(rest); ok && len(behind) > 0 && behind[0] == ']' {
			return n
		}
	}
	return 0
}
