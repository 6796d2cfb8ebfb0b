package dialect

import (
	"bytes"
	"fmt"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// rmmDialect is that of RAPIDS's memory manager. Its logging_resource_adaptor writes one row an
// event; the level is the sum of what is alive, which is known as the log has all events from its
// beginning:
//
//	Thread,Time,Action,Pointer,Size,Stream
//	2342727,15:47:02.841961,allocate,0x10012400000,1048576,0
//	2342727,15:47:02.841977,free,0x10012400000,1048576,0
//	2342727,15:47:02.841980,allocate failure,(nil),99999999999,0
//
// Before 0.15 there was no column Thread, before 0.13 the log was another one (memory_manager.cpp,
// Logger::to_csv), which gives a failed allocation the address 0, and 0 for free and total memory
// where it does not know them:
//
//	Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,Current Allocs,Start,End,Elapsed,Location
//	Alloc,0,0x7f613be00000,0,720984,0,0,1,41.7014,41.7016,0.000156924,/src/memutils/memory/rmm_alloc.cu:85
//
// Its pools say in the debug log, and in what they throw, that an allocation failed:
//
//	[1051543][14:14:13:650990][error ] [A][Stream 0x1][Upstream 42949672960B][FAILURE maximum pool size exceeded]
//	MemoryError: std::bad_alloc: out_of_memory: RMM failure at:/rmm/mr/pool_memory_resource.hpp:196: Maximum pool size exceeded
//	... CUDA error (failed to allocate 85899345920 bytes) at: /cuda_memory_resource.cpp:26: cudaErrorMemoryAllocation out of memory
//
// The times of its logs have no date.
var rmmDialect = scan.Dialect{
	Name:    "rmm",
	Needles: []string{rmmColumns, rmmOldColumns, rmmFailure, rmmError, rmmCUDAError},
	Read: func(l *scan.Line, at int) int {
		switch rest := l.Text[at:]; {
		case bytes.HasPrefix(rest, []byte(rmmFailure)):
			return readRMMFailure(l, at)
		case bytes.HasPrefix(rest, []byte(rmmError)):
			return readRMMError(l, at)
		case bytes.HasPrefix(rest, []byte(rmmCUDAError)):
			return readRMMCUDAError(l, at)
		default:
			return readRMMHeader(l)
		}
	},
}

const (
	rmmColumns    = "Time,Action,Pointer,Size,Stream"
	rmmOldColumns = "Event Type,Device ID,Address"
	rmmFailure    = "][FAILURE "
	rmmError      = "RMM failure at"
	rmmCUDAError  = "CUDA error (failed to allocate "

	// rmmTextMax is the longest of these messages, in bytes.
	rmmTextMax = 512
)

// readRMMHeader opens the table whose columns the line names.
func readRMMHeader(l *scan.Line) (end int) {
	if len(l.Text) > rmmTextMax {
		return 0
	}
	t := &rmmTable{device: rmmDevice(l.Path()), live: map[rmmBlock]int64{}, sums: map[int]int64{}}
	switch text := string(bytes.TrimSpace(l.Text)); text {
	case "Thread," + rmmColumns:
		t.fields, t.first = 6, 1
	case rmmColumns:
		t.fields = 5
	case rmmOldColumns + ",Stream,Size (bytes),Free Memory,Total Memory,Current Allocs,Start,End,Elapsed,Location":
		t.fields, t.old = 8, true
	default:
		return 0
	}
	l.Open(t)
	return len(l.Text)
}

// rmmDevice is the device that RMM puts into the name of its log: "rmm_log.dev1.txt".
func rmmDevice(path string) int {
	if i := strings.LastIndex(path, ".dev"); i >= 0 {
		if n, rest, ok := lex.CutInt(
			[]byte(path[i+len(".dev"):]),
		); ok &&
			(len(rest) == 0 || rest[0] == '.') {
			return n
		}
	}
	return 0
}

// An rmmTable is the rows of a log. What it holds is bounded by what is alive in the program that
// logs.
type rmmTable struct {
	old    bool
	fields int // that a row has at least
	first  int // field of the time, where the log is not an old one
	device int
	live   map[rmmBlock]int64 // bytes of each block
	sums   map[int]int64      // of a device's blocks; 0 where there is none
	lost   bool               // the sums are not known any more
}

type rmmBlock struct {
	device  int
	pointer uint64
}

// rmmLive is how many blocks may be alive at once.
const rmmLive = 1 << 20

// An rmmEvent is a row.
type rmmEvent struct {
	action  string // "allocate", "free", "reallocate" or "allocate failure"
	block   rmmBlock
	size    int64
	stream  []byte
	reading record.Reading // what else the row gives
}

func (t *rmmTable) Row(l *scan.Line) bool {
	if !t.isRow(l.Text) {
		return false
	}
	e, expected := t.event(l.Text)
	if expected == "" {
		expected = t.account(e)
	}
	if expected != "" {
		l.Bad(0, expected, "the row is left out of the sum of what is allocated")
		return true
	}
	if sum := t.sums[e.block.device]; !t.lost {
		e.reading.Set(record.Allocated, record.Exact(sum))
	}
	lane := record.Lane{Device: e.block.device}
	switch {
	case e.action == "allocate failure":
		l.Add(record.OutOfMemory{
			Header: l.Header(
				0,
			),
			Lane:         lane,
			Requested:    record.Exact(e.size),
			HasRequested: true,
			Reading:      e.reading,
			Text:         l.Message(0),
		})
	case e.reading.Len() > 0:
		c := l.Checkpoint(0, e.action)
		c.Lane, c.Reading, c.Sampled, c.Stream = lane, e.reading, true, l.Str(e.stream)
	}
	return true
}

// isRow tells a row, a torn one too, from other lines by how it begins.
func (t *rmmTable) isRow(text []byte) bool {
	if t.old {
		for _, action := range []string{"Alloc,", "Realloc,", "Free,"} {
			if bytes.HasPrefix(text, []byte(action)) {
				return true
			}
		}
		return false
	}
	if t.first == 1 {
		_, rest, ok := lex.CutNumber(text)
		if !ok || len(rest) == 0 || rest[0] != ',' {
			return false
		}
		text = rest[1:]
	}
	if len(text) < len("15:47:02.") {
		return false
	}
	for i, c := range text[:8] {
		if (i == 2 || i == 5) != (c == ':') || c != ':' && !lex.IsDigit(c) {
			return false
		}
	}
	return text[8] == '.' || text[8] == ':'
}

// event reads a row, or says what was expected.
func (t *rmmTable) event(text []byte) (e rmmEvent, expected string) {
	fields := bytes.SplitN(bytes.TrimSpace(text), []byte(","), t.fields+1)
	if len(fields) < t.fields || len(fields) > t.fields && !t.old {
		return e, "a row of as many fields as the header has"
	}
	e.block.device = t.device
	var action, pointer, size []byte
	if t.old {
		action, pointer, e.stream, size = fields[0], fields[2], fields[3], fields[4]
		device, rest, ok := lex.CutInt(fields[1])
		if !ok || len(rest) > 0 {
			return e, "the number of a device"
		}
		e.block.device = device
		for i, q := range []record.Quantity{record.Free, record.Total} {
			n, rest, ok := lex.CutNumber(fields[5+i])
			if !ok || len(rest) > 0 || n.Decimals > 0 || n.Digits < 0 {
				return e, "bytes of free and total memory"
			}
			if n.Digits > 0 {
				e.reading.Set(q, record.Exact(n.Digits))
			}
		}
	} else {
		action, pointer, size, e.stream = fields[t.first+1], fields[t.first+2], fields[t.first+3], fields[t.first+4]
	}
	n, rest, ok := lex.CutNumber(size)
	if !ok || len(rest) > 0 || n.Decimals > 0 || n.Digits < 0 {
		return e, "a size in bytes"
	}
	e.size = n.Digits
	if e.block.pointer, ok = cutPointer(pointer); !ok {
		return e, "a pointer such as 0x10012400000"
	}
	switch string(action) {
	case "allocate", "Alloc":
		e.action = "allocate"
		if e.block.pointer == 0 && e.size > 0 {
			e.action = "allocate failure"
		}
	case "free", "Free":
		e.action = "free"
	case "Realloc":
		e.action = "reallocate"
	case "allocate failure":
		e.action = "allocate failure"
	default:
		return e, "allocate, allocate failure or free"
	}
	return e, ""
}

// cutPointer reads a pointer as fmt and as printf's %p print it.
func cutPointer(text []byte) (p uint64, ok bool) {
	if string(text) == "(nil)" || string(text) == "nullptr" || string(text) == "0" {
		return 0, true
	}
	text, ok = lex.CutPrefix(text, "0x")
	if !ok || len(text) == 0 || len(text) > 16 {
		return 0, false
	}
	for _, c := range text {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if digit < 0 || c < '0' {
			return 0, false
		}
		p = p<<4 | uint64(digit)
	}
	return p, true
}

// account keeps what is alive, or says what was expected.
func (t *rmmTable) account(e rmmEvent) (expected string) {
	if t.lost || e.block.pointer == 0 {
		return ""
	}
	before, alive := t.live[e.block]
	sum := t.sums[e.block.device]
	switch e.action {
	case "free":
		if !alive {
			return "a pointer that was allocated before"
		}
		delete(t.live, e.block)
		sum -= before
	case "allocate", "reallocate":
		switch {
		case alive && e.action == "allocate":
			return "a pointer that is not in use"
		case !alive && e.action == "reallocate":
			// The row names the new block alone.
			t.lose()
			return "a block that stays where it is, as a row does not say which one was moved"
		case len(t.live) >= rmmLive:
			t.lose()
			return fmt.Sprintf("at most %d blocks at once", rmmLive)
		case sum-before+e.size >= 1<<62:
			return "less than 4 EiB in use"
		}
		t.live[e.block] = e.size
		sum += e.size - before
	}
	if t.sums[e.block.device] = sum; sum == 0 {
		delete(t.sums, e.block.device)
	}
	return ""
}

// lose forgets the sums.
func (t *rmmTable) lose() { t.lost, t.live, t.sums = true, nil, nil }

// readRMMFailure reads "[A][Stream 0x1][Upstream 42949672960B][FAILURE maximum pool size
// exceeded]".
func readRMMFailure(l *scan.Line, at int) (end int) {
	low := max(0, at-rmmTextMax)
	from := low + bytes.LastIndex(l.Text[low:at], []byte("[A][Stream "))
	if from < low {
		return 0
	}
	_, size, ok := bytes.Cut(l.Text[from:at], []byte("][Upstream "))
	n, rest, isNumber := lex.CutNumber(size)
	if !ok || !isNumber || string(rest) != "B" || n.Decimals > 0 || n.Digits < 0 {
		return 0
	}
	l.Add(
		record.OutOfMemory{
			Header:       l.Header(from),
			Requested:    record.Exact(n.Digits),
			HasRequested: true,
			Text:         l.Message(from),
		},
	)
	return len(l.Text)
}

// readRMMError reads "RMM failure at:FILE:LINE: Maximum pool size exceeded (failed to allocate
// 1.500000 GiB): ...". In quotes it is the source of a program that handles the error.
func readRMMError(l *scan.Line, at int) (end int) {
	rest := l.Text[at:min(len(l.Text), at+rmmTextMax)]
	if at > 0 && (l.Text[at-1] == '"' || l.Text[at-1] == '\'') ||
		!bytes.Contains(rest, []byte(" size exceeded")) &&
			!bytes.Contains(rest, []byte("Exceeded memory limit")) {
		return 0
	}
	o := record.OutOfMemory{Header: l.Header(at), Text: l.Message(at)}
	if _, size, ok := bytes.Cut(rest, []byte("(failed to allocate ")); ok {
		o.Requested, _, o.HasRequested = lex.CutSize(size, 0)
	}
	l.Add(o)
	return len(l.Text)
}

func readRMMCUDAError(l *scan.Line, at int) (end int) {
	rest := l.Text[at+len(rmmCUDAError) : min(len(l.Text), at+rmmTextMax)]
	size, rest, ok := lex.CutSize(rest, 0)
	if !ok || !bytes.HasPrefix(rest, []byte(") at: ")) ||
		!bytes.Contains(rest, []byte("cudaErrorMemoryAllocation")) {
		return 0
	}
	l.Add(
		record.OutOfMemory{
			Header:       l.Header(at),
			Requested:    size,
			HasRequested: true,
			Text:         l.Message(at),
		},
	)
	return len(l.Text)
}
