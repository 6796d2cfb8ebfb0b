package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// composerDialect reads MosaicML's composer and LLM Foundry (composer/callbacks/memory_monitor.py).
// Their gigabytes are decimal and have five significant digits:
//
//	[batch=1/20]:
//		 Train memory/current_allocated_mem: 0.9814
//		 Train memory/current_active_mem: 0.9814
//		 Train memory/peak_reserved_mem: 3.2317
//
// The keys of the first versions ("memory/allocated_mem") are not read. They gave bytes, or the sum
// of all allocations so far.
var composerDialect = scan.Dialect{
	Name:    "composer",
	Needles: scan.KeyNeedles(composerKeys),
	Read: func(l *scan.Line, at int) int {
		if !scan.StartsKeyed(l, at, composerKeys) {
			return 0
		}
		c := l.Checkpoint(at, "batch")
		c.Sampled = true
		r, end := scan.ReadKeyed(
			l,
			at,
			composerKeys,
			func(text []byte) bool { return bytes.Contains(text, []byte("memory/")) },
			cutComposer,
		)
		c.Reading = r
		return end
	},
}

var composerKeys = []scan.Keyed{
	{Key: "memory/current_allocated_mem", Q: record.Allocated},
	{Key: "memory/current_active_mem", Q: record.Active},
	{Key: "memory/current_inactive_mem", Q: record.InactiveSplit},
	{Key: "memory/current_reserved_mem", Q: record.Reserved},
	{Key: "memory/peak_allocated_mem", Q: record.Peak},
	{Key: "memory/peak_reserved_mem", Q: record.PeakReserved},
}

// cutComposer cuts a size in decimal gigabytes off the text. Composer rounds sizes to five
// significant digits and prints four decimals.
func cutComposer(value []byte) (s record.Size, ok bool) {
	n, _, ok := lex.CutNumber(value)
	if !ok {
		return record.Size{}, false
	}
	if s, ok = n.Times(lex.GB); !ok {
		return record.Size{}, false
	}
	for whole := lex.GB; s.Bytes >= whole && whole < 1e16; whole *= 10 {
		s.Resolution = max(s.Resolution, whole/20_000) // half of the fifth significant digit
	}
	return s, true
}
