package peak

import (
	"cmp"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A Ground is a kind of reading by which the peak of a device can be judged.
type Ground int

// These are the grounds.
const (
	Allocated Ground = iota // memory that the allocator handed out
	Process                 // device memory of the process, as the driver says, less the cache
	Buffers                 // sum of the buffers that a program names
	part                    // one buffer of a program that does not name all of its buffers
	Reserved                // memory that the allocator reserved; never fails: caches can be freed
	device                  // device memory of all processes, as the driver says, less the cache
	only                    // the only process in a table that comes before the program's first report
	grounds
)

// groundWords holds, for each ground, its name in JSON and its words in messages.
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

// Words returns the words that follow a size in messages: "used by the process".
func (g Ground) Words() string { return groundWords[g].words }

// Words returns the words of the ground with this name, or "" if there is none.
func Words(name string) string {
	for _, g := range groundWords {
		if g.name == name {
			return g.words
		}
	}
	return ""
}

// A Mark is a reading that may be the highest of its kind.
type Mark struct {
	Size, Total record.Size
	Cached      record.Size // the part of Size that the allocator reserved and did not hand out
	Name        string      // name of the checkpoint
	Pos         record.Position
	File        *timeline.File // nil for samples, whose file is found by their line
	Told        bool           // Size is from peak=, which the program measured between checkpoints
	Capped      bool           // Total is what the program lets its allocator reserve

	seen     bool
	maybe    int64  // bytes that may have been in use in addition to Size
	notKnown string // why the memory may belong to another process, or ""
}

// InUse returns the size without the cache, in bytes: the least that the printed digits allow, the
// printed value, and the greatest that they allow.
func (m *Mark) InUse() (low, printed, high int64) {
	return max(0, m.Size.Low()-m.Cached.High()), max(0, m.Size.Bytes-m.Cached.Bytes),
		max(0, m.Size.High()-max(0, m.Cached.Low())) + m.maybe
}

// Part returns the mark's size, without the cache, as a part of the device's total.
func (m *Mark) Part() float64 {
	_, inUse, _ := m.InUse()
	return float64(inUse) / float64(max(1, m.Total.Bytes))
}

// An extreme is the highest of the marks of one ground that have a total.
type extreme struct {
	top Mark
	// low and high are the least and the greatest value that the largest part of the total may have.
	low, high float64
	// raw is the mark with the largest part of the total before the cache is subtracted. It is nil if
	// that mark is top, as in most logs.
	raw *Mark
}

// raise makes m the highest mark if it is higher. The true total lies between least and most bytes.
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

// whole returns the mark with the largest part of the total before the cache is subtracted.
func (e *extreme) whole() *Mark { return cmp.Or(e.raw, &e.top) }
