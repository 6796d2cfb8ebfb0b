package peak

import (
	"cmp"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A Ground is one kind of reading that the peak of a device is judged by.
type Ground int

// The grounds.
const (
	Allocated Ground = iota // what the allocator handed out
	Process                 // what the driver says the process has on the device, less the cache
	Buffers                 // the buffers that a program names, added up
	part                    // one buffer, of a program that does not name all that it holds
	Reserved                // what the allocator reserved; never too much, as a cache can be freed
	device                  // what is in use on the device, by any process, less the cache
	only                    // the only process in the driver's table, where nothing else tells
	grounds
)

// groundWords are the name of a ground in JSON, and what a message says behind the size.
var groundWords = [grounds]struct{ name, words string }{
	Allocated: {"allocated", "allocated"},
	Process:   {"used", "used by the process"},
	Buffers:   {"buffers", "in known buffers"},
	part:      {"buffers", "in one buffer"},
	Reserved:  {"reserved", "reserved"},
	device:    {"device", "in use on the device"},
	only:      {"used", "used by the only process"},
}

// Name returns the name of a ground in JSON.
func (g Ground) Name() string { return groundWords[g].name }

// Words returns what a message says behind a size: "used by the process".
func (g Ground) Words() string { return groundWords[g].words }

// Words returns the words of the ground with this name, or "".
func Words(name string) string {
	for _, g := range groundWords {
		if g.name == name {
			return g.words
		}
	}
	return ""
}

// A Mark is a reading that may be the highest.
type Mark struct {
	Size, Total record.Size
	Cached      record.Size // the part of Size that the allocator had reserved and not handed out
	Name        string      // of the checkpoint
	Pos         record.Position
	File        *timeline.File // nil for the harness's samples, whose file is found by their line
	Told        bool           // by peak=: the program saw it between two checkpoints

	seen     bool
	maybe    int64  // bytes that may have been in use besides Size
	notKnown string // why it is not known to be the process's own; "" where it is known
}

// InUse returns the size without the cache, and its bounds.
func (m *Mark) InUse() (low, printed, high int64) {
	return max(0, m.Size.Low()-m.Cached.High()), max(0, m.Size.Bytes-m.Cached.Bytes),
		max(0, m.Size.High()-max(0, m.Cached.Low())) + m.maybe
}

// Part returns what is in use as a part of the total.
func (m *Mark) Part() float64 {
	_, inUse, _ := m.InUse()
	return float64(inUse) / float64(max(1, m.Total.Bytes))
}

// An extreme is the highest of marks that have totals.
type extreme struct {
	top Mark
	// low and high are the bounds of the largest part.
	low, high float64
	// raw is the mark with the largest part before its cache is taken off; nil where that is top, as
	// mostly.
	raw *Mark
}

// raise compares a mark that has a total with the highest. The total is one from least to most.
func (e *extreme) raise(m *Mark, least, most int64) {
	low, inUse, high := m.InUse()
	e.low = max(e.low, float64(low)/float64(max(1, most)))
	e.high = max(e.high, float64(high)/float64(max(1, least)))
	_, before, _ := e.top.InUse()
	raw := e.whole()
	tops := !e.top.seen ||
		float64(inUse)*float64(e.top.Total.Bytes) > float64(before)*float64(m.Total.Bytes)
	rises := !raw.seen ||
		float64(m.Size.Bytes)*float64(raw.Total.Bytes) > float64(raw.Size.Bytes)*float64(m.Total.Bytes)
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

// whole returns the mark with the largest part before its cache is taken off.
func (e *extreme) whole() *Mark { return cmp.Or(e.raw, &e.top) }
