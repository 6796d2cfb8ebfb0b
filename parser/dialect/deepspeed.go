package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// deepspeedDialect is DeepSpeed's. see_memory_usage of runtime/utils.py prints a message, then a
// line of readings, which resets the peaks; the message is the name. Through the logger, and since
// 2025 without it:
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
// The workspace of csrc/transformer/inference, which it has just allocated; what is free is that
// before it:
//
//	Free memory : 19.605713 (GigaBytes)
//	Total memory: 31.748535 (GigaBytes)
//	Requested memory: 0.515625 (GigaBytes)
//
// Every unit is a power of 1024. The estimates of zero/stage3.py
// (estimate_zero3_model_states_mem_needs) are no readings.
var deepspeedDialect = scan.Dialect{
	Name: "deepspeed",
	Needles: []string{
		needleMA,
		needleMemstats,
		needleMemAllocated,
		needleBreakdown,
		needleGigaBytes,
		needleCacheGigaBytes,
		needleWorkspace,
	},
	Read: func(l *scan.Line, at int) int {
		switch text := l.Text[at:]; {
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

// readSeeMemoryUsage reads "MA 1.69 GB  Max_MA 1.69 GB  CA 1.7 GB  Max_CA 2 GB". The first three
// are rounded to two decimals, of which Python leaves out zeros at the end; Max_CA is a whole
// number.
func readSeeMemoryUsage(l *scan.Line, at int) (end int) {
	start := max(0, at-nearby)
	text := bytes.TrimRight(l.Text[start:at], " \t\\")
	from := bytes.LastIndex(text, []byte("MA "))
	if from < 0 || from > 0 && lex.IsWordByte(text[from-1]) || source.IsTemplate(text[from:]) {
		return 0
	}
	allocated, rest, ok := lex.CutRounded(text[from+len("MA "):], 2)
	if !ok || len(rest) > 0 {
		if len(rest) == 0 || !lex.IsDigit(lex.TrimBlanks(text[from+len("MA "):])[0]) {
			return 0
		}
		l.Bad(start+from, "a size such as 1.69 GB after \"MA\"", record.TornAdvice)
		return at + len(needleMA)
	}
	var sizes [3]record.Size
	rest = l.Text[at:]
	for i, label := range []string{"Max_MA ", "CA ", "Max_CA "} {
		after, known := lex.CutPrefix(bytes.TrimLeft(rest, " \t\\"), label)
		if known {
			sizes[i], after, known = lex.CutRounded(after, 2*(1-i/2))
		}
		if !known {
			l.Bad(
				len(l.Text)-len(rest),
				"a size such as 1.69 GB after \""+label[:len(label)-1]+"\"",
				record.TornAdvice,
			)
			return len(l.Text) - len(rest) + 1
		}
		rest = after
	}
	c := l.Checkpoint(start+from, messageBefore(l, start+from))
	c.Set(record.Allocated, allocated)
	c.Set(record.Peak, sizes[0])
	c.Set(record.Reserved, sizes[1])
	c.Set(record.PeakReserved, sizes[2])
	return len(l.Text) - len(rest)
}

// messageBefore is what see_memory_usage was given: the line before, or the one before the warnings
// and the lines of others that came between.
func messageBefore(l *scan.Line, at int) string {
	const marker, unnamed = "see_memory_usage] ", "see_memory_usage"
	prefix := bytes.TrimSpace(lex.LastBytes(l.Text[:at], nearby))
	marked := bytes.HasSuffix(prefix, []byte(marker[:len(marker)-1]))
	for n := 1; n <= 16; n++ {
		text, ok := l.Previous(n)
		if !ok || len(text) > scan.NameMax {
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
		return l.Str(text)
	}
	return unnamed
}

// isUsageLine says that a line is of see_memory_usage's readings, not its message.
func isUsageLine(text []byte) bool {
	return bytes.Contains(text, []byte("CPU Virtual Memory:")) ||
		bytes.Contains(text, []byte(needleMA)) ||
		bytes.Contains(text, []byte("GigaBytes"))
}

// memstats are the fields of memory_status, the differences second.
var memstats = []struct {
	label    string
	q        record.Quantity
	isChange bool
}{
	{"current alloc=", record.Allocated, false},
	{"(delta=", record.Allocated, true},
	{"max=", record.Peak, false},
	{") current cache=", record.Reserved, false},
	{"(delta=", record.Reserved, true},
	{"max=", record.PeakReserved, false},
}

func readMemstats(l *scan.Line, at int) (end int) {
	rest := l.Text[at+len(needleMemstats):]
	if bytes.HasPrefix(rest, []byte("STAGE=")) {
		return readPipelinePeak(l, at)
	}
	i := bytes.Index(lex.FirstBytes(rest, nearby), []byte(" device="))
	j := bytes.Index(lex.FirstBytes(rest, nearby), []byte(" current alloc="))
	if i < 0 || j < i || source.IsTemplate(rest[:j]) {
		return 0
	}
	name, device := l.Str(rest[:i]), rest[i+len(" device="):j]
	if k := bytes.LastIndexByte(device, ':'); k >= 0 {
		device = device[k+1:]
	}
	var levels, deltas record.Reading
	rest = rest[j:]
	for _, f := range memstats {
		after, known := lex.CutPrefix(lex.TrimBlanks(rest), f.label)
		s, behind, ok := lex.CutSize(after, 0)
		if !known || !ok {
			if source.IsTemplate(lex.FirstBytes(rest, nearby)) {
				return 0
			}
			l.Bad(len(l.Text)-len(rest), "a size such as 1.2345GB after \""+f.label+"\"", record.TornAdvice)
			return len(l.Text) - len(rest)
		}
		if f.isChange {
			deltas.Set(f.q, s)
		} else {
			levels.Set(f.q, s)
		}
		rest = behind
	}
	var lane record.Lane
	before := lex.LastBytes(l.Text[:at], nearby)
	if k := bytes.LastIndex(before, []byte("RANK=")); k >= 0 {
		lane.Rank, _, _ = lex.CutInt(before[k+len("RANK="):])
	}
	lane.Device, _, _ = lex.CutInt(device)
	c := l.Checkpoint(at, name)
	c.Lane, c.Reading = lane, levels
	l.Add(record.Change{Header: l.Header(at), Name: name, Lane: lane, Reading: deltas})
	return len(l.Text) - len(rest)
}

func readPipelinePeak(l *scan.Line, at int) (end int) {
	rest := l.Text[at:]
	i, j := bytes.Index(
		lex.FirstBytes(rest, nearby),
		[]byte(" RANK="),
	), bytes.Index(
		lex.FirstBytes(rest, nearby),
		[]byte(" max-alloc: "),
	)
	if i < 0 || j < i || source.IsTemplate(rest[:j]) {
		return 0
	}
	peak, behind, ok := lex.CutSize(rest[j+len(" max-alloc: "):], 0)
	behind, known := lex.CutPrefix(behind, " max-cache: ")
	cached, behind, fits := lex.CutSize(behind, 0)
	if !ok || !known || !fits {
		l.Bad(at+j+1, "max-alloc: 10.77GB max-cache: 20.55GB", record.TornAdvice)
		return at + j + 1
	}
	c := l.Checkpoint(at, "step")
	c.Sampled = true
	c.Lane.Rank, _, _ = lex.CutInt(rest[i+len(" RANK="):])
	c.Set(record.Peak, peak)
	c.Set(record.PeakReserved, cached)
	return len(l.Text) - len(behind)
}

func readThroughput(l *scan.Line, at int) (end int) {
	rest := l.Text[at+len(needleMemAllocated):]
	if len(rest) == 0 || !lex.IsDigit(rest[0]) || at > 0 && lex.IsWordByte(l.Text[at-1]) {
		return 0
	}
	allocated, rest, ok := lex.CutRounded(rest, 2)
	rest, known := lex.CutPrefix(rest, ", MaxMemAllocated=")
	peak, rest, fits := lex.CutRounded(rest, 2)
	if !ok || !known || !fits {
		l.Bad(at, "MemAllocated=10.77GB, MaxMemAllocated=20.55GB", record.TornAdvice)
		return at + len(needleMemAllocated)
	}
	c := l.Checkpoint(at, "step")
	c.Sampled = true
	c.Set(record.Allocated, allocated)
	c.Set(record.Peak, peak)
	return len(l.Text) - len(rest)
}

func readBreakdown(l *scan.Line, at int) (end int) {
	rest := l.Text[at:]
	if source.IsTemplate(lex.FirstBytes(rest, nearby)) {
		return 0
	}
	var sizes [4]record.Size
	for i, label := range []string{"| mem_allocated: ", "| max_mem_allocated: ", "| cache_allocated: ", "| max_cache_allocated: "} {
		after, known := lex.CutPrefix(lex.TrimBlanks(rest), label)
		var ok bool
		if sizes[i], after, ok = lex.CutSize(after, 0); !known || !ok {
			l.Bad(
				len(l.Text)-len(rest),
				"a size such as 1.2345 GB after \""+label[2:]+"\"",
				record.TornAdvice,
			)
			return len(l.Text) - len(rest) + 1
		}
		rest = after
	}
	c := l.Checkpoint(at, "step")
	c.Sampled = true
	c.Lane.Rank, _ = megatronRank(l.Text[:at])
	for i, q := range []record.Quantity{record.Allocated, record.Peak, record.Reserved, record.PeakReserved} {
		c.Set(q, sizes[i])
	}
	return len(l.Text) - len(rest)
}
