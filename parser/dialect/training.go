package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// trainingDialect reads a trainer that logs its memory at named stages, before and after each block
// of work, and around cleanups (fmousinho/LaxAI: shared_libs/utils/gpu_memory.py, cpu_memory.py,
// evaluation_memory.py, cleanup_gpu.py):
//
//	Epoch 3 start - Allocated: 1.23GB, Cached: 2.00GB, Max: 3.00GB
//	Training batch - Before - Allocated: 1.23GB, Cached: 2.00GB, Max: 3.00GB
//	Training batch - After - Allocated: 1.63GB, Cached: 2.50GB, Max: 3.00GB
//	Training batch - Memory increase: 0.40GB
//	GPU memory before cleanup - Allocated: 3.21GB, Cached: 5.50GB
//	GPU memory after cleanup - Allocated: 1.23GB, Cached: 2.00GB
//	Memory freed - Allocated: 1.98GB, Cached: 3.50GB
//	Evaluation Memory (Before validation evaluation): 2345.6MB RSS, 1260.0MB GPU, Model on cuda:0
//
// "Cached" is the reserved memory. An older version says "Reserved", and prints nothing before a
// cleanup. Host memory is not read. Some readings have several lines:
//
//	Training completion - Memory Stats:
//	  Process: 2345.6MB RSS (14.3%)
//	  System: 9876.5MB available of 16384.0MB (39.7%)
//	  GPU: 1260.0MB allocated, 2048.0MB reserved
//	  GC: 123456 objects, 0 garbage
//
//	Detailed Statistics:
//	  Allocated: 1.23 GB (1,320,702,443 bytes)
//	  Cached:    2.00 GB (2,147,483,648 bytes)
//	  Peak:      3.00 GB (3,221,225,472 bytes)
var trainingDialect = scan.Dialect{
	Name: "training",
	Needles: scan.EventNeedles(
		trainingEvents,
		allocatedItem,
		" - Memory increase: ",
		"Evaluation Memory (",
		"MB allocated, ",
		cachedLine,
	),
	Read: func(l *scan.Line, at int) int {
		switch text := l.Text[at:]; {
		case bytes.HasPrefix(text, []byte(allocatedItem)):
			return readTraining(l, at)
		case bytes.HasPrefix(text, []byte(" - Memory increase: ")):
			return readIncrease(l, at)
		case text[0] == 'E' && text[1] == 'v':
			return readEvaluation(l, at)
		case text[0] == 'M':
			return readMemoryStats(l, at)
		case bytes.HasPrefix(text, []byte(cachedLine)):
			return readStatistics(l, at)
		}
		return scan.ReadEvent(l, at, trainingEvents)
	},
}

// cachedLine is the label of a line that begins with two blanks. A launcher may take one of them.
const cachedLine = " Cached:    "

var trainingEvents = []scan.EventWording{
	{Text: "GPU cache cleared (", Kind: record.EventCacheCleared},
	{Text: "GPU cache force-cleared (", Kind: record.EventCacheCleared},
	{Text: "GPU peak memory statistics reset", Kind: record.EventPeakReset},
	{Text: "Cleared GPU memory on ", Kind: record.EventCleanup},
	{Text: "Clearing GPU memory...", Kind: record.EventCleanup},
	{Text: "Cleaning up GPU memory after ", Kind: record.EventCleanup},
	{Text: "Cleaning up GPU and CPU memory after ", Kind: record.EventCleanup},
	{
		Text: "Exception occurred during ",
		Kind: record.EventCleanup,
		With: ", performing GPU memory cleanup",
	},
}

// readTraining reads a list of sizes. The parameter at is the offset of " - Allocated: ". The
// text before it is the checkpoint's name.
func readTraining(l *scan.Line, at int) (end int) {
	name := bytes.TrimSpace(l.Text[l.Head(at).Message():at])
	text := l.Text[at+len(" - "):]
	value := text[len("Allocated: "):]
	if len(name) == 0 || len(name) > scan.NameMax || source.IsTemplate(name) ||
		len(value) > 0 && !lex.BeginsWithNumber(value) || source.EndsInLogger(l.Text[:at]) {
		return 0
	}
	list, rest, bad := lex.CutSizes(text, "Allocated", "Cached", "Reserved", "Max", "Total")
	end = len(l.Text) - len(rest)
	if string(name) == record.MemoryFreed {
		change := record.Change{Header: l.Header(at), Name: record.MemoryFreed}
		for _, item := range list {
			change.Set(trainingQuantity(item.Key), item.Size)
		}
		if change.Len() > 0 {
			l.Add(change)
		}
		if bad != nil {
			l.BadCheckpoint(at, bad.Expected, bad.Found)
		}
		return end
	}
	c := l.Checkpoint(at, l.Str(name))
	c.Sampled = string(name) == "GPU Memory" // the program names no stage then
	for _, item := range list {
		wrong := lex.SetSize(c, trainingQuantity(item.Key), item.Size, item.Key)
		if wrong != nil && bad == nil {
			bad = wrong
		}
	}
	finishCheckpoint(l, c, bad)
	return end
}

