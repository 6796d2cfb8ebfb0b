package serving

import (
	"bytes"
	"slices"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
	"vramsoak/parser/stamp"
)

// TensorRT reads TensorRT and TensorRT-LLM, in the format of each logger:
//
//	[03/02/2023-11:33:45] [TRT] [I] [MemUsageChange] Init CUDA: CPU +291, GPU +0, now: CPU 2635, GPU 1410 (MiB)
//	[I] [MemUsageChange] TensorRT-managed allocation in engine deserialization: CPU +0, GPU +8, now: CPU 0, GPU 8 (MiB)
//	[TRT]    [MemUsageSnapshot] End constructing builder kernel library: CPU 1495 MiB, GPU 3815 MiB
//	[I] [TRT] [MemUsageStats] Peak memory usage of TRT CPU/GPU memory allocators: CPU 113 MiB, GPU 1112 MiB
//	[I] [TRT] Total Activation Memory: 22118400          (since 10.8 "22118400 bytes")
//	[TensorRT-LLM][INFO] [MemUsageChange] Allocated 1134.01 MiB for execution context memory.
//	[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 79.10 GiB, available: 70.48 GiB
//	[TRT] [W] Requested amount of GPU memory (2833252352 bytes) could not be allocated. There may not be enough free memory ...
//	[TRT] [E] [myelinResourceManager.cpp::allocate::196] Error Code 2: OutOfMemory (Requested size was 71603093760 bytes.)
//
// The level after "now" is the used memory of the device. Behind "TensorRT-managed" it is that of
// TensorRT's own allocators. Host memory ("CPU") is not read. Some loggers wrap long lines, and a
// reading may then continue on the next line.
var TensorRT = scan.Dialect{
	Name: "tensorrt",
	Needles: []string{
		memUsageChange,
		"[MemUsageSnapshot] ",
		"[MemUsageStats] Peak memory usage of TRT",
		"Total Activation Memory: ",
		"Total Weights Memory: ",
		"Scratch Memory: ",
		"Device Persistent Memory: ",
		pagedCache,
		trtRequested,
		trtOutOfMemory,
		llmProfiled,
		llmPeak,
		llmFree,
	},
	Read: func(l *scan.Line, at int) int {
		rest := l.Text[at:]
		switch {
		case bytes.HasPrefix(rest, []byte(memUsageChange+"Allocated ")):
			return readTRTAllocated(l, at)
		case rest[0] == '[':
			return readMemUsage(l, at)
		case bytes.HasPrefix(rest, []byte(pagedCache)):
			return readPagedCache(l, at)
		case bytes.HasPrefix(rest, []byte(trtRequested)), bytes.HasPrefix(rest, []byte(trtOutOfMemory)):
			return readTRTOutOfMemory(l, at)
		case bytes.HasPrefix(rest, []byte(llmProfiled)):
			return readLLMProfiled(l, at)
		case bytes.HasPrefix(rest, []byte(llmPeak)):
			return readLLMPeak(l, at)
		case bytes.HasPrefix(rest, []byte(llmFree)):
			return readLLMFree(l, at)
		}
		return readTRTBuffer(l, at)
	},
}

const (
	memUsageChange = "[MemUsageChange] "
	unreadable     = "the value is left out" // advice of syntax errors
	pagedCache     = "Memory usage when calculating max tokens in paged kv cache: total: "
	trtRequested   = "Requested amount of GPU memory ("
	trtOutOfMemory = "Error Code 2: OutOfMemory ("
)

// memUsage matches a record. Its groups are the name, the change (only in a MemUsageChange), and
// the level in either of its two forms.
var memUsage = lex.Expression(`^\[MemUsage\w+\] ([^{}]{1,120}?): ` +
	`(?:CPU [+-]\d+, GPU ([+-]\d+), now: CPU -?\d+, GPU (\d+) \(MiB\)|CPU \d+ MiB, GPU (\d+) MiB)`)

