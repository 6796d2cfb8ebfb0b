package failure

import (
	"bytes"
	"slices"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// A message is the text of a failed allocation in a form that is easy to search: with single
// blanks between the words, and without commas in numbers.
type message struct {
	text      []byte
	wordsEnd  int // offset in the line behind "out of memory"
	next      int // offset in the line from which another message may begin
	moreLines int // how many of the following lines belong to the message
}

const (
	maxMessage   = 2 << 10 // longest part of a message in one line, in bytes
	maxMoreLines = 8       // most lines behind a message's first line
)

// gatherMessage returns the message that begins at an offset of the line, with the lines that
// continue it. The message of cudaMallocAsync has several lines. Terminals and pretty-printers
// break other messages into lines:
//
//	CUDA out of memory. Tried to allocate 226.00 MiB (GPU 0; 2.00 GiB total capacity;
//	838.72 MiB already allocated; 122.43 MiB free; 944.00 MiB reserved in total by PyTorch)
func gatherMessage(l *scan.Line, start int) message {
	text := l.Text[start:min(len(l.Text), start+maxMessage)]
	m := message{wordsEnd: start, next: len(l.Text)}
	if i := bytes.Index(text, []byte("memory")); i >= 0 {
		m.wordsEnd += i + len("memory")
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
	for n := 1; n <= maxMoreLines; n++ {
		next, ok := l.Peek(n)
		if !ok {
			break
		}
		next = bytes.Trim(source.WithoutLogger(next[:min(len(next), maxMessage)]), " \t|│")
		if async && !isAsyncLine(next) || !async && !m.continuesIn(next) {
			break
		}
		m.append(next)
		m.moreLines = n
	}
	return m
}

var triedTo = []byte("Tried to allocate ")

// append adds the text of a line to the message. It replaces several blanks by one, and removes
// the commas in "1,600,000,000".
func (m *message) append(text []byte) {
	if len(m.text) > 0 {
		m.text = append(m.text, ' ')
	}
	for i, c := range text {
		switch {
		case (c == ' ' || c == '\t') && len(m.text) > 0 && m.text[len(m.text)-1] == ' ':
		case c == '\t':
			m.text = append(m.text, ' ')
		case c == ',' && i > 0 && lex.IsDigit(text[i-1]) && i+3 < len(text) &&
			lex.IsDigit(text[i+1]) && lex.IsDigit(text[i+2]) && lex.IsDigit(text[i+3]):
		default:
			m.text = append(m.text, c)
		}
	}
}

// isAsyncLine reports whether a line belongs to cudaMallocAsync's message:
//
//	Currently allocated     : 4.68 GiB
//	Requested               : 160.00 MiB
//	Device limit            : 6.00 GiB
//	Free (according to CUDA): 0 bytes
//	PyTorch limit (set by user-supplied memory fraction)
//	                        : 17179869184.00 GiB
func isAsyncLine(text []byte) bool {
	for _, label := range []string{
		"Currently allocated", "Requested  ", "Device limit ", "Free (according to CUDA)",
		"PyTorch limit (set by",
	} {
		if bytes.Contains(text, []byte(label)) {
			return true
		}
	}
	return bytes.HasPrefix(text, []byte(": "))
}

// continuesIn reports whether the line next continues the message m. Only a message of PyTorch
// that is not complete yet can be continued.
func (m *message) continuesIn(next []byte) bool {
	i := bytes.Index(m.text, triedTo[:len(triedTo)-1])
	if i < 0 || bytes.Contains(next, []byte("out of memory")) || len(next) == 0 {
		return false
	}
	for _, prefix := range []string{
		record.MemoryPrefix, record.HarnessPrefix, record.ProtocolPrefix,
	} {
		if bytes.Contains(next, []byte(prefix)) {
			return false // the message was cut off; the next line is another record
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
		return bytes.Contains(next, []byte("total capac")) &&
			(bytes.HasPrefix(next, []byte("GPU ")) || bytes.HasPrefix(next, []byte("has a total ")))
	}
	for _, word := range []string{"free", "in use", "allocat", "reserved", "capac", "cached"} {
		if bytes.Contains(next, []byte(word)) {
			return true
		}
	}
	return false
}

// Numbers for the three sizes of a message that are not quantities of a reading: the requested
// size, the most that the program lets its allocator reserve, and the memory that is reserved but
// not allocated. PyTorch 1.0 to 1.3 called this memory "cached" (c10/cuda/CUDACachingAllocator.cpp:
// amount_cached - amount_allocated).
const (
	requested = record.Quantities + iota
	allowed
	unallocated
)

// sizeWordings says which quantity a size is, by the words directly before and behind it:
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
var sizeWordings = []struct {
	q             record.Quantity
	before, after string
}{
	{requested, "Tried to allocate ", ""},
	{requested, "tried to allocate ", ""},
	{requested, "trying to allocate ", ""},
	{requested, "failed to allocate ", ""},
	{requested, "annot allocate ", ""},
	{requested, "ould not allocate ", ""},
	{requested, "nable to allocate ", ""},
	{requested, "allocating ", ""},
	{requested, "can't allocate ", ""},
	{requested, "ttempting to allocate ", ""},
	{requested, "ttempting to reserve ", ""},
	{requested, "request for ", ""},
	{requested, "CUDA calloc ", ""},
	{requested, "CUDA calloc async ", ""},
	{requested, "CUDA malloc ", ""},
	{requested, "Invalid buffer size: ", ""},
	{requested, "buffer of size ", ""},
	{requested, "allocation of size ", ""},
	{requested, "requested bytes of ", ""},
	{requested, "byte size ", ""},
	{requested, "alloc size: ", ""},
	{requested, "alloc size:", ""},
	{requested, ", size:", ""},
	{requested, "failed, size[", ""},
	{requested, "amount of GPU memory (", ""},
	{requested, "Requested : ", ""},
	{record.Total, "", " total capacity"},
	{record.Total, "total capacity of ", ""},
	{record.Total, "total capacty of ", ""},
	{record.Total, "Device limit : ", ""},
	{allowed, "", " allowed"},
	{allowed, "memory fraction) : ", ""},
	{record.Free, "", " free"},
	{record.Free, "", " is free"},
	{record.Free, "", "is free"},
	{record.Free, "Free (according to CUDA): ", ""},
	{record.Free, "available memory is only ", ""},
	{record.Free, "Available Free mem : ", ""},
	{record.Free, "Available memory of ", ""},
	{record.Allocated, "", " already allocated"},
	{record.Allocated, "", " is allocated"},
	{record.Allocated, "", " total allocated"},
	{record.Allocated, "", " memory has been allocated"},
	{record.Allocated, "Currently allocated : ", ""},
	{record.Allocated, "MPS allocated: ", ""},
	{record.Active, "", " current active"},
	{record.Reserved, "", " reserved in total"},
	{record.Reserved, "allocated so far: ", ""}, // CuPy: the size of its pool
	{unallocated, "", " is reserved"},
	{unallocated, "", " cached"},
	{record.Used, "this process has ", ""},
}

// bytesBefore are the endings of the words behind which a number without a unit is in bytes.
var bytesBefore = []string{
	" of size ", " bytes of ", "byte size ", "alloc size: ", "alloc size:", "memory of ", ", size:",
	"size[",
}

// parseSizes returns a record with the message's sizes. If several sizes have the same meaning,
// the first one counts.
func (m *message) parseSizes() (o record.OutOfMemory) {
	for i := 0; i < len(m.text); i++ {
		if !lex.IsDigit(m.text[i]) || i > 0 && (lex.IsWordByte(m.text[i-1]) || m.text[i-1] == '.') {
			continue
		}
		n, rest, ok := lex.CutNumber(m.text[i:])
		if !ok {
			continue
		}
		unit, behind := lex.CutUnit(rest)
		before := m.text[:i]
		for _, w := range sizeWordings {
			if !bytes.HasSuffix(before, []byte(w.before)) ||
				!bytes.HasPrefix(behind, []byte(w.after)) {
				continue
			}
			ends := func(words string) bool { return strings.HasSuffix(w.before, words) }
			if unit == 0 && slices.ContainsFunc(bytesBefore, ends) {
				unit = 1
			}
			if size, fits := n.Times(unit); fits && unit > 0 {
				setSize(&o, w.q, size)
			}
			break
		}
		i = len(m.text) - len(rest) - 1
	}
	return o
}

// setSize sets the quantity q of the record, unless an earlier size of the message has set it.
func setSize(o *record.OutOfMemory, q record.Quantity, s record.Size) {
	switch q {
	case requested:
		if !o.HasRequested {
			o.Requested, o.HasRequested = s, true
		}
	case allowed:
		if o.Allowed.Bytes == 0 {
			o.Allowed = s
		}
	case unallocated:
		allocated, _ := o.Get(record.Allocated)
		s.Bytes += allocated.Bytes
		s.Resolution += allocated.Resolution
		o.Set(record.Reserved, s)
	default:
		if _, has := o.Get(q); !has {
			o.Set(q, s)
		}
	}
}

// device returns the device that the message names, or 0: "(GPU 0;", "GPU 0 has", "on device 0:",
// "(NPU:0)", "device:GPU:0", "GPU=0". The number may be one raw byte, see [isAsyncMessage].
func (m *message) device() int {
	for _, word := range []string{"GPU", "NPU", "MLU", "GCU", "XPU", "Device", "device"} {
		for rest := m.text; ; {
			i := bytes.Index(rest, []byte(word))
			if i < 0 || i+len(word)+1 >= len(rest) {
				break
			}
			rest = bytes.TrimPrefix(rest[i+len(word):], []byte("(id")) // MindSpore: Device(id:0)
			if len(rest) < 2 {
				break
			}
			if bytes.IndexByte([]byte(" :=_"), rest[0]) < 0 {
				continue
			}
			if c := rest[1]; c > 0 && c < 0x10 && c != '\t' && (len(rest) == 2 || rest[2] == ' ') {
				return int(c)
			}
			n, behind, ok := lex.CutInt(rest[1:])
			if ok && n < 10000 &&
				(len(behind) == 0 || !lex.IsWordByte(behind[0]) || behind[0] == '_') {
				return n
			}
		}
	}
	return 0
}
