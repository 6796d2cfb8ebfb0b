package parser

import "bytes"

// composerDialect is that of MosaicML's composer and LLM Foundry (composer/callbacks/memory_monitor.py), whose gigabytes are
// decimal and have five significant digits:
//
//	[batch=1/20]:
//		 Train memory/current_allocated_mem: 0.9814
//		 Train memory/current_active_mem: 0.9814
//		 Train memory/peak_reserved_mem: 3.2317
//
// The keys of its first versions ("memory/allocated_mem") gave all that was ever allocated, or bytes: they are passed over.
var composerDialect = dialect{
	name:    "composer",
	needles: keyNeedles(composerKeys),
	read: func(l *line, at int) int {
		if !startsKeyed(l, at, composerKeys) {
			return 0
		}
		c := l.checkpoint(at, "batch")
		c.Sampled = true
		r, end := readKeyed(l, at, composerKeys, func(text []byte) bool { return bytes.Contains(text, []byte("memory/")) }, cutComposer)
		c.Reading = r
		return end
	},
}

var composerKeys = []keyed{
	{"memory/current_allocated_mem", Allocated},
	{"memory/current_active_mem", Active},
	{"memory/current_inactive_mem", InactiveSplit},
	{"memory/current_reserved_mem", Reserved},
	{"memory/peak_allocated_mem", Peak},
	{"memory/peak_reserved_mem", PeakReserved},
}

// cutComposer reads a number of gigabytes that was rounded to five significant digits, then printed with four decimals.
func cutComposer(value []byte) (s Size, ok bool) {
	n, _, ok := cutNumber(value)
	if !ok {
		return Size{}, false
	}
	if s, ok = n.times(gB); !ok {
		return Size{}, false
	}
	for whole := gB; s.Bytes >= whole && whole < 1e16; whole *= 10 {
		s.Resolution = max(s.Resolution, whole/20_000) // 0.5e-4 of the first digit's unit
	}
	return s, true
}
