package parser

import "bytes"

// trainingDialect is that of a trainer whose memory is logged at named places, in blocks of work and around its cleanups
// (fmousinho/LaxAI: shared_libs/utils/gpu_memory.py, cpu_memory.py, evaluation_memory.py, cleanup_gpu.py):
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
// What is cached is what is reserved. An older cleanup says "Reserved" and has no line before it. The memory of the host
// gives nothing. Some stand on several lines:
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
var trainingDialect = dialect{
	name: "training",
	needles: eventNeedles(trainingEvents, allocatedItem, " - Memory increase: ", "Evaluation Memory (", "MB allocated, ",
		cachedLine),
	read: func(l *line, at int) int {
		switch text := l.text[at:]; {
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
		return readEvent(l, at, trainingEvents)
	},
}

const cachedLine = "  Cached:    "

var trainingEvents = []eventWording{
	{"GPU cache cleared (", EventCacheCleared, ""},
	{"GPU cache force-cleared (", EventCacheCleared, ""},
	{"GPU peak memory statistics reset", EventPeakReset, ""},
	{"Cleared GPU memory on ", EventCleanup, ""},
	{"Clearing GPU memory...", EventCleanup, ""},
	{"Cleaning up GPU memory after ", EventCleanup, ""},
	{"Cleaning up GPU and CPU memory after ", EventCleanup, ""},
	{"Exception occurred during ", EventCleanup, ", performing GPU memory cleanup"},
}

// readTraining reads a list whose " - Allocated: " stands at an offset.
func readTraining(l *line, at int) (end int) {
	name := bytes.TrimSpace(l.text[messageStart(l.text[:at]):at])
	text := l.text[at+len(" - "):]
	value := text[len("Allocated: "):]
	if len(name) == 0 || len(name) > nameMax || isTemplate(name) || len(value) > 0 && !isNumberAt(value) {
		return 0
	}
	list, rest, bad := cutSizes(text, "Allocated", "Cached", "Reserved", "Max", "Total")
	end = len(l.text) - len(rest)
	if string(name) == "Memory freed" {
		change := Change{Header: l.header(at), Name: "Memory freed"}
		for _, item := range list {
			change.Set(trainingQuantity(item.key), item.size)
		}
		if change.Len() > 0 {
			l.add(change)
		}
		if bad != nil {
			l.badCheckpoint(at, bad.expected, bad.found)
		}
		return end
	}
	c := l.checkpoint(at, l.str(name))
	c.Sampled = string(name) == "GPU Memory" // what it is called where the program names no place
	for _, item := range list {
		if wrong := setSize(c, trainingQuantity(item.key), item.size, item.key); wrong != nil && bad == nil {
			bad = wrong
		}
	}
	l.finish(c, bad)
	return end
}

func trainingQuantity(key string) Quantity {
	switch key {
	case "Allocated":
		return Allocated
	case "Max":
		return Peak
	case "Total":
		return Total
	}
	return Reserved
}

// readIncrease reads by how much the level rose in a block of work.
func readIncrease(l *line, at int) (end int) {
	value := l.text[at+len(" - Memory increase: "):]
	s, rest, ok := cutSize(value, 0)
	if !ok {
		if isCutSize(value) {
			l.bad(at, "a size such as 1.23GB", "the line was cut")
			return len(l.text)
		}
		return 0
	}
	change := Change{Header: l.header(at), Name: l.str(l.text[messageStart(l.text[:at]) : at+len(" - Memory increase")])}
	change.Set(Allocated, s)
	l.add(change)
	return len(l.text) - len(rest)
}

// readEvaluation reads "Evaluation Memory (STAGE): 2345.6MB RSS, 1260.0MB GPU".
func readEvaluation(l *line, at int) (end int) {
	stage, rest, ok := bytes.Cut(l.text[at+len("Evaluation Memory ("):], []byte("): "))
	if !ok || isTemplate(stage) {
		return 0
	}
	_, rest, ok = cutSize(rest, 0) // of the host
	rest, rss := cutPrefix(rest, " RSS, ")
	if !ok || !rss {
		return 0
	}
	s, rest, ok := cutSize(rest, 0)
	rest, gpu := cutPrefix(rest, " GPU")
	if !ok || !gpu || s.Bytes < 0 {
		return 0
	}
	l.checkpoint(at, l.str(stage)).Set(Allocated, s)
	return len(l.text) - len(rest)
}

// readMemoryStats reads the line of the GPU in a block, whose "MB allocated, " stands at an offset.
func readMemoryStats(l *line, at int) (end int) {
	from := numberBefore(l.text[:at])
	if !bytes.HasSuffix(l.text[:from], []byte("GPU: ")) {
		return 0
	}
	allocated, _, ok := cutSize(l.text[from:], 0)
	reserved, rest, okReserved := cutSize(l.text[at+len("MB allocated, "):], 0)
	rest, word := cutPrefix(rest, " reserved")
	if !ok || !okReserved || !word || reserved.Bytes < 0 {
		return 0
	}
	name := "GPU Memory"
	for n := 1; n <= 3; n++ {
		before, there := l.previous(n)
		if !there {
			break
		}
		if i := bytes.LastIndex(before, []byte(" - Memory Stats:")); i > 0 {
			name = l.str(before[messageStart(before[:i]):i])
			break
		}
	}
	c := l.checkpoint(from, name)
	c.Sampled = name == "GPU Memory"
	c.Set(Allocated, allocated)
	c.Set(Reserved, reserved)
	return len(l.text) - len(rest)
}

// readStatistics reads the three lines of the detailed statistics, of which the middle one is at hand. The bytes are
// exact.
func readStatistics(l *line, at int) (end int) {
	reserved, ok := exactGB(l.text[at:], "  Cached:")
	if !ok {
		return 0
	}
	c := l.checkpoint(at, "Detailed Statistics")
	c.Set(Reserved, reserved)
	if before, there := l.previous(1); there {
		if s, ok := exactGB(before, "  Allocated:"); ok {
			c.Set(Allocated, s)
		}
	}
	if after, there := l.peek(1); there {
		if s, ok := exactGB(after, "  Peak:"); ok {
			c.Set(Peak, s)
			l.next()
		}
	}
	return len(l.text)
}

// exactGB reads "  Peak:      3.00 GB (3,221,225,472 bytes)".
func exactGB(text []byte, label string) (s Size, ok bool) {
	i := bytes.Index(text, []byte(label))
	if i < 0 || i > 128 {
		return Size{}, false
	}
	_, rest, ok := cutSize(text[i+len(label):], 0)
	rest, open := cutPrefix(rest, " (")
	n, rest, whole := cutGrouped(rest)
	_, closed := cutPrefix(rest, " bytes)")
	return Exact(n), ok && open && whole && closed
}
