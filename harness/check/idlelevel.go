package check

import (
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// An idle is one file's idle level: the level at its last checkpoint.
type idle struct {
	file *timeline.File
	n    int32 // its place in the timeline
	of   record.Quantity
	// sampled says that the file has only samples. This is the lowest one: the idle level is no more.
	sampled bool
	line    int    // of the checkpoint
	name    string // of the checkpoint, without its numbers
	size    record.Size
	highest int64 // level in the file, bytes
	total   int64
}

// noteIdle notes the file's idle level.
func (j *Judge) noteIdle(l *lane, f *timeline.File, n int32) {
	c := l.last
	if c == nil {
		c = l.lowest
	}
	if c == nil {
		return
	}
	if size, ok := l.get(c); ok {
		name := ""
		if !c.Sampled {
			name = j.naming(c).uncounted
		}
		l.idles = append(room(l.idles), idle{
			file: f, n: n, of: l.level, line: c.Pos.Line, name: name, size: size,
			highest: l.highest.Bytes, total: c.Bytes(record.Total), sampled: c.Sampled,
		})
	}
}

// idleLevels returns the idle levels of the files. It leaves out a file that did not end well, or
// that ends with another checkpoint than most: it does not tell what a good one leaves behind.
func idleLevels(j *Judge, l *lane) *column {
	type ending struct {
		process int
		name    string
		of      record.Quantity
	}
	// The levels are filtered in their place: there may be many.
	all := slices.DeleteFunc(l.idles, func(i idle) bool {
		return !j.endedWell(i.file) || i.sampled && l.named
	})
	count := map[ending]int{}
	usual := map[int]ending{} // of a process
	of := func(i idle) ending { return ending{i.file.Process, i.name, i.of} }
	for from := 0; from < len(all); {
		e, n := of(all[from]), 1
		for from+n < len(all) && of(all[from+n]) == e {
			n++
		}
		if count[e] += n; count[e] > count[usual[e.process]] {
			usual[e.process] = e
		}
		from += n
	}
	l.idles = slices.DeleteFunc(all, func(i idle) bool {
		e := of(i)
		return e != usual[e.process]
	})
	c := &column{}
	for i := range l.idles {
		size := l.idles[i].size
		c.add(l.idles[i].n, float64(size.Bytes), float64(size.Resolution))
	}
	return c
}

// idleOf returns the idle level that a value of a process is.
func (l *lane) idleOf(p *processValues, at int) *idle {
	i, _ := slices.BinarySearchFunc(l.idles, p.files[at], func(i idle, n int32) int {
		return int(i.n - n)
	})
	return &l.idles[i]
}
