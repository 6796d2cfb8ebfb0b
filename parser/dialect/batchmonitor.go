package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// batchMonitorDialect reads a worker that transcribes a queue. It prints its memory every ten
// batches, or on request (howejacob1/transcribey: gpu.py, lang_detect.py, stats.py, and the scripts
// before them). It names neither files nor stages:
//
//	GPU Memory - Allocated: 2396.2MB, Reserved: 2928.6MB
//	GPU Memory - Allocated: 2.34 GB, Reserved: 2.86 GB, Total: 11.51 GB
//	Peak - Allocated: 4.56 GB, Reserved: 5.01 GB, Allocated: 2.34 GB
//	Processed 64 files, 12.5% complete, max GPU memory usage: 4.56 GB
//	Max GPU ram utilization: 4.56GB
//	Mem: 2,340MB/11,511MB (20.3%) | Load: 95.0% | Temp: 71°C
//	identifying languages for 64 vcons (gpu memory: 9876543210)
//
// Behind "Peak" the key Allocated comes twice: first the peak, then the level. Reserved is the peak
// of reserved memory there. "gpu memory" is followed by the free bytes. "Mem" is what the driver
// reports. The worker also prints these events:
//
//	GPU memory peak statistics reset
//	Lang detect processed 10 batches, performing memory cleanup...
//	CLEANUP: Cleaning up lang_detect_model
//	CLEANUP: GPU memory cleared
var batchMonitorDialect = scan.Dialect{
	Name: "batch-monitor",
	Needles: scan.EventNeedles(
		batchMonitorEvents,
		allocatedItem,
		"max GPU memory usage: ",
		"Max GPU ram utilization: ",
		"%) | Load: ",
		"(gpu memory: ",
		cleanupMark,
	),
	Read: func(l *scan.Line, at int) int {
		switch l.Text[at] {
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
		if _, ok := lex.CutPrefix(l.Text[at:], cleanupMark); ok {
			return readCleanupMark(l, at)
		}
		return scan.ReadEvent(l, at, batchMonitorEvents)
	},
}

const (
	allocatedItem = " - Allocated: "
	cleanupMark   = "CLEANUP: "
)

var batchMonitorEvents = []scan.EventWording{
	{Text: "GPU memory peak statistics reset", Kind: record.EventPeakReset, With: ""},
	{
		Text: "Lang detect processed ",
		Kind: record.EventProgress,
		With: " batches, performing memory cleanup",
	},
	{
		Text: "CUDA error during transcription: ",
		Kind: record.EventCacheCleared,
		With: ". Clearing CUDA cache and continuing",
	},
}

// readMonitor reads the list of sizes behind "GPU Memory" or "Peak". The parameter at is the
// offset of " - Allocated: ", with which the list begins.
func readMonitor(l *scan.Line, at int) (end int) {
	name := l.Text[:at]
	peaks := bytes.HasSuffix(name, []byte("Peak"))
	text := l.Text[at+len(" - "):]
	list, rest, bad := lex.CutSizes(text, "Allocated", "Reserved", "Total")
	switch {
	case len(list) == 0, len(rest) > 0 && rest[0] == ',',
		len(list) > 1 && list[1].Key != "Reserved":
		return 0 // the list of a trainer, which has "Cached" or "Max" in it
	case !peaks && (len(list) < 2 || !bytes.HasSuffix(name, []byte("GPU Memory"))):
		return 0
	}
	c := l.Checkpoint(at, "GPU Memory")
	c.Sampled = true
	c.Lane.Rank = l.Head(at).Rank()
	for i, item := range list {
		q := record.Allocated
		switch {
		case item.Key == "Total":
			q = record.Total
		case item.Key == "Reserved" && peaks:
			q = record.PeakReserved
		case item.Key == "Reserved":
			q = record.Reserved
		case peaks && i == 0:
			q = record.Peak
		}
		if wrong := lex.SetSize(c, q, item.Size, item.Key); wrong != nil && bad == nil {
			bad = wrong
		}
	}
	finishCheckpoint(l, c, bad)
	return len(l.Text) - len(rest)
}

// finishCheckpoint ends the reading of the checkpoint c, which is the last record. It removes c
// if no size was read. If bad is not nil, it adds an error that describes the unreadable part.
func finishCheckpoint(l *scan.Line, c *record.Checkpoint, bad *lex.Mistake) {
	if c.Len() == 0 {
		l.Undo()
	}
	if bad != nil {
		l.BadCheckpoint(len(l.Text), bad.Expected, bad.Found)
	}
}

// readMonitorPeak reads the largest allocated memory so far: "Max GPU ram utilization: 4.56GB".
// The parameter at is the offset of the label before the size, and label is the label's length.
func readMonitorPeak(l *scan.Line, at, label int) (end int) {
	s, rest, ok := lex.CutSize(l.Text[at+label:], 0)
	if !ok || s.Bytes < 0 {
		if lex.IsTornSize(l.Text[at+label:]) {
			l.Bad(at, "a size such as 4.56GB", "the line was cut")
			return len(l.Text)
		}
		return 0
	}
	c := l.Checkpoint(at, "GPU Memory")
	c.Sampled = true
	c.Set(record.Peak, s)
	return len(l.Text) - len(rest)
}

// readMonitorDevice reads the driver's figures. The parameter at is the offset of "%) | Load: ".
// With some versions of the driver's library the figures have one decimal:
//
//	Mem: 2,340MB/11,511MB (20.3%) | Load: 95.0% | Temp: 71°C
func readMonitorDevice(l *scan.Line, at int) (end int) {
	i := bytes.LastIndex(l.Text[max(0, at-80):at], []byte("Mem: "))
	if i < 0 {
		return 0
	}
	used, rest, ok := cutGroupedMB(l.Text[max(0, at-80)+i+len("Mem: "):])
	rest, slash := lex.CutPrefix(rest, "/")
	total, _, okTotal := cutGroupedMB(rest)
	if !ok || !slash || !okTotal {
		return 0
	}
	c := l.Checkpoint(at, "GPU")
	c.Sampled = true
	c.Set(record.Used, used)
	c.Set(record.Total, total)
	return len(l.Text)
}

// cutGroupedMB cuts "2,340MB" or "2,340.0MB" off the beginning of the text. Both mean whole MiB,
// because the driver gives no fractions of a MiB.
func cutGroupedMB(text []byte) (s record.Size, rest []byte, ok bool) {
	n, rest, ok := lex.CutGrouped(text)
	rest, _ = lex.CutPrefix(rest, ".0")
	rest, unit := lex.CutPrefix(rest, "MB")
	if !ok || !unit {
		return record.Size{}, text, false
	}
	s, ok = lex.Decimal{Digits: n}.Times(record.MiB)
	return s, rest, ok
}

// readMonitorFree reads the free memory in bytes: "(gpu memory: 9876543210)".
func readMonitorFree(l *scan.Line, at int) (end int) {
	n, rest, ok := lex.CutNumber(l.Text[at+len("(gpu memory: "):])
	rest, closed := lex.CutPrefix(rest, ")")
	if !ok || !closed || n.Decimals > 0 || n.Digits < 0 {
		return 0
	}
	c := l.Checkpoint(at, "GPU Memory")
	c.Sampled = true
	c.Set(record.Free, record.Exact(n.Digits))
	return len(l.Text) - len(rest)
}

// readCleanupMark reads the event behind "CLEANUP: ". It returns 0 for a cleanup that failed or was
// not needed:
//
//	CLEANUP: Error during GPU memory cleanup: ...
//	CLEANUP: No GPU, skipping GPU cleanup
func readCleanupMark(l *scan.Line, at int) (end int) {
	if l.Head(at).InSource() {
		return 0
	}
	text := source.Unquoted(l.Text[at+len(cleanupMark):])
	kind := record.EventKind("")
	switch string(text) {
	case "GPU memory cleared":
		kind = record.EventCacheCleared
	case "Running garbage collection", "Garbage collection completed",
		"Starting comprehensive cleanup", "Comprehensive cleanup completed":
		kind = record.EventCleanup
	default:
		model, deleted := bytes.CutSuffix(text, []byte(" deleted"))
		_, begins := lex.CutPrefix(text, "Cleaning up ")
		if source.IsTemplate(text) || !begins && (!deleted || bytes.ContainsAny(model, " \t")) {
			return 0
		}
		kind = record.EventCleanup
	}
	l.Add(record.Event{Header: l.Header(at), Kind: kind, Text: l.Message(at)})
	return len(l.Text)
}
