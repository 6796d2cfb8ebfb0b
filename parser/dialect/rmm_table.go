package dialect

import (
	"bytes"
	"fmt"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// readRMMHeader reads a header and begins the table whose columns it names. It returns 0 for any
// other line.
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
	case rmmOldColumns + ",Stream,Size (bytes),Free Memory,Total Memory,Current Allocs," +
		"Start,End,Elapsed,Location":
		t.fields, t.old = 8, true
	default:
		return 0
	}
	l.Open(t)
	return len(l.Text)
}

// rmmDevice returns the device in the name of the log, or 0. RMM writes it there:
// "rmm_log.dev1.txt".
func rmmDevice(path string) int {
	i := strings.LastIndex(path, ".dev")
	if i < 0 {
		return 0
	}
	n, rest, ok := lex.CutInt([]byte(path[i+len(".dev"):]))
	if !ok || len(rest) > 0 && rest[0] != '.' {
		return 0
	}
	return n
}

// An rmmTable adds up the rows of a log. It remembers the size of each block that is allocated.
type rmmTable struct {
	old    bool               // the log is of a version before 0.13
	fields int                // the least number of fields in a row
	first  int                // index of the field Time in a log that is not old
	device int                // the device in the name of the log
	live   map[rmmBlock]int64 // size of each allocated block, in bytes
	sums   map[int]int64      // allocated bytes of each device
	lost   bool               // the sums are unknown from now on
}

// An rmmBlock is an allocated block.
type rmmBlock struct {
	device  int
	pointer uint64
}

// rmmLive is how many blocks may be allocated at once. It limits the memory for the table.
const rmmLive = 1 << 20

// An rmmEvent is what a row says: one allocation, free or failure.
type rmmEvent struct {
	action  string // "allocate", "free", "reallocate" or "allocate failure"
	block   rmmBlock
	size    int64
	stream  []byte
	reading record.Reading // free and total memory, in an old log
}

// Row implements [scan.Table].
func (t *rmmTable) Row(l *scan.Line) bool {
	if !t.isRow(l.Text) {
		return false
	}
	e, expected := t.parseEvent(l.Text)
	if expected == "" {
		expected = t.addUp(e)
	}
	if expected != "" {
		l.Bad(0, expected, "the sum of allocated memory does not include the row")
		return true
	}
	if sum := t.sums[e.block.device]; !t.lost {
		e.reading.Set(record.Allocated, record.Exact(sum))
	}
	lane := record.Lane{Device: e.block.device}
	switch {
	case e.action == "allocate failure":
		l.Add(record.OutOfMemory{
			Header:       l.Header(0),
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

// isRow reports whether a line begins like a row. A row that is cut off counts, too.
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

// parseEvent returns the event of a row. If the row cannot be read, it returns what was expected.
func (t *rmmTable) parseEvent(text []byte) (e rmmEvent, expected string) {
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
		fields = fields[t.first:]
		action, pointer, size, e.stream = fields[1], fields[2], fields[3], fields[4]
	}
	n, rest, ok := lex.CutNumber(size)
	if !ok || len(rest) > 0 || n.Decimals > 0 || n.Digits < 0 {
		return e, "a size in bytes"
	}
	e.size = n.Digits
	if e.block.pointer, ok = parsePointer(pointer); !ok {
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

// parsePointer reads a pointer as C++ streams and as printf's %p print it.
func parsePointer(text []byte) (p uint64, ok bool) {
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

// addUp adds an event to the sum of its device. If the event contradicts earlier events, addUp
// leaves the sum unchanged and returns what was expected.
func (t *rmmTable) addUp(e rmmEvent) (expected string) {
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
			// The row gives only the new address. So nobody knows which block was moved.
			t.giveUp()
			return "a block that does not move, because a row names only the new address"
		case len(t.live) >= rmmLive:
			t.giveUp()
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

// giveUp makes the sums unknown. Later rows give no allocated memory.
func (t *rmmTable) giveUp() { t.lost, t.live, t.sums = true, nil, nil }