// memUsageBegun matches the beginning of a record. It does not match program source, which has
// letters for the numbers: "CPU +N, GPU +N".
var memUsageBegun = lex.Expression(`^\[MemUsage\w+\] [^{}]{1,120}?: CPU [+-]?\d`)

// memUsageMax is the longest of these records, in bytes.
const memUsageMax = 256

// readMemUsage reads a record that begins with "[MemUsage" at the offset `at`. A MemUsageChange
// gives a checkpoint and a [record.Change].
func readMemUsage(l *scan.Line, at int) (end int) {
	text := l.Text[at:min(len(l.Text), at+memUsageMax)]
	m := memUsage().FindSubmatchIndex(text)
	end = at
	var h record.Header
	if m != nil {
		h = trtHeader(l, at)
	} else {
		// A logger broke the line at a blank.
		//	[TRT] [I] [MemUsageChange] Init cuDNN: CPU +1, GPU -5, now: CPU 2008, GPU
		//	3895 (MiB)
		first := bytes.TrimRight(text, " \t")
		var joined []byte
		if at+len(text) == len(l.Text) {
			next, _ := l.Peek(1)
			next = lex.TrimBlanks(source.WithoutLogger(next[:min(len(next), memUsageMax)]))
			joined = slices.Concat(first, []byte{' '}, next)
			m = memUsage().FindSubmatchIndex(joined)
		}
		if m == nil {
			if memUsageBegun().Match(text) {
				l.Bad(at, "the memory of the CPU and of the GPU in MiB", unreadable)
				return len(l.Text)
			}
			return 0
		}
		text, h = joined, trtHeader(l, at)
		l.Next()
		end = len(l.Text) - len(lex.TrimBlanks(l.Logged())) - len(first) - 1
	}
	end += m[1]
	group := func(i int) (s record.Size, ok bool) {
		if m[2*i] < 0 {
			return record.Size{}, false
		}
		s, _, ok = lex.CutSize(text[m[2*i]:m[2*i+1]], record.MiB)
		return s, ok
	}
	name, q := l.Str(text[m[2]:m[3]]), record.Used
	switch {
	case bytes.HasPrefix(text, []byte("[MemUsageStats]")):
		name, q = strings.TrimPrefix(name, "Peak memory usage of "), record.Peak
	case bytes.HasPrefix(text[m[2]:m[3]], []byte("TensorRT-managed")):
		q = record.Allocated
	}
	now, ok := group(3)
	if !ok {
		now, ok = group(4)
	}
	if !ok {
		return 0 // the number has more than 18 digits
	}
	c := record.Checkpoint{Header: h, Name: name, Sampled: true}
	c.Set(q, now)
	l.Add(c)
	if size, ok := group(2); ok {
		change := record.Change{Header: h, Name: name}
		change.Set(q, size)
		l.Add(change)
	}
	return end
}

// readTRTAllocated reads a buffer of TensorRT-LLM. MB is 1024^2 (MemoryCounters::bytesToString):
//
//	[MemUsageChange] Allocated 43.29 MB GPU memory for runtime buffers.
//	[MemUsageChange] Allocated 1.28 GiB for max tokens in paged KV cache (5248).
func readTRTAllocated(l *scan.Line, at int) (end int) {
	size, rest, ok := lex.CutSize(l.Text[at+len(memUsageChange+"Allocated "):], 0)
	rest, _ = lex.CutPrefix(rest, " GPU memory")
	name, found := lex.CutPrefix(rest, " for ")
	if i := bytes.IndexAny(name, ".(,"); i >= 0 {
		name = name[:i]
	}
	name = bytes.TrimSpace(name)
	if !ok || !found || len(name) == 0 || len(name) > 120 || size.Bytes < 0 {
		return 0
	}
	c := record.Checkpoint{Header: trtHeader(l, at), Name: l.Str(name), Sampled: true}
	c.Set(record.Buffer, size)
	l.Add(c)
	return len(l.Text)
}

