package parser

import "bytes"

// batchMonitorDialect is that of a worker that transcribes a queue and looks at its memory now and then, every ten batches
// or when asked (howejacob1/transcribey: gpu.py, lang_detect.py, stats.py, and the scripts before them). It names no files,
// and its readings no places:
//
//	GPU Memory - Allocated: 2396.2MB, Reserved: 2928.6MB
//	GPU Memory - Allocated: 2.34 GB, Reserved: 2.86 GB, Total: 11.51 GB
//	Peak - Allocated: 4.56 GB, Reserved: 5.01 GB, Allocated: 2.34 GB
//	Processed 64 files, 12.5% complete, max GPU memory usage: 4.56 GB
//	Max GPU ram utilization: 4.56GB
//	Mem: 2,340MB/11,511MB (20.3%) | Load: 95.0% | Temp: 71°C
//	identifying languages for 64 vcons (gpu memory: 9876543210)
//
// Behind "Peak" the key Allocated comes twice: the first is the peak, the second the level; Reserved is the peak of what
// was reserved. What stands behind "gpu memory" is what is free, in bytes. "Mem" is what the driver says. With them come:
//
//	GPU memory peak statistics reset
//	Lang detect processed 10 batches, performing memory cleanup...
//	CLEANUP: Cleaning up lang_detect_model
//	CLEANUP: GPU memory cleared
var batchMonitorDialect = dialect{
	name: "batch-monitor",
	needles: eventNeedles(batchMonitorEvents, allocatedItem, "max GPU memory usage: ", "Max GPU ram utilization: ", "%) | Load: ",
		"(gpu memory: ", cleanupMark),
	read: func(l *line, at int) int {
		switch l.text[at] {
		case ' ':
			return readMonitor(l, at)
		case 'm':
			return readMonitorPeak(l, at, len("max GPU memory usage: "))
		case 'M':
			return readMonitorPeak(l, at, len("Max GPU ram utilization: "))
		case '%':
			return readMonitorDevice(l, at)
		case '(':
			return readMonitorFree(l, at)
		}
		if _, ok := cutPrefix(l.text[at:], cleanupMark); ok {
			return readCleanupMark(l, at)
		}
		return readEvent(l, at, batchMonitorEvents)
	},
}

const (
	allocatedItem = " - Allocated: "
	cleanupMark   = "CLEANUP: "
)

var batchMonitorEvents = []eventWording{
	{"GPU memory peak statistics reset", EventPeakReset, ""},
	{"Lang detect processed ", EventProgress, " batches, performing memory cleanup"},
	{"CUDA error during transcription: ", EventCacheCleared, ". Clearing CUDA cache and continuing"},
}

// readMonitor reads the lists that begin with "GPU Memory" and with "Peak".
func readMonitor(l *line, at int) (end int) {
	name := l.text[:at]
	peaks := bytes.HasSuffix(name, []byte("Peak"))
	text := l.text[at+len(" - "):]
	list, rest, bad := cutSizes(text, "Allocated", "Reserved", "Total")
	switch {
	case len(list) == 0 || len(rest) > 0 && rest[0] == ',' || len(list) > 1 && list[1].key != "Reserved":
		return 0 // another list: with "Cached" or "Max"
	case !peaks && (len(list) < 2 || !bytes.HasSuffix(name, []byte("GPU Memory"))):
		return 0
	}
	c := l.checkpoint(at, "GPU Memory")
	c.Sampled = true
	// "[rank1]: GPU Memory - Allocated: ...", and torchrun --tee's "[default1]:".
	c.Lane.Rank = max(rankBefore(name), markedRank(name, "[default"))
	for i, item := range list {
		q := Allocated
		switch {
		case item.key == "Total":
			q = Total
		case item.key == "Reserved" && peaks:
			q = PeakReserved
		case item.key == "Reserved":
			q = Reserved
		case peaks && i == 0:
			q = Peak
		}
		if wrong := setSize(c, q, item.size, item.key); wrong != nil && bad == nil {
			bad = wrong
		}
	}
	l.finish(c, bad)
	return len(l.text) - len(rest)
}

