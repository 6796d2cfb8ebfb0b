package dialect

import (
	"bytes"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// A failure is the message of an allocation that failed: its text with single blanks between the
// words.
type failure struct {
	text  []byte
	end   int // in the line, of the words that every message has
	next  int // in the line, where another message may begin
	lines int // that the message goes on to
}

// failureMax is how much of a line is looked at, and failureLines how many more the message may
// have.
const (
	failureMax   = 2 << 10
	failureLines = 8
)

// gatherFailure takes the message that begins at an offset of the line. cudaMallocAsync's has
// several lines, and terminals and pretty-printers break the others:
//
//	CUDA out of memory. Tried to allocate 226.00 MiB (GPU 0; 2.00 GiB total capacity;
//	838.72 MiB already allocated; 122.43 MiB free; 944.00 MiB reserved in total by PyTorch)
func gatherFailure(l *scan.Line, start int) failure {
	text := l.Text[start:min(len(l.Text), start+failureMax)]
	m := failure{end: start, next: len(l.Text)}
	if i := bytes.Index(text, []byte("memory")); i >= 0 {
		m.end += i + len("memory")
	}
	if i := bytes.Index(text, triedTo); i >= 0 {
		rest := text[i+len(triedTo):]
		if before, _, ok := bytes.Cut(rest, triedTo); ok {
			k := max(0, bytes.LastIndex(before, []byte("out of memory")))
			text, m.next = text[:i+len(triedTo)+k], start+i+len(triedTo)+k
		}
	}
	m.append(text)
	if m.next < len(l.Text) {
		return m
	}
	async := bytes.HasPrefix(text, []byte("Allocation on device"))
	for n := 1; n <= failureLines; n++ {
		next, ok := l.Peek(n)
		if !ok {
			break
		}
		next = bytes.Trim(next[:min(len(next), failureMax)], " \t|│")
		if async && !isAsyncLine(next) || !async && !m.goesOn(next) {
			break
		}
		m.append(next)
		m.lines = n
	}
	return m
}

var triedTo = []byte("Tried to allocate ")

// append appends a line. Blanks become one, and the commas between thousands go.
func (m *failure) append(text []byte) {
	if len(m.text) > 0 {
		m.text = append(m.text, ' ')
	}
	for i, c := range text {
		switch {
		case (c == ' ' || c == '\t') && len(m.text) > 0 && m.text[len(m.text)-1] == ' ':
		case c == '\t':
			m.text = append(m.text, ' ')
		case c == ',' && i > 0 && lex.IsDigit(text[i-1]) && i+3 < len(text) && lex.IsDigit(text[i+1]) && lex.IsDigit(text[i+2]) &&
			lex.IsDigit(text[i+3]):
		default:
			m.text = append(m.text, c)
		}
	}
}

// isAsyncLine tells the lines below cudaMallocAsync's message:
//
//	Currently allocated     : 4.68 GiB
//	Requested               : 160.00 MiB
//	Device limit            : 6.00 GiB
//	Free (according to CUDA): 0 bytes
//	PyTorch limit (set by user-supplied memory fraction)
//	                        : 17179869184.00 GiB
func isAsyncLine(text []byte) bool {
	for _, label := range []string{
		"Currently allocated", "Requested  ", "Device limit ", "Free (according to CUDA)", "PyTorch limit (set by",
	} {
		if bytes.Contains(text, []byte(label)) {
			return true
		}
	}
	return bytes.HasPrefix(text, []byte(": "))
}

// goesOn says that PyTorch's message is not complete, and the next line is more of it.
func (m *failure) goesOn(next []byte) bool {
	i := bytes.Index(m.text, triedTo[:len(triedTo)-1])
	if i < 0 || bytes.Contains(next, []byte("out of memory")) || len(next) == 0 {
		return false
	}
	for _, prefix := range []string{record.MemoryPrefix, record.HarnessPrefix, record.ProtocolPrefix} { // a message that is cut, and the next record
		if bytes.Contains(next, []byte(prefix)) {
			return false
		}
	}
	rest := bytes.TrimSpace(m.text[i+len(triedTo)-1:])
	switch {
	case bytes.Contains(rest, []byte("unallocated")), bytes.Contains(rest, []byte("by PyTorch)")),
		bytes.Contains(rest, []byte("cached)")):
		return false
	case len(rest) == 0:
		return lex.IsDigit(next[0])
	case bytes.IndexByte(rest, '(') >= 0 && bytes.IndexByte(rest, ')') < 0,
		bytes.Contains(rest, []byte("has a total")):
	default:
		next = bytes.TrimLeft(next, "(")
		return (bytes.HasPrefix(next, []byte("GPU ")) || bytes.HasPrefix(next, []byte("has a total "))) &&
			bytes.Contains(next, []byte("total capac"))
	}
	for _, word := range []string{"free", "in use", "allocat", "reserved", "capac", "cached"} {
		if bytes.Contains(next, []byte(word)) {
			return true
		}
	}
	return false
}

// What was asked for, and what is reserved beyond what is allocated, beside the quantities. That is
// also what "cached" was (c10/cuda/CUDACachingAllocator.cpp of v1.0 to v1.3: amount_cached -
// amount_allocated).
const (
	requested = record.Quantities + iota
	unallocated
)

// failureSizes tell what a size is by what stands before and after it, in all wordings:
//
//	... Tried to allocate 2.00 GiB (GPU 0; 11.91 GiB total capacity; 9.10 GiB already allocated; 1.20 GiB free; 0.50 GiB cached)
//	... (NPU 0; 60.97 GiB total capacity; 50.10 GiB already allocated; 50.10 GiB current active; 200.31 MiB free; 59.36 GiB
//	reserved in total by PyTorch)
//	... GPU 0 has a total capacty of 31.36 GiB of which 18.62 MiB is free. Process 73820 has 30.58 GiB memory in use. Including
//	non-PyTorch memory, this process has 764.00 MiB memory in use. 60.25 GiB allowed; Of the allocated memory 165.30 MiB is
//	allocated by PyTorch, with 16.00 MiB allocated in private pools (e.g., CUDA Graphs), and 4.70 MiB is reserved by PyTorch but
//	unallocated.
//	Out of memory error on GPU 0. Cannot allocate 15.503906GB memory on GPU 0, 28.770508GB memory has been allocated and
//	available memory is only 10.815613GB.
var failureSizes = []struct {
	q             record.Quantity
	before, after string
}{
	{requested, "Tried to allocate ", ""},
	{requested, "tried to allocate ", ""},
	{requested, "trying to allocate ", ""},
	{requested, "failed to allocate ", ""},
	{requested, "Cannot allocate ", ""},
	{requested, "allocating ", ""},
	{requested, "buffer of size ", ""},
	{requested, "allocation of size ", ""},
	{requested, "amount of GPU memory (", ""},
	{requested, "Requested : ", ""},
	{record.Total, "", " total capacity"},
	{record.Total, "total capacity of ", ""},
	{record.Total, "total capacty of ", ""},
	{record.Total, "Device limit : ", ""},
	{record.Free, "", " free"},
	{record.Free, "", " is free"},
	{record.Free, "", "is free"},
	{record.Free, "Free (according to CUDA): ", ""},
	{record.Free, "available memory is only ", ""},
	{record.Allocated, "", " already allocated"},
	{record.Allocated, "", " is allocated"},
	{record.Allocated, "", " total allocated"},
	{record.Allocated, "", " memory has been allocated"},
	{record.Allocated, "Currently allocated : ", ""},
	{record.Allocated, "MPS allocated: ", ""},
	{record.Active, "", " current active"},
	{record.Reserved, "", " reserved in total"},
	{record.Reserved, "allocated so far: ", ""}, // CuPy: what its pool has from the driver
	{unallocated, "", " is reserved"},
	{unallocated, "", " cached"},
	{record.Used, "this process has ", ""},
}

// read reads the message's sizes. The first of a kind counts.
func (m *failure) read() (o record.OutOfMemory) {
	for i := 0; i < len(m.text); i++ {
		if !lex.IsDigit(m.text[i]) || i > 0 && (lex.IsWordByte(m.text[i-1]) || m.text[i-1] == '.') {
			continue
		}
		n, rest, ok := lex.CutNumber(m.text[i:])
		if !ok {
			continue
		}
		unit, behind := lex.CutUnit(rest)
		for _, f := range failureSizes {
			if !bytes.HasSuffix(m.text[:i], []byte(f.before)) || !bytes.HasPrefix(behind, []byte(f.after)) {
				continue
			}
			if unit == 0 && strings.HasSuffix(f.before, " of size ") {
				unit = 1
			}
			if size, fits := n.Times(unit); fits && unit > 0 {
				takeSize(&o, f.q, size)
			}
			break
		}
		i = len(m.text) - len(rest) - 1
	}
	return o
}

func takeSize(o *record.OutOfMemory, q record.Quantity, s record.Size) {
	switch q {
	case requested:
		if !o.HasRequested {
			o.Requested, o.HasRequested = s, true
		}
	case unallocated:
		allocated, _ := o.Get(record.Allocated)
		o.Set(
			record.Reserved,
			record.Size{Bytes: allocated.Bytes + s.Bytes, Resolution: allocated.Resolution + s.Resolution},
		)
	default:
		if _, has := o.Get(q); !has {
			o.Set(q, s)
		}
	}
}

// device is the one that the message names: "(GPU 0;", "GPU 0 has", "on device 0:", "(NPU:0)",
// "device:GPU:0", "GPU=0". A byte below ' ' is its number too, see [isAsyncFailure].
func (m *failure) device() int {
	for _, word := range []string{"GPU", "NPU", "MLU", "GCU", "XPU", "Device", "device"} {
		for rest := m.text; ; {
			i := bytes.Index(rest, []byte(word))
			if i < 0 || i+len(word)+1 >= len(rest) {
				break
			}
			rest = rest[i+len(word):]
			if bytes.IndexByte([]byte(" :=_"), rest[0]) < 0 {
				continue
			}
			if c := rest[1]; c > 0 && c < 0x10 && c != '\t' && (len(rest) == 2 || rest[2] == ' ') {
				return int(c)
			}
			if n, behind, ok := lex.CutInt(
				rest[1:],
			); ok && n < 10000 &&
				(len(behind) == 0 || !lex.IsWordByte(behind[0]) || behind[0] == '_') {
				return n
			}
		}
	}
	return 0
}
