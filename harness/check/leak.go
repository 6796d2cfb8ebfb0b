package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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

// explainLeak adds where a leak is taken and when memory runs out.
func (j *Judge) explainLeak(l *lane, w *worstProcess) {
	if w.of == nil {
		return
	}
	end := l.idleOf(w.of, len(w.of.files)-1)
	shown := end
	if w.finding.Verdict == Fail {
		shown = l.idleOf(w.of, w.from())
		var taken string
		taken, w.finding.Stage = j.takenAt(l, w)
		for _, more := range []string{taken, j.runsOut(l, w, end), j.lengthsUnknown(w)} {
			if more != "" {
				w.finding.Message += "; " + more
			}
		}
	}
	w.finding.At = &record.Position{Path: shown.file.Pos.Path, Line: shown.line}
	if !l.named {
		w.finding.Message += "; a file's idle level here is the lowest of its samples"
	}
}

// idleOf returns the idle level that a value of a process is.
func (l *lane) idleOf(p *processValues, at int) *idle {
	i, _ := slices.BinarySearchFunc(l.idles, p.files[at], func(i idle, n int32) int {
		return int(i.n - n)
	})
	return &l.idles[i]
}

// takenAt names the checkpoints between which the level of a file rises for good: from there to
// the end of the file it is never again as low as the file before left it. While the file is
// worked on, the level may be higher still. takenAt then also names the checkpoint from which on
// no more is held than at the end. stage is the innermost stage or cleanup there.
func (j *Judge) takenAt(l *lane, w *worstProcess) (taken, stage string) {
	from := w.result.From
	files, before := w.of.files[from:], w.of.values[from:]
	slope := *w.finding.Measured
	// above is by how much each point is above the idle level of the file before, the mean over the
	// files.
	var above []float64
	var names []string
	for _, p := range l.points.all {
		values := p.level.over(files)
		sum, n := 0.0, 0
		for i := 1; i < len(files); i++ {
			if !math.IsNaN(values[i]) {
				sum += values[i] - before[i-1]
				n++
			}
		}
		if p.level.of == l.level && n*int(p.level.skip+1) > len(files)/2 {
			above, names = append(above, sum/float64(n)), append(names, p.name)
		}
	}
	first := len(above)
	for first > 0 && above[first-1] > slope/2 {
		first--
	}
	if first == len(above) {
		return "", "" // not between checkpoints that the files have in common
	}
	after := "the end of the file before"
	if first > 0 {
		after = names[first-1]
	}
	taken = fmt.Sprintf("it is taken between %s and %s", after, names[first])
	stage = openStage(names[:first])
	least := slices.Min(above[first:])
	for i := first; ; i++ {
		switch {
		case above[i] > least+slope/2:
		case i == first:
			return taken, stage
		default:
			return fmt.Sprintf("%s, and still held at %s", taken, names[i]), stage
		}
	}
}

// openStage returns the innermost stage or cleanup that is open after the checkpoints of these
// names, or "".
func openStage(names []string) string {
	var open []string
	for _, name := range names {
		c := record.Checkpoint{Name: name}
		of, begins, ends := c.Pair()
		switch at := slices.Index(open, of); {
		case begins:
			open = append(open, of)
		case ends && at >= 0:
			open = open[:at]
		}
	}
	if len(open) == 0 {
		return ""
	}
	return open[len(open)-1]
}

// cards are sizes of GPU memory that people have, in GiB.
var cards = []int64{8, 12, 16, 24}

// runsOut says after how many files memory runs out at this rate, on this device and on others. It
// assumes that each file takes as much above its idle level as the one that took the most.
func (j *Judge) runsOut(l *lane, w *worstProcess, end *idle) string {
	work := int64(0)
	for i := range w.of.files {
		idle := l.idleOf(w.of, i)
		work = max(work, idle.highest-idle.size.Bytes)
	}
	slope := *w.finding.Measured
	files := func(total int64) string {
		if n := int64(float64(total-end.size.Bytes-work) / slope); n > 0 {
			return Grouped(strconv.FormatInt(n, 10))
		}
		return "none"
	}
	for _, f := range slices.Backward(j.tl.Files) {
		if f.Process == w.of.process && len(f.OOMs) > 0 {
			return fmt.Sprintf("memory ran out in %s", fileName(f))
		}
	}
	var parts []string
	if end.total > 0 {
		parts = append(parts, fmt.Sprintf("%s here", files(end.total)))
	}
	for _, card := range cards {
		parts = append(parts, fmt.Sprintf("%s on %d GiB", files(card*record.GiB), card))
	}
	return fmt.Sprintf("files until out of memory, of which each takes %s at its peak: %s",
		record.FormatBytes(work), strings.Join(parts, ", "))
}

// lengthsUnknown warns that longer files cannot be told from a leak where the log has no lengths.
func (j *Judge) lengthsUnknown(w *worstProcess) string {
	for _, n := range w.of.files {
		if j.tl.Files[n].AudioSeconds > 0 {
			return ""
		}
	}
	return "the log has no lengths of files: if they grow longer in the order of the batch, " +
		"it may be that (soak --shuffle tells)"
}
