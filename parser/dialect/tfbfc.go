package dialect

import (
	"bytes"
	"math/bits"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// tensorflowDialect is that of TensorFlow's and XLA's allocator (bfc_allocator.cc; ONNX Runtime's
// bfc_arena.cc is a descendant), which prints what it holds when it runs out of memory:
//
//	... W tensorflow/tsl/framework/bfc_allocator.cc:485] Allocator (GPU_0_bfc) ran out of memory trying to allocate 585.94MiB
//	(rounded to 614400000)requested by op _EagerConst
//	... I tensorflow/tsl/framework/bfc_allocator.cc:1039] BFCAllocator dump for GPU_0_bfc
//	... I tensorflow/tsl/framework/bfc_allocator.cc:1107] Sum Total of in-use chunks: 561.92MiB
//	... I tensorflow/tsl/framework/bfc_allocator.cc:1109] Total bytes in pool: 3502964736 memory_limit_: 3502964736 available
//	bytes: 0 curr_region_allocation_bytes_: 7005929472
//	... I tensorflow/tsl/framework/bfc_allocator.cc:1114] Stats:
//	Limit:                      3502964736
//	InUse:                       589212672
//	MaxInUse:                   3288551168
//
// Until 2.4 the pool was total_region_allocated_bytes_. The limit is a setting, not a reading, as
// is the memory of which a device is created with; a dump of host memory (gpu_host_bfc) gives
// nothing. Version 1 tells of the device:
//
//	2018-01-09 21:40:48.218607: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1202] Found device 0 with properties:
//	name: Tesla K80 major: 3 minor: 7 memoryClockRate(GHz): 0.8755
//	pciBusID: 0000:00:1e.0
//	totalMemory: 11.17GiB freeMemory: 11.10GiB
//
// An allocation that failed is told once more by those who needed it:
//
//	ResourceExhaustedError: OOM when allocating tensor with shape[200,75,75,64] and type float on /job:localhost/replica:0/
//	task:0/device:GPU:0 by allocator GPU_0_bfc
//	RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4000000000 bytes.
var tensorflowDialect = scan.Dialect{
	Name: "tensorflow",
	Needles: []string{
		bfcRanOut, bfcDump, bfcSum, bfcPool, bfcOldPool, bfcPeak, tfDevice, tfOutOfMemory, xlaOutOfMemory,
	},
	Read: func(l *scan.Line, at int) int {
		rest := l.Text[at:]
		switch {
		case bytes.HasPrefix(rest, []byte(bfcRanOut)):
			return readBFCRanOut(l, at)
		case bytes.HasPrefix(rest, []byte(bfcDump)):
			return setBFCAllocator(l, rest[len(bfcDump):])
		case bytes.HasPrefix(rest, []byte(tfDevice)):
			return readTFDevice(l, at)
		case bytes.HasPrefix(rest, []byte(tfOutOfMemory)):
			return readTFOutOfMemory(l, at)
		case bytes.HasPrefix(rest, []byte(xlaOutOfMemory)):
			return readXLAOutOfMemory(l, at)
		}
		return readBFCStats(l, at)
	},
}

const (
	bfcRanOut      = "an out of memory trying to allocate "
	bfcDump        = "BFCAllocator dump for "
	bfcSum         = "Sum Total of in-use chunks: "
	bfcPool        = "Total bytes in pool: "
	bfcOldPool     = "total_region_allocated_bytes_: "
	bfcPeak        = "MaxInUse: "
	tfDevice       = "Found device "
	tfOutOfMemory  = "OOM when allocating tensor with shape["
	xlaOutOfMemory = "Out of memory while trying to allocate "

	// bfcFile prints sizes with a unit, its descendant bare bytes.
	bfcFile = "bfc_allocator"
	// bfcLineMax is the longest line of a dump, in bytes.
	bfcLineMax = 512
)

// A bfcAllocator is the one of which the lines that follow tell. It stays so to the end of the log,
// as a dump of thousands of lines names it in the first.
type bfcAllocator struct {
	name   string
	device int
	host   bool
}

func (*bfcAllocator) Row(*scan.Line) bool { return false }

// setBFCAllocator notes the allocator whose name the text begins with: "GPU_0_bfc", "gpu_host_bfc".
func setBFCAllocator(l *scan.Line, text []byte) (end int) {
	n := 0
	for n < len(text) && n < 64 && (lex.IsScalarByte(text[n]) || text[n] == '_' || text[n] == ':') {
		n++
	}
	a := newBFCAllocator(l.Str(text[:n]))
	l.Open(a)
	return len(l.Text) - len(text) + n
}

func newBFCAllocator(name string) *bfcAllocator {
	a := &bfcAllocator{name: name}
	lower := bytes.ToLower([]byte(name))
	a.host = bytes.Contains(lower, []byte("host")) || bytes.Contains(lower, []byte("cpu"))
	if i := bytes.IndexAny(lower, "0123456789"); i >= 0 {
		a.device, _, _ = lex.CutInt(lower[i:])
	}
	return a
}

// currentBFC is the allocator of which the lines tell.
func currentBFC(l *scan.Line) *bfcAllocator {
	if a, ok := l.Opened().(*bfcAllocator); ok {
		return a
	}
	return newBFCAllocator("BFC allocator")
}

// readBFCRanOut reads "Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.72GiB (rounded
// to 4000000000)requested by op". What "the caller indicates" to be no failure is none: it asked
// for a workspace that it can do without.
func readBFCRanOut(l *scan.Line, at int) (end int) {
	end = at + len(bfcRanOut)
	size, rest, ok := lex.CutSize(l.Text[end:], 0)
	if !ok || at == 0 || l.Text[at-1]|0x20 != 'r' {
		return 0
	}
	a := currentBFC(l)
	before := l.Text[:at-1]
	if i := bytes.LastIndex(
		before,
		[]byte("Allocator ("),
	); i >= 0 &&
		bytes.HasSuffix(before, []byte(") ")) {
		setBFCAllocator(l, before[i+len("Allocator ("):])
		a = currentBFC(l)
	}
	if a.host || bytes.Contains(rest, []byte("this is not a failure")) {
		return len(l.Text)
	}
	if exact, found := lex.CutPrefix(rest, " (rounded to "); found {
		if n, _, ok := lex.CutNumber(exact); ok && n.Decimals == 0 && n.Digits >= size.Low() {
			size = record.Exact(n.Digits)
		}
	}
	l.Add(record.OutOfMemory{
		Header: l.Header(
			at,
		),
		Lane:         record.Lane{Device: a.device},
		Requested:    size,
		HasRequested: true,
		Text:         l.Message(at - 1),
	})
	return len(l.Text)
}

// readBFCStats reads the lines of a dump from one of them on. Between them may be those of other
// threads: what is not there is read when it comes.
func readBFCStats(l *scan.Line, at int) (end int) {
	var r record.Reading
	if end = bfcField(&r, l.Text, at); end == 0 {
		rest := l.Text[at:]
		_, value, _ := bytes.Cut(rest, []byte(": "))
		if len(value) > 0 && lex.IsDigit(value[0]) &&
			bytes.Contains(l.Text[max(0, at-bfcLineMax):at], []byte(bfcFile)) {
			l.Bad(
				at,
				"a size, and what is left of the limit behind the pool's",
				"what cannot be read is left out",
			)
			return len(l.Text)
		}
		return 0
	}
	h := l.Header(at)
	for range 12 { // the longest, ONNX Runtime's, has ten lines
		if len(l.Text) > end {
			break
		}
		next, _ := l.Peek(1)
		next = next[:min(len(next), bfcLineMax)]
		n := 0
		for _, label := range bfcLabels {
			if i := bytes.LastIndex(next, []byte(label)); i >= 0 && n == 0 {
				n = bfcField(&r, next, i)
			}
		}
		if n == 0 {
			break
		}
		l.Next()
		end = n
	}
	if a := currentBFC(l); r.Len() > 0 && !a.host {
		l.Add(
			record.Checkpoint{
				Header:  h,
				Name:    a.name,
				Lane:    record.Lane{Device: a.device},
				Sampled: true,
				Reading: r,
			},
		)
	}
	return end
}

// bfcLabels are those of a dump's lines, longer ones first.
var bfcLabels = []string{
	bfcPool,
	bfcOldPool,
	"Stats: ",
	"RequestedInUse: ",
	bfcPeak,
	"InUse: ",
	"Limit: ",
	"TotalAllocated: ",
}

// bfcField reads the line of a dump whose label stands at an offset, and returns where it ends, 0
// where it is none.
func bfcField(r *record.Reading, text []byte, at int) (end int) {
	rest := text[at:]
	i := bytes.IndexByte(rest, ':')
	label, value := string(rest[:i+2]), rest[i+2:]
	switch {
	case label == "Stats: ", label == "Limit: " && len(bytes.Trim(value, " \t0123456789")) == 0:
		return len(text)
	}
	bare := int64(1)
	if label == bfcSum && bytes.Contains(text[max(0, at-bfcLineMax):at], []byte(bfcFile)) {
		bare = 0
	}
	size, behind, ok := lex.CutSize(value, bare)
	if !ok || size.Bytes < 0 {
		return 0
	}
	set := func(q record.Quantity) {
		if old, has := r.Get(q); !has || old.Resolution > 0 {
			r.Set(q, size)
		}
	}
	switch label {
	case bfcSum:
		set(record.Allocated)
		if len(bytes.TrimSpace(behind)) == 0 {
			return len(text)
		}
		return len(text) - len(behind)
	case bfcPool, bfcOldPool:
		if !bytes.HasPrefix(behind, []byte(" memory_limit_: ")) {
			return 0
		}
		set(record.Reserved)
		return len(text)
	}
	// "InUse:       589212672", with nothing behind.
	if len(bytes.TrimSpace(behind)) > 0 || at > 0 && lex.IsScalarByte(text[at-1]) {
		return 0
	}
	switch label {
	case "InUse: ":
		set(record.Allocated)
	case bfcPeak:
		set(record.Peak)
	case "TotalAllocated: ":
		set(record.Reserved)
	}
	return len(text)
}

// readTFDevice reads the block of a device that was found; see tensorflowDialect. Before 1.4 it had
// two lines, "Total memory: 7.92GiB" and "Free memory: 7.45GiB".
func readTFDevice(l *scan.Line, at int) (end int) {
	device, rest, ok := lex.CutInt(l.Text[at+len(tfDevice):])
	if rest, found := lex.CutPrefix(
		rest,
		" with properties:",
	); !ok || !found ||
		len(bytes.TrimSpace(rest)) > 0 {
		return 0
	}
	c := record.Checkpoint{
		Header:  l.Header(at),
		Name:    "device",
		Lane:    record.Lane{Device: device},
		Sampled: true,
	}
	for range 6 {
		next, ok := l.Peek(1)
		if !ok || bytes.Contains(next, []byte(tfDevice)) {
			break
		}
		next = next[:min(len(next), bfcLineMax)]
		l.Next()
		for _, f := range []struct {
			label string
			q     record.Quantity
		}{{"totalMemory: ", record.Total}, {"freeMemory: ", record.Free}, {"Total memory: ", record.Total}, {"Free memory: ", record.Free}} {
			_, value, found := bytes.Cut(next, []byte(f.label))
			if size, _, ok := lex.CutSize(value, 0); found && ok {
				c.Set(f.q, size)
			}
		}
		if c.Len() == 2 {
			l.Add(c)
			return len(l.Text)
		}
	}
	return 0
}

// readTFOutOfMemory reads "OOM when allocating tensor with shape[200,75,75,64] and type float on
// ... by allocator GPU_0_bfc".
func readTFOutOfMemory(l *scan.Line, at int) (end int) {
	from := at + len(tfOutOfMemory)
	text, rest, ok := bytes.Cut(l.Text[from:min(len(l.Text), from+bfcLineMax)], []byte("] and type "))
	if !ok || at > 0 && (l.Text[at-1] == '"' || l.Text[at-1] == '\'') {
		return 0
	}
	end = from + len(text)
	_, name, ok := bytes.Cut(rest, []byte(" by allocator "))
	name, _, _ = bytes.Cut(name, []byte(" "))
	a := newBFCAllocator(string(name))
	if !ok || a.host {
		return end
	}
	o := record.OutOfMemory{
		Header: l.Header(at),
		Lane:   record.Lane{Device: a.device},
		Text:   l.Message(at),
	}
	kind, _, _ := bytes.Cut(rest, []byte(" "))
	product := tfTypes[string(kind)]
	for len(text) > 0 && product > 0 {
		n, after, ok := lex.CutNumber(text)
		high, low := bits.Mul64(product, uint64(max(n.Digits, 0)))
		if !ok || n.Decimals > 0 || high > 0 || low >= 1<<62 || len(after) > 0 && after[0] != ',' {
			product = 0
			break
		}
		product = low
		text = after[min(1, len(after)):]
	}
	if product > 0 {
		o.Requested, o.HasRequested = record.Exact(int64(product)), true
	}
	l.Add(o)
	return len(l.Text)
}

// tfTypes are the bytes of an element.
var tfTypes = map[string]uint64{
	"bool":       1,
	"int8":       1,
	"uint8":      1,
	"int16":      2,
	"uint16":     2,
	"half":       2,
	"bfloat16":   2,
	"int32":      4,
	"uint32":     4,
	"float":      4,
	"int64":      8,
	"uint64":     8,
	"double":     8,
	"complex64":  8,
	"complex128": 16,
}

// readXLAOutOfMemory reads "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 19.59GiB."
// and "... 4000000000 bytes.".
func readXLAOutOfMemory(l *scan.Line, at int) (end int) {
	size, _, ok := lex.CutSize(l.Text[at+len(xlaOutOfMemory):], 0)
	if !ok || at > 0 && (l.Text[at-1] == '"' || l.Text[at-1] == '\'') {
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