// readTRTBuffer reads a buffer of an engine, in bytes: "Total Activation Memory: 22118400". Other
// programs print the same words with a unit; their lines are not read.
func readTRTBuffer(l *scan.Line, at int) (end int) {
	for _, first := range []string{"Total ", "Max "} {
		if bytes.HasSuffix(l.Text[:at], []byte(first)) {
			at -= len(first)
		}
	}
	label, value, _ := bytes.Cut(l.Text[at:min(len(l.Text), at+memUsageMax)], []byte(": "))
	size, rest, ok := lex.CutNumber(value)
	if _, ok := lex.CutPrefix(rest, " bytes"); ok {
		rest = rest[len(" bytes"):]
	}
	scope, name, _ := bytes.Cut(label, []byte(" "))
	if !ok || size.Decimals > 0 || size.Digits < 0 ||
		string(scope) != "Total" && string(scope) != "Max" ||
		len(bytes.TrimSpace(rest)) > 0 && bytes.IndexByte([]byte("[\"'\\,)"), rest[0]) < 0 {
		return 0
	}
	c := record.Checkpoint{Header: trtHeader(l, at), Name: l.Str(bytes.ToLower(name)), Sampled: true}
	c.Set(record.Buffer, record.Exact(size.Digits))
	l.Add(c)
	return at + len(label) + len(": ") + len(value) - len(rest)
}

// readPagedCache reads the total and the free memory from which TensorRT-LLM computes the size of
// its KV cache.
func readPagedCache(l *scan.Line, at int) (end int) {
	total, rest, ok := lex.CutSize(l.Text[at+len(pagedCache):], 0)
	rest, found := lex.CutPrefix(rest, ", available: ")
	free, rest, isSize := lex.CutSize(rest, 0)
	if !ok || !found || !isSize {
		if text := l.Text[at:min(len(l.Text), at+memUsageMax)]; source.IsTemplate(text) ||
			bytes.IndexByte(text, '%') >= 0 {
			return 0
		}
		l.Bad(at, "total and available memory", unreadable)
		return len(l.Text)
	}
	c := record.Checkpoint{
		Header:  trtHeader(l, at),
		Name:    "max tokens in paged kv cache",
		Sampled: true,
	}
	c.Set(record.Total, total)
	c.Set(record.Free, free)
	l.Add(c)
	return len(l.Text) - len(rest)
}

// readTRTOutOfMemory reads either of TensorRT's messages for a failed allocation. A text in
// quotes is program source that handles the error, and is not read.
func readTRTOutOfMemory(l *scan.Line, at int) (end int) {
	if at > 0 && (l.Text[at-1] == '"' || l.Text[at-1] == '\'') {
		return 0
	}
	_, rest, _ := bytes.Cut(l.Text[at:], []byte("("))
	rest, inner := lex.CutPrefix(rest, "Requested size was ")
	size, rest, ok := lex.CutSize(rest, 0)
	if !ok && (inner || !bytes.HasPrefix(rest, []byte("no further information)"))) {
		return 0
	}
	l.Add(record.OutOfMemory{
		Header:       trtHeader(l, at),
		Requested:    size,
		HasRequested: ok,
		Text:         l.Message(at),
	})
	return len(l.Text)
}

// trtHeader returns the header of a record that begins at an offset of the line. If no other
// logger gives a time with a zone, the header's time is TensorRT's own: "[03/02/2023-11:33:45]".
// A line may have two of TensorRT's times, and the last one before the record counts.
func trtHeader(l *scan.Line, at int) record.Header {
	h := l.Header(at)
	if !h.Time.IsZero() && !h.Local {
		return h
	}
	before := l.Text[max(0, at-memUsageMax):at]
	for i := len(before) - len("02/2023-11:33:45"); i >= 3; i-- {
		if before[i-1] == '/' && before[i+2] == '/' && before[i+7] == '-' {
			if t := stamp.Parse(before[i-3 : i+16]); !t.IsZero() {
				t.Into(&h)
			}
			break
		}
	}
	return h
}
