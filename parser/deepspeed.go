package parser

import "bytes"

// deepspeedDialect is DeepSpeed's. see_memory_usage of runtime/utils.py prints a message, then a line of readings, which
// resets the peaks; the message is the name. Through the logger, and since 2025 without it:
//
//	[2021-06-10 23:06:14,491] [INFO] [utils.py:627:see_memory_usage] After Building Model
//	[2021-06-10 23:06:14,491] [INFO] [utils.py:628:see_memory_usage] MA 1.69 GB         Max_MA 1.69 GB         CA 1.7 GB   ...
//	[2021-06-10 23:06:14,492] [INFO] [utils.py:636:see_memory_usage] CPU Virtual Memory:  used = 39.17 GB, percent = 20.9%
//
// Before December 2020 it was a line for each reading:
//
//	Memory Allocated 1.69140625 GigaBytes
//	Max Memory Allocated 1.69140625 GigaBytes
//	Cache Allocated 1.703125 GigaBytes
//	Max cache Allocated 1.703125 GigaBytes
//
// memory_status, there and in runtime/pipe/engine.py; the differences are a change:
//
//	RANK=0 MEMSTATS before forward device=cuda:0 current alloc=1.2345GB (delta=0.0000GB max=1.2345GB) current cache=...
//	RANK=0 STAGE=1 STEP=10 MEMSTATS BEFORE STEP device=0 current alloc=...
//	MEMSTATS STAGE=0 RANK=0 max-alloc: 10.77GB max-cache: 20.55GB
//
// utils/timer.py, with the throughput and with the breakdown of time:
//
//	epoch=0/micro_step=10/global_step=10, ..., CurrSamplesPerSec=78.87912870644737, MemAllocated=10.77GB, MaxMemAllocated=20.55GB
//	[Rank 0] time (ms) | forward: 1.25 | mem_allocated: 1.2345 GB | max_mem_allocated: 2.3456 GB | cache_allocated: ...
//
// The workspace of csrc/transformer/inference, which it has just allocated; what is free is that before it:
//
//	Free memory : 19.605713 (GigaBytes)
//	Total memory: 31.748535 (GigaBytes)
//	Requested memory: 0.515625 (GigaBytes)
//
// Every unit is a power of 1024. The estimates of zero/stage3.py (estimate_zero3_model_states_mem_needs) are no readings.
var deepspeedDialect = dialect{
	name: "deepspeed",
	needles: []string{
		needleMA, needleMemstats, needleMemAllocated, needleBreakdown, needleGigaBytes, needleCacheGigaBytes, needleWorkspace,
	},
	read: func(l *line, at int) int {
		switch text := l.text[at:]; {
		case bytes.HasPrefix(text, []byte(needleMA)):
			return readSeeMemoryUsage(l, at)
		case bytes.HasPrefix(text, []byte(needleMemstats)):
			return readMemstats(l, at)
		case bytes.HasPrefix(text, []byte(needleMemAllocated)):
			return readThroughput(l, at)
		case bytes.HasPrefix(text, []byte(needleBreakdown)):
			return readBreakdown(l, at)
		case bytes.HasPrefix(text, []byte(needleWorkspace)):
			return readWorkspace(l, at)
		}
		return readGigaBytes(l, at)
	},
}

const (
	needleMA             = "Max_MA "
	needleMemstats       = "MEMSTATS "
	needleMemAllocated   = "MemAllocated="
	needleBreakdown      = "| mem_allocated: "
	needleGigaBytes      = "Memory Allocated "
	needleCacheGigaBytes = "ache Allocated "
	needleWorkspace      = "Free memory : "
)