// finish adds the error of a checkpoint that could not be read to its end, and takes back one that has nothing.
func (l *line) finish(c *Checkpoint, bad *mistake) {
	if c.Len() == 0 {
		l.undo()
	}
	if bad != nil {
		l.badCheckpoint(len(l.text), bad.expected, bad.found)
	}
}

// readMonitorPeak reads the largest allocation so far, behind a label of that length.
func readMonitorPeak(l *line, at, label int) (end int) {
	s, rest, ok := cutSize(l.text[at+label:], 0)
	if !ok || s.Bytes < 0 {
		if isCutSize(l.text[at+label:]) {
			l.bad(at, "a size such as 4.56GB", "the line was cut")
			return len(l.text)
		}
		return 0
	}
	c := l.checkpoint(at, "GPU Memory")
	c.Sampled = true
	c.Set(Peak, s)
	return len(l.text) - len(rest)
}

// readMonitorDevice reads "Mem: 2,340MB/11,511MB (20.3%) | Load: 95.0%", whose "%) | Load: " stands at an offset. The
// numbers have a decimal where the driver's library gives them one.
func readMonitorDevice(l *line, at int) (end int) {
	i := bytes.LastIndex(l.text[max(0, at-80):at], []byte("Mem: "))
	if i < 0 {
		return 0
	}
	used, rest, ok := cutGroupedMB(l.text[max(0, at-80)+i+len("Mem: "):])
	rest, slash := cutPrefix(rest, "/")
	total, _, okTotal := cutGroupedMB(rest)
	if !ok || !slash || !okTotal {
		return 0
	}
	c := l.checkpoint(at, "GPU")
	c.Sampled = true
	c.Set(Used, used)
	c.Set(Total, total)
	return len(l.text)
}

// cutGroupedMB cuts "2,340MB" or "2,340.0MB" off the text. The programs of the driver print whole MiB.
func cutGroupedMB(text []byte) (s Size, rest []byte, ok bool) {
	n, rest, ok := cutGrouped(text)
	rest, _ = cutPrefix(rest, ".0")
	rest, unit := cutPrefix(rest, "MB")
	if !ok || !unit {
		return Size{}, text, false
	}
	s, ok = decimal{digits: n}.times(MiB)
	return s, rest, ok
}

// readMonitorFree reads "(gpu memory: 9876543210)": free bytes.
func readMonitorFree(l *line, at int) (end int) {
	n, rest, ok := cutNumber(l.text[at+len("(gpu memory: "):])
	rest, closed := cutPrefix(rest, ")")
	if !ok || !closed || n.decimals > 0 || n.digits < 0 {
		return 0
	}
	c := l.checkpoint(at, "GPU Memory")
	c.Sampled = true
	c.Set(Free, Exact(n.digits))
	return len(l.text) - len(rest)
}

// readCleanupMark reads what stands behind "CLEANUP: ". A cleanup that failed or was not needed is none:
//
//	CLEANUP: Error during GPU memory cleanup: ...
//	CLEANUP: No GPU, skipping GPU cleanup
func readCleanupMark(l *line, at int) (end int) {
	if inSource(l.text[:at]) {
		return 0
	}
	text := unquoted(l.text[at+len(cleanupMark):])
	kind := EventKind("")
	switch string(text) {
	case "GPU memory cleared":
		kind = EventCacheCleared
	case "Running garbage collection", "Garbage collection completed",
		"Starting comprehensive cleanup", "Comprehensive cleanup completed":
		kind = EventCleanup
	default:
		model, deleted := bytes.CutSuffix(text, []byte(" deleted"))
		_, begins := cutPrefix(text, "Cleaning up ")
		if isTemplate(text) || !begins && (!deleted || bytes.ContainsAny(model, " \t")) {
			return 0
		}
		kind = EventCleanup
	}
	l.add(Event{Header: l.header(at), Kind: kind, Text: l.message(at)})
	return len(l.text)
}
