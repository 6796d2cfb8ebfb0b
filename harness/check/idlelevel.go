package check

import (
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// An idle is the idle level of one file: its level at the file's last checkpoint.
type idle struct {
	file *timeline.File
	n    int32 // the file's index in Timeline.Files
	of   record.Quantity
	// sampled is set if the file has only samples. The level is then the lowest sample, and the true
	// idle level may be lower.
	sampled bool
	line    int    // line of the checkpoint
	name    string // name of the checkpoint, with its numbers replaced
	size    record.Size
	highest int64 // the file's highest level or peak, in bytes
	total   int64
}

// noteIdle records the file's idle level.
func (j *Judge) noteIdle(l *lane, f *timeline.File, n int32) {
	c := l.lowest
	if l.last != nil {
		c = l.lastLevel(f)
	}
	if c == nil {
		return
	}
	if size, ok := l.get(c); ok {
		name := ""
		if !c.Sampled {
			name = j.naming(c).uncounted
		}
		highest := l.highest.Bytes
		if l.level == record.Allocated {
			highest = max(highest, l.printedPeak)
		}
		l.idles = append(room(l.idles), idle{
			file: f, n: n, of: l.level, line: c.Pos.Line, name: name, size: size,
			highest: highest, total: c.Bytes(record.Total), sampled: c.Sampled,
		})
	}
}

// idleLevels returns the idle levels of the files. It leaves out two kinds of files, because they
// do not show what a good file leaves behind: files that did not end well, and files whose last
// checkpoint is not that of most files of their process.
func idleLevels(j *Judge, l *lane) *column {
	type ending struct {
		process int
		name    string
		of      record.Quantity
	}
	// Filter the list in place, because it may hold millions of levels.
	all := slices.DeleteFunc(l.idles, func(i idle) bool {
		return !j.endedWell(i.file) || i.sampled && l.named
	})
	count := map[ending]int{}
	usual := map[int]ending{} // the most frequent ending of each process
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

// idleOf returns the idle level of file p.files[at].
func (l *lane) idleOf(p *processValues, at int) *idle {
	i, _ := slices.BinarySearchFunc(l.idles, p.files[at], func(i idle, n int32) int {
		return int(i.n - n)
	})
	return &l.idles[i]
}
