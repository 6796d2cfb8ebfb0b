package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// memoryStatsDialect reads the dict that torch.cuda.memory_stats() returns, printed on one line or
// one key a line, whole or in part. The bytes are exact:
//
//	OrderedDict([('active.all.allocated', 3), ..., ('allocated_bytes.all.current', 1024), ('allocated_bytes.all.peak', 2048), ...
//	 'allocated_bytes.all.current': 1024,
//	reserved_bytes.all.peak: 20971520
var memoryStatsDialect = scan.Dialect{
	Name:    "memory-stats",
	Needles: scan.KeyNeedles(memoryStatsKeys),
	Read: func(l *scan.Line, at int) int {
		if !scan.StartsKeyed(l, at, memoryStatsKeys) {
			return 0
		}
		c := l.Checkpoint(at, "memory stats")
		c.Sampled = true
		r, end := scan.ReadKeyed(
			l,
			at,
			memoryStatsKeys,
			isMemoryStat,
			func(value []byte) (record.Size, bool) {
				s, _, ok := lex.CutSize(value, 1)
				return s, ok
			},
		)
		c.Reading = r
		return end
	},
}

var memoryStatsKeys = []scan.Keyed{
	{Key: "allocated_bytes.all.current", Q: record.Allocated},
	{Key: "allocated_bytes.all.peak", Q: record.Peak},
	{Key: "reserved_bytes.all.current", Q: record.Reserved},
	{Key: "reserved_bytes.all.peak", Q: record.PeakReserved},
	{Key: "active_bytes.all.current", Q: record.Active},
	{Key: "inactive_split_bytes.all.current", Q: record.InactiveSplit},
}

// isMemoryStat reports whether a line has a key of the dict, which then goes on in this line.
func isMemoryStat(text []byte) bool {
	for _, word := range []string{
		".all.", "_pool.", "num_", "max_split_size", "oversize_", ".current", ".peak",
	} {
		if bytes.Contains(text, []byte(word)) {
			return true
		}
	}
	return false
}
