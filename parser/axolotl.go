package parser

import "bytes"

// axolotlDialect is that of Axolotl (src/axolotl/utils/bench.py, core/trainers/base.py). Until 2025 it printed what is
// allocated, and what the allocator and the driver hold beyond it:
//
//	[2025-06-20 20:51:15,182] [INFO] [axolotl...:107] [PID:76471] [RANK:0] cuda memory usage baseline: 0.000GB (+0.554GB misc)
//	... cuda memory usage after model load: 9.264GB (+1.721GB cache, +0.375GB misc)
//
// Since then it prints three peaks, of active, allocated and reserved memory, the plus notwithstanding:
//
//	... [axolotl.loaders.model:262] [PID:4711] Memory usage after model load 9.264GB (+9.264GB allocated, +9.541GB reserved)
//	{'loss': 0.0001, 'memory/max_active (GiB)': 14.56, 'memory/max_allocated (GiB)': 14.56, 'memory/device_reserved (GiB)': 14.6}
//
// On Apple's GPUs the first two are what is allocated, and what the driver holds.
var axolotlDialect = dialect{
	name: "axolotl",
	needles: []string{
		"GB (+", "GB ()", "memory/max_allocated (GiB)", "memory/max_mem_allocated(gib)", "memory/device_reserved (GiB)",
		"memory/device_mem_reserved(gib)",
	},
	read: func(l *line, at int) int {
		if l.text[at] == 'G' {
			return readAxolotl(l, at)
		}
		if !startsKeyed(l, at, axolotlKeys) {
			return 0
		}
		c := l.checkpoint(at, "step")
		c.Sampled = true
		r, end := readKeyed(l, at, axolotlKeys, func(text []byte) bool { return bytes.Contains(text, []byte("memory/")) },
			func(value []byte) (Size, bool) {
				n, _, ok := cutNumber(value)
				s, fits := n.rounded(2).times(GiB)
				return s, ok && fits
			})
		c.Reading = r
		return end
	},
}

var axolotlKeys = []keyed{
	{"memory/max_allocated (GiB)", Peak},
	{"memory/max_mem_allocated(gib)", Peak},
	{"memory/device_reserved (GiB)", PeakReserved},
	{"memory/device_mem_reserved(gib)", PeakReserved},
}

// readAxolotl reads the line that has "9.264" before the offset and "GB (+1.721GB cache, ...)" behind it.
func readAxolotl(l *line, at int) (end int) {
	from := at
	for from > 0 && at-from < 20 && (isDigit(l.text[from-1]) || l.text[from-1] == '.') {
		from--
	}
	n, _, ok := cutNumber(l.text[from:at])
	level, fits := n.times(GiB)
	if !ok || !fits || from == 0 || l.text[from-1] != ' ' {
		return 0
	}
	extras := map[string]Size{}
	rest := l.text[at+len("GB ("):]
	for len(rest) > 0 && rest[0] == '+' {
		size, behind, ok := cutSize(rest[1:], 0)
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
	message := bytes.TrimRight(l.text[:from], " ")
	if i := bytes.LastIndex(message, []byte("] ")); i >= 0 {
		message = message[i+2:]
	}
	name, older := bytes.CutSuffix(message, []byte(":"))
	active := bytes.Contains(name, []byte("memory active"))
	if _, place, ok := bytes.Cut(name, []byte("emory usage ")); ok {
		name = place
	} else if older && !active {
		return 0
	}
	if len(name) == 0 || len(name) > 128 {
		return 0
	}
	c := l.checkpoint(from, l.str(name))
	c.Sampled = active
	c.Lane.Rank = axolotlRank(l.text[:from])
	allocated, hasAllocated := extras["allocated"]
	reserved, hasReserved := extras["reserved"]
	switch {
	case hasAllocated && hasReserved:
		c.Set(Peak, allocated)
		c.Set(PeakReserved, reserved)
	case hasAllocated:
		c.Set(Allocated, level)
		if !bytes.Contains(message, []byte("npu")) {
			c.Set(Reserved, allocated)
		}
	case older && !active:
		cache, misc := extras["cache"], extras["misc"]
		c.Set(Allocated, level)
		held := Size{level.Bytes + cache.Bytes, level.Resolution + cache.Resolution}
		c.Set(Reserved, held)
		if _, has := extras["misc"]; has {
			c.Set(Used, Size{held.Bytes + misc.Bytes, held.Resolution + misc.Resolution})
		}
	default:
		l.undo()
		return 0
	}
	return len(l.text) - len(rest) + 1
}

// axolotlRank is the rank in the logger's prefix: "[RANK:0]".
func axolotlRank(text []byte) int {
	if _, rest, ok := bytes.Cut(text[:min(len(text), 512)], []byte("[RANK:")); ok {
		if n, behind, ok := cutInt(rest); ok && len(behind) > 0 && behind[0] == ']' {
			return n
		}
	}
	return 0
}
