package dialect

import (
	"bytes"
	"math/bits"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// tensorflowDialect reads TensorFlow and XLA. When their allocator (bfc_allocator.cc) runs out of
// memory, it prints which memory it holds. So does ONNX Runtime's bfc_arena.cc, which was made from
// it:
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
// Until 2.4 the pool was total_region_allocated_bytes_. The limit is a setting and not a reading.
// So is the memory that a device is created with. A dump of host memory (gpu_host_bfc) gives no
// record. Version 1 prints the device's memory at the start:
//
//	2018-01-09 21:40:48.218607: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1202] Found device 0 with properties:
//	name: Tesla K80 major: 3 minor: 7 memoryClockRate(GHz): 0.8755
//	pciBusID: 0000:00:1e.0
//	totalMemory: 11.17GiB freeMemory: 11.10GiB
//
// The operation or the program that needed a failed allocation reports it again:
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
			return openBFCAllocator(l, rest[len(bfcDump):])
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

	// bfcFile is in the name of the source file that prints a sum with a unit. ONNX Runtime's
	// file prints plain bytes.
	bfcFile = "bfc_allocator"
	// bfcLineMax is the longest line of a dump, in bytes.
	bfcLineMax = 512
)

// readTFDevice reads the block of lines that version 1 prints for a device. Before 1.4 its sizes
// had lines of their own: "Total memory: 7.92GiB" and "Free memory: 7.45GiB".
func readTFDevice(l *scan.Line, at int) (end int) {
	device, rest, ok := lex.CutInt(l.Text[at+len(tfDevice):])
	rest, found := lex.CutPrefix(rest, " with properties:")
	if !ok || !found || len(bytes.TrimSpace(rest)) > 0 {
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
		for _, f := range tfDeviceFields {
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

var tfDeviceFields = []struct {
	label string
	q     record.Quantity
}{
	{"totalMemory: ", record.Total},
	{"freeMemory: ", record.Free},
	{"Total memory: ", record.Total},
	{"Free memory: ", record.Free},
}

// readTFOutOfMemory reads the error of an operation. The shape and the type give the requested
// size:
//
//	OOM when allocating tensor with shape[200,75,75,64] and type float on ... by allocator GPU_0_bfc
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

// tfTypes maps types to the bytes of an element.
var tfTypes = map[string]uint64{
	"bool": 1, "int8": 1, "uint8": 1,
	"int16": 2, "uint16": 2, "half": 2, "bfloat16": 2,
	"int32": 4, "uint32": 4, "float": 4,
	"int64": 8, "uint64": 8, "double": 8, "complex64": 8,
	"complex128": 16,
}

// readXLAOutOfMemory reads "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 19.59GiB."
// and "... 4000000000 bytes.".
func readXLAOutOfMemory(l *scan.Line, at int) (end int) {
	size, _, ok := lex.CutSize(l.Text[at+len(xlaOutOfMemory):], 0)
	if !ok || at > 0 && (l.Text[at-1] == '"' || l.Text[at-1] == '\'') {
		return 0
	}
	l.Add(record.OutOfMemory{
		Header:       l.Header(at),
		Requested:    size,
		HasRequested: true,
		Text:         l.Message(at),
	})
	return len(l.Text)
}