// trainingQuantity returns the quantity with a key of the list.
func trainingQuantity(key string) record.Quantity {
	switch key {
	case "Allocated":
		return record.Allocated
	case "Max":
		return record.Peak
	case "Total":
		return record.Total
	}
	return record.Reserved
}

// readIncrease reads how much memory a block of work added: " - Memory increase: 0.40GB".
func readIncrease(l *scan.Line, at int) (end int) {
	value := l.Text[at+len(" - Memory increase: "):]
	s, rest, ok := lex.CutSize(value, 0)
	if !ok {
		if lex.IsTornSize(value) {
			l.Bad(at, "a size such as 1.23GB", "the line was cut")
			return len(l.Text)
		}
		return 0
	}
	change := record.Change{
		Header: l.Header(at),
		Name:   l.Str(l.Text[l.Head(at).Message() : at+len(" - Memory increase")]),
	}
	change.Set(record.Allocated, s)
	l.Add(change)
	return len(l.Text) - len(rest)
}

// readEvaluation reads "Evaluation Memory (STAGE): 2345.6MB RSS, 1260.0MB GPU".
func readEvaluation(l *scan.Line, at int) (end int) {
	stage, rest, ok := bytes.Cut(l.Text[at+len("Evaluation Memory ("):], []byte("): "))
	if !ok || source.IsTemplate(stage) {
		return 0
	}
	_, rest, ok = lex.CutSize(rest, 0) // host memory
	rest, rss := lex.CutPrefix(rest, " RSS, ")
	if !ok || !rss {
		return 0
	}
	s, rest, ok := lex.CutSize(rest, 0)
	rest, gpu := lex.CutPrefix(rest, " GPU")
	if !ok || !gpu || s.Bytes < 0 {
		return 0
	}
	l.Checkpoint(at, l.Str(stage)).Set(record.Allocated, s)
	return len(l.Text) - len(rest)
}

// readMemoryStats reads the line about the GPU in a block "Memory Stats". The parameter at is the
// offset of "MB allocated, ".
func readMemoryStats(l *scan.Line, at int) (end int) {
	from := lex.TrailingNumber(l.Text[:at])
	if !bytes.HasSuffix(l.Text[:from], []byte("GPU: ")) {
		return 0
	}
	allocated, _, ok := lex.CutSize(l.Text[from:], 0)
	reserved, rest, okReserved := lex.CutSize(l.Text[at+len("MB allocated, "):], 0)
	rest, word := lex.CutPrefix(rest, " reserved")
	if !ok || !okReserved || !word || reserved.Bytes < 0 {
		return 0
	}
	name := "GPU Memory"
	for n := 1; n <= 3; n++ {
		before, there := l.Previous(n)
		if !there {
			break
		}
		if i := bytes.LastIndex(before, []byte(" - Memory Stats:")); i > 0 {
			name = l.Str(before[source.MessageStart(before[:i]):i])
			break
		}
	}
	c := l.Checkpoint(from, name)
	c.Sampled = name == "GPU Memory"
	c.Set(record.Allocated, allocated)
	c.Set(record.Reserved, reserved)
	return len(l.Text) - len(rest)
}

// readStatistics reads the three lines of "Detailed Statistics", whose bytes are exact. The line
// l is the second of them.
func readStatistics(l *scan.Line, at int) (end int) {
	reserved, ok := exactGB(l.Text[at:], " Cached:")
	if !ok {
		return 0
	}
	c := l.Checkpoint(at, "Detailed Statistics")
	c.Set(record.Reserved, reserved)
	if before, there := l.Previous(1); there {
		if s, ok := exactGB(before, " Allocated:"); ok {
			c.Set(record.Allocated, s)
		}
	}
	if after, there := l.Peek(1); there {
		if s, ok := exactGB(after, " Peak:"); ok {
			c.Set(record.Peak, s)
			l.Next()
		}
	}
	return len(l.Text)
}

// exactGB returns the exact bytes in a line such as "  Peak:      3.00 GB (3,221,225,472 bytes)".
func exactGB(text []byte, label string) (s record.Size, ok bool) {
	i := bytes.Index(text, []byte(label))
	if i < 0 || i > 128 {
		return record.Size{}, false
	}
	_, rest, ok := lex.CutSize(text[i+len(label):], 0)
	rest, open := lex.CutPrefix(rest, " (")
	n, rest, whole := lex.CutGrouped(rest)
	_, closed := lex.CutPrefix(rest, " bytes)")
	return record.Exact(n), ok && open && whole && closed
}
