package check

import (
	"cmp"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A ground is one kind of reading that the peak of a device is judged by.
type ground int

const (
	byAllocated ground = iota // what the allocator handed out
	byProcess                 // what the driver says that the process has on the device, less the allocator's cache
	byBuffers                 // the buffers that a program names, added up
	byPart                    // one buffer, of a program that does not name all that it holds
	byReserved                // what the allocator reserved: a cache is no need, so that it never fails
	byDevice                  // what is in use on the device, whoever's it is, less the allocator's cache
	byTable                   // the only process in the driver's table: the log's own, where it has no other reading
	grounds
)

// groundWords are the name of a ground in [Finding].Quantity, and what a message says behind the
// size.
var groundWords = [grounds]struct{ name, words string }{
	byAllocated: {"allocated", "allocated"},
	byProcess:   {"used", "used by the process"},
	byBuffers:   {"buffers", "in known buffers"},
	byPart:      {"buffers", "in one buffer"},
	byReserved:  {"reserved", "reserved"},
	byDevice:    {"device", "in use on the device"},
	byTable:     {"used", "used by the only process"},
}

// QuantityWords are what a message says behind the size of a [Finding].Quantity: "used by the
// process". They are "" for "".
func QuantityWords(quantity string) string {
	for _, g := range groundWords {
		if g.name == quantity {
			return g.words
		}
	}
	return ""
}

// A mark is a reading that may be the highest.
type mark struct {
	seen        bool
	size, total record.Size
	// cached is the part of size that the allocator had reserved and not handed out: no need.
	// beside is what may have been in use beside size, in bytes.
	cached record.Size
	beside int64
	name   string // of the checkpoint
	pos    record.Position
	file   *timeline.File // nil for the harness's samples, whose file is found by their line
	told   bool           // by peak=: the program saw it between two checkpoints
	why    string         // why it is not known to be the process's own
}

// need is the size without the cache, and its bounds.
func (m *mark) need() (low, printed, high int64) {
	return max(0, m.size.Low()-m.cached.High()), max(0, m.size.Bytes-m.cached.Bytes),
		max(0, m.size.High()-max(0, m.cached.Low())) + m.beside
}

// share is the need as a share of the total.
func (m *mark) share() float64 {
	_, need, _ := m.need()
	return float64(need) / float64(max(1, m.total.Bytes))
}

// An extreme is the highest of marks that have totals.
type extreme struct {
	top mark
	// low and high are the bounds of the largest share.
	low, high float64
	// raw is the one with the largest share before its cache is taken off; nil where that is top,
	// as mostly.
	raw *mark
}

// raise compares a mark that has a total with the highest. The total is one from least to most.
func (e *extreme) raise(m *mark, least, most int64) {
	low, need, high := m.need()
	e.low = max(e.low, float64(low)/float64(max(1, most)))
	e.high = max(e.high, float64(high)/float64(max(1, least)))
	_, before, _ := e.top.need()
	raw := e.whole()
	tops := !e.top.seen || float64(need)*float64(e.top.total.Bytes) > float64(before)*float64(m.total.Bytes)
	rises := !raw.seen || float64(m.size.Bytes)*float64(raw.total.Bytes) > float64(raw.size.Bytes)*float64(m.total.Bytes)
	switch {
	case tops && rises:
		e.top, e.raw = *m, nil
	case tops:
		kept := *raw
		e.top, e.raw = *m, &kept
	case rises:
		kept := *m
		e.raw = &kept
	}
}

// whole is the mark with the largest share before its cache is taken off.
func (e *extreme) whole() *mark { return cmp.Or(e.raw, &e.top) }