// readSeeMemoryUsage reads "MA 1.69 GB  Max_MA 1.69 GB  CA 1.7 GB  Max_CA 2 GB". The first three are rounded to two decimals,
// of which Python leaves out zeros at the end; Max_CA is a whole number.
func readSeeMemoryUsage(l *line, at int) (end int) {
	start := max(0, at-nearby)
	text := bytes.TrimRight(l.text[start:at], " \t\\")
	from := bytes.LastIndex(text, []byte("MA "))
	if from < 0 || from > 0 && isWordByte(text[from-1]) || isTemplate(text[from:]) {
		return 0
	}
	allocated, rest, ok := cutRounded(text[from+len("MA "):], 2)
	if !ok || len(rest) > 0 {
		if len(rest) == 0 || !isDigit(trimBlanks(text[from+len("MA "):])[0]) {
			return 0
		}
		l.bad(start+from, "a size such as 1.69 GB after \"MA\"", tornAdvice)
		return at + len(needleMA)
	}
	var sizes [3]Size
	rest = l.text[at:]
	for i, label := range []string{"Max_MA ", "CA ", "Max_CA "} {
		after, known := cutPrefix(bytes.TrimLeft(rest, " \t\\"), label)
		if known {
			sizes[i], after, known = cutRounded(after, 2*(1-i/2))
		}
		if !known {
			l.bad(len(l.text)-len(rest), "a size such as 1.69 GB after \""+label[:len(label)-1]+"\"", tornAdvice)
			return len(l.text) - len(rest) + 1
		}
		rest = after
	}
	c := l.checkpoint(start+from, l.messageBefore(start+from))
	c.Set(Allocated, allocated)
	c.Set(Peak, sizes[0])
	c.Set(Reserved, sizes[1])
	c.Set(PeakReserved, sizes[2])
	return len(l.text) - len(rest)
}

// messageBefore is what see_memory_usage was given: the line before, or the one before the warnings and the lines of others
// that came between.
func (l *line) messageBefore(at int) string {
	const marker, unnamed = "see_memory_usage] ", "see_memory_usage"
	prefix := bytes.TrimSpace(lastBytes(l.text[:at], nearby))
	marked := bytes.HasSuffix(prefix, []byte(marker[:len(marker)-1]))
	for n := 1; n <= 16; n++ {
		text, ok := l.previous(n)
		if !ok || len(text) > nameMax {
			break
		}
		i := bytes.Index(text, []byte(marker))
		switch {
		case marked && i >= 0:
			text = text[i+len(marker):]
		case marked || bytes.Contains(text, []byte("Warning")) || bytes.HasPrefix(bytes.TrimSpace(text), []byte("warnings.warn")):
			continue
		case len(prefix) > 0:
			// A wrapper's last word stands before the message too: "0: MA 1.69 GB", "... INFO - MA 1.69 GB".
			word := prefix[bytes.LastIndexByte(prefix, ' ')+1:]
			before, after, ok := bytes.Cut(text, append(bytes.Clone(word), ' '))
			if ok && (len(before) == 0 || before[len(before)-1] == ' ') {
				text = after
			}
		}
		if text = bytes.TrimSpace(text); len(text) == 0 || isUsageLine(text) {
			break
		}
		return l.str(text)
	}
	return unnamed
}

// isUsageLine says that a line is of see_memory_usage's readings, not its message.
func isUsageLine(text []byte) bool {
	return bytes.Contains(text, []byte("CPU Virtual Memory:")) || bytes.Contains(text, []byte(needleMA)) ||
		bytes.Contains(text, []byte("GigaBytes"))
}

// memstats are the fields of memory_status, the differences second.
var memstats = []struct {
	label    string
	q        Quantity
	isChange bool
}{
	{"current alloc=", Allocated, false},
	{"(delta=", Allocated, true},
	{"max=", Peak, false},
	{") current cache=", Reserved, false},
	{"(delta=", Reserved, true},
	{"max=", PeakReserved, false},
}

