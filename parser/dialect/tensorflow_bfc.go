package dialect

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
)

// A bfcAllocator is the allocator that the log named last. A dump names its allocator only in its
// first line. So the name must be remembered: the scanner keeps a bfcAllocator as a table to the
// end of the log.
type bfcAllocator struct {
	name   string
	device int
	host   bool // the allocator manages host memory
}

// Row implements [scan.Table]. It takes no line for a row, because the lines of a dump have
// needles.
func (*bfcAllocator) Row(*scan.Line) bool { return false }

// openBFCAllocator remembers the allocator whose name the text begins with: "GPU_0_bfc",
// "gpu_host_bfc". It returns the offset in the line behind the name.
func openBFCAllocator(l *scan.Line, text []byte) (end int) {
	n := 0
	for n < len(text) && n < 64 && (lex.IsScalarByte(text[n]) || text[n] == '_' || text[n] == ':') {
		n++
	}
	a := newBFCAllocator(l.Str(text[:n]))
	l.Open(a)
	return len(l.Text) - len(text) + n
}

// newBFCAllocator returns the allocator with a name. The name "GPU_0_bfc" gives device 0.
func newBFCAllocator(name string) *bfcAllocator {
	a := &bfcAllocator{name: name}
	lower := bytes.ToLower([]byte(name))
	a.host = bytes.Contains(lower, []byte("host")) || bytes.Contains(lower, []byte("cpu"))
	if i := bytes.IndexAny(lower, "0123456789"); i >= 0 {
		a.device, _, _ = lex.CutInt(lower[i:])
	}
	return a
}

// openedBFCAllocator returns the allocator that the log named last.
func openedBFCAllocator(l *scan.Line) *bfcAllocator {
	if a, ok := l.Opened().(*bfcAllocator); ok {
		return a
	}
	return newBFCAllocator("BFC allocator")
}

// readBFCRanOut reads the first line of a dump:
//
//	Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.72GiB (rounded to 4000000000)requested by op
//
// It adds no record if the line says "the caller indicates that this is not a failure". This
// caller asked for a workspace, and can work without it.
func readBFCRanOut(l *scan.Line, at int) (end int) {
	end = at + len(bfcRanOut)
	size, rest, ok := lex.CutSize(l.Text[end:], 0)
	if !ok || at == 0 || l.Text[at-1]|0x20 != 'r' {
		return 0
	}
	before := l.Text[:at-1]
	i := bytes.LastIndex(before, []byte("Allocator ("))
	if i >= 0 && bytes.HasSuffix(before, []byte(") ")) {
		openBFCAllocator(l, before[i+len("Allocator ("):])
	}
	a := openedBFCAllocator(l)
	if a.host || bytes.Contains(rest, []byte("this is not a failure")) {
		return len(l.Text)
	}
	if exact, found := lex.CutPrefix(rest, " (rounded to "); found {
		if n, _, ok := lex.CutNumber(exact); ok && n.Decimals == 0 && n.Digits >= size.Low() {
			size = record.Exact(n.Digits)
		}
	}
	l.Add(record.OutOfMemory{
		Header:       l.Header(at),
		Lane:         record.Lane{Device: a.device},
		Requested:    size,
		HasRequested: true,
		Text:         l.Message(at - 1),
	})
	return len(l.Text)
}

// readBFCStats reads a statistic of a dump, and makes one checkpoint of it and the statistics on
// the following lines. If a line of another thread comes between, the statistics behind that line
// give another checkpoint.
func readBFCStats(l *scan.Line, at int) (end int) {
	var r record.Reading
	if end = readBFCStat(&r, l.Text, at); end == 0 {
		rest := l.Text[at:]
		_, value, _ := bytes.Cut(rest, []byte(": "))
		if len(value) > 0 && lex.IsDigit(value[0]) &&
			bytes.Contains(l.Text[max(0, at-bfcLineMax):at], []byte(bfcFile)) {
			l.Bad(
				at,
				"a size, and \"memory_limit_:\" behind the pool's",
				"the value is left out",
			)
			return len(l.Text)
		}
		return 0
	}
	h := l.Header(at)
	for range 12 { // the longest dump, ONNX Runtime's, has ten lines
		if len(l.Text) > end {
			break
		}
		next, _ := l.Peek(1)
		next = next[:min(len(next), bfcLineMax)]
		n := 0
		for _, label := range bfcLabels {
			if i := bytes.LastIndex(next, []byte(label)); i >= 0 && n == 0 {
				n = readBFCStat(&r, next, i)
			}
		}
		if n == 0 {
			break
		}
		l.Next()
		end = n
	}
	if a := openedBFCAllocator(l); r.Len() > 0 && !a.host {
		l.Add(record.Checkpoint{
			Header:  h,
			Name:    a.name,
			Lane:    record.Lane{Device: a.device},
			Sampled: true,
			Reading: r,
		})
	}
	return end
}

// bfcLabels are the labels of statistics. If one label ends with another, the longer label comes
// first.
var bfcLabels = []string{
	bfcPool, bfcOldPool, "Stats: ", "RequestedInUse: ", bfcPeak, "InUse: ", "Limit: ",
	"TotalAllocated: ",
}

// readBFCStat reads the statistic whose label is at an offset of the text, and sets its quantity
// in r. It returns the offset behind the statistic, or 0 if no size follows the label.
func readBFCStat(r *record.Reading, text []byte, at int) (end int) {
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
	// These statistics have nothing behind the number: "InUse:       589212672".
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
