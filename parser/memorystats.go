package parser

import "bytes"

// memoryStatsDialect is that of torch.cuda.memory_stats(), printed in one line or one key a line, and of what programs take
// from it; the bytes are exact:
//
//	OrderedDict([('active.all.allocated', 3), ..., ('allocated_bytes.all.current', 1024), ('allocated_bytes.all.peak', 2048), ...
//	 'allocated_bytes.all.current': 1024,
//	reserved_bytes.all.peak: 20971520
var memoryStatsDialect = dialect{
	name:    "memory-stats",
	needles: keyNeedles(memoryStatsKeys),
	read: func(l *line, at int) int {
		if !startsKeyed(l, at, memoryStatsKeys) {
			return 0
		}
		c := l.checkpoint(at, "memory stats")
		c.Sampled = true
		r, end := readKeyed(l, at, memoryStatsKeys, isMemoryStat, func(value []byte) (Size, bool) {
			s, _, ok := cutSize(value, 1)
			return s, ok
		})
		c.Reading = r
		return end
	},
}

var memoryStatsKeys = []keyed{
	{"allocated_bytes.all.current", Allocated},
	{"allocated_bytes.all.peak", Peak},
	{"reserved_bytes.all.current", Reserved},
	{"reserved_bytes.all.peak", PeakReserved},
	{"active_bytes.all.current", Active},
	{"inactive_split_bytes.all.current", InactiveSplit},
}

// isMemoryStat tells the lines of a dict that is printed one key a line.
func isMemoryStat(text []byte) bool {
	for _, word := range []string{".all.", "_pool.", "num_", "max_split_size", "oversize_", ".current", ".peak"} {
		if bytes.Contains(text, []byte(word)) {
			return true
		}
	}
	return false
}