func readMemstats(l *line, at int) (end int) {
	rest := l.text[at+len(needleMemstats):]
	if bytes.HasPrefix(rest, []byte("STAGE=")) {
		return readPipelinePeak(l, at)
	}
	i := bytes.Index(firstBytes(rest, nearby), []byte(" device="))
	j := bytes.Index(firstBytes(rest, nearby), []byte(" current alloc="))
	if i < 0 || j < i || isTemplate(rest[:j]) {
		return 0
	}
	name, device := l.str(rest[:i]), rest[i+len(" device="):j]
	if k := bytes.LastIndexByte(device, ':'); k >= 0 {
		device = device[k+1:]
	}
	var levels, deltas Reading
	rest = rest[j:]
	for _, f := range memstats {
		after, known := cutPrefix(trimBlanks(rest), f.label)
		s, behind, ok := cutSize(after, 0)
		if !known || !ok {
			if isTemplate(firstBytes(rest, nearby)) {
				return 0
			}
			l.bad(len(l.text)-len(rest), "a size such as 1.2345GB after \""+f.label+"\"", tornAdvice)
			return len(l.text) - len(rest)
		}
		if f.isChange {
			deltas.Set(f.q, s)
		} else {
			levels.Set(f.q, s)
		}
		rest = behind
	}
	var lane Lane
	before := lastBytes(l.text[:at], nearby)
	if k := bytes.LastIndex(before, []byte("RANK=")); k >= 0 {
		lane.Rank, _, _ = cutInt(before[k+len("RANK="):])
	}
	lane.Device, _, _ = cutInt(device)
	c := l.checkpoint(at, name)
	c.Lane, c.Reading = lane, levels
	l.add(Change{Header: l.header(at), Name: name, Lane: lane, Reading: deltas})
	return len(l.text) - len(rest)
}

func readPipelinePeak(l *line, at int) (end int) {
	rest := l.text[at:]
	i, j := bytes.Index(firstBytes(rest, nearby), []byte(" RANK=")), bytes.Index(firstBytes(rest, nearby), []byte(" max-alloc: "))
	if i < 0 || j < i || isTemplate(rest[:j]) {
		return 0
	}
	peak, behind, ok := cutSize(rest[j+len(" max-alloc: "):], 0)
	behind, known := cutPrefix(behind, " max-cache: ")
	cached, behind, fits := cutSize(behind, 0)
	if !ok || !known || !fits {
		l.bad(at+j+1, "max-alloc: 10.77GB max-cache: 20.55GB", tornAdvice)
		return at + j + 1
	}
	c := l.checkpoint(at, "step")
	c.Sampled = true
	c.Lane.Rank, _, _ = cutInt(rest[i+len(" RANK="):])
	c.Set(Peak, peak)
	c.Set(PeakReserved, cached)
	return len(l.text) - len(behind)
}

func readThroughput(l *line, at int) (end int) {
	rest := l.text[at+len(needleMemAllocated):]
	if len(rest) == 0 || !isDigit(rest[0]) || at > 0 && isWordByte(l.text[at-1]) {
		return 0
	}
	allocated, rest, ok := cutRounded(rest, 2)
	rest, known := cutPrefix(rest, ", MaxMemAllocated=")
	peak, rest, fits := cutRounded(rest, 2)
	if !ok || !known || !fits {
		l.bad(at, "MemAllocated=10.77GB, MaxMemAllocated=20.55GB", tornAdvice)
		return at + len(needleMemAllocated)
	}
	c := l.checkpoint(at, "step")
	c.Sampled = true
	c.Set(Allocated, allocated)
	c.Set(Peak, peak)
	return len(l.text) - len(rest)
}

func readBreakdown(l *line, at int) (end int) {
	rest := l.text[at:]
	if isTemplate(firstBytes(rest, nearby)) {
		return 0
	}
	var sizes [4]Size
	for i, label := range []string{"| mem_allocated: ", "| max_mem_allocated: ", "| cache_allocated: ", "| max_cache_allocated: "} {
		after, known := cutPrefix(trimBlanks(rest), label)
		var ok bool
		if sizes[i], after, ok = cutSize(after, 0); !known || !ok {
			l.bad(len(l.text)-len(rest), "a size such as 1.2345 GB after \""+label[2:]+"\"", tornAdvice)
			return len(l.text) - len(rest) + 1
		}
		rest = after
	}
	c := l.checkpoint(at, "step")
	c.Sampled = true
	c.Lane.Rank, _ = megatronRank(l.text[:at])
	for i, q := range []Quantity{Allocated, Peak, Reserved, PeakReserved} {
		c.Set(q, sizes[i])
	}
	return len(l.text) - len(rest)
}
