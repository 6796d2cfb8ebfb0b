package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"vramsoak/parser/record"
)

// leak judges the growth of the idle level (the level at a file's last checkpoint) over the files of each process, and
// reports the worst: see package shape for how growth is told from noise, warm-up, steps and clearing.
func (j *Judge) leak(l *ledger) {
	usual := j.idleLevels(l)
	d := drift{
		check: Leak, subject: j.subject(IdleLevel, l.lane), unit: Bytes, limit: float64(j.policy.Leak.MaxGrowth.Bytes),
		missing: "no file has an idle level, which is the last checkpoint that it has a reading at",
	}
	if !l.named {
		d.missing = `every reading is a sample, and none tells what a file leaves behind; print one at the end of each, as in ` +
			`"[GPU Memory] After File: Allocated: 0.18GB"`
	}
	w := j.worst(&d, usual)
	f, reason, ok := j.readingsLeak(l, usual)
	if ok {
		j.add(f)
	}
	if w.of == nil {
		if reason != "" {
			w.finding.Message += "; " + reason
		}
		if !ok {
			j.add(w.finding)
		}
		return
	}
	end := w.of.of(l, len(w.of.files)-1)
	shown := end
	if w.finding.Verdict == Fail {
		shown = w.of.of(l, w.from())
		var enters string
		enters, w.finding.Stage = j.entersAt(l, w)
		for _, more := range []string{enters, j.runsOut(l, w, end), j.lengthsUnknown(w)} {
			if more != "" {
				w.finding.Message += "; " + more
			}
		}
	}
	w.finding.At = &record.Position{Path: j.file(shown.file).Pos.Path, Line: shown.line}
	if !l.named {
		w.finding.Message += "; a file's idle level here is the lowest of its samples"
	}
	j.add(w.finding)
}

// of is the idle level that a value of the process is.
func (p *processValues) of(l *ledger, at int) *idle {
	i, _ := slices.BinarySearchFunc(l.idles, p.files[at], func(i idle, file int32) int { return int(i.file.n - file) })
	return &l.idles[i]
}

// lengthsUnknown warns of what cannot be allowed for.
func (j *Judge) lengthsUnknown(w worstProcess) string {
	for _, n := range w.of.files {
		if j.tl.Files[n].AudioSeconds > 0 {
			return ""
		}
	}
	return "the log has no lengths of files: if they grow longer in the order of the batch, it may be that (soak --shuffle tells)"
}

// cards are sizes of GPU memory that people have, in GiB.
var cards = []int64{8, 12, 16, 24}

// runsOut says after how many files memory is gone at this rate, on this device and on others. A file takes what the
// highest one took, above what lay idle before it.
func (j *Judge) runsOut(l *ledger, w worstProcess, end *idle) string {
	need := int64(0)
	level := end.size.Bytes
	for i := range w.of.files {
		need = max(need, w.of.of(l, i).peak-w.of.of(l, i).size.Bytes)
	}
	slope := *w.finding.Measured
	files := func(total int64) string {
		if n := int64(float64(total-level-need) / slope); n > 0 {
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
	return fmt.Sprintf("files until out of memory, of which each takes %s at its peak: %s", record.FormatBytes(need), strings.Join(parts, ", "))
}

// entersAt names the checkpoints between which the level of a file rises for good: from there on, to the end of the file, it is
// never again as low as the file before left it. Where it is higher still at first, because the file is worked on, it names
// the checkpoint too at which no more is left than in the end. stage is the innermost stage or cleanup there.
func (j *Judge) entersAt(l *ledger, w worstProcess) (enters, stage string) {
	from := w.result.From
	files, before := w.of.files[from:], w.of.values[from:]
	slope := *w.finding.Measured
	var above []float64 // of each point, above the idle level of the file before, the mean over the files
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
		return "", "" // not in the checkpoints that files have in common
	}
	after := "the end of the file before"
	if first > 0 {
		after = names[first-1]
	}
	enters = fmt.Sprintf("it is taken between %s and %s", after, names[first])
	stage = openStage(names[:first])
	least := slices.Min(above[first:])
	for i := first; ; i++ {
		switch {
		case above[i] > least+slope/2:
		case i == first:
			return enters, stage
		default:
			return fmt.Sprintf("%s, and still held at %s", enters, names[i]), stage
		}
	}
}

// openStage is the innermost stage or cleanup that is open behind the checkpoints of these names; "" where none is.
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

// An idle is one file's idle level.
type idle struct {
	file fileRef
	of   record.Quantity
	// sampled says that the file has samples only, and this is the lowest: what lies idle is no more.
	sampled bool
	line    int    // of the checkpoint
	name    string // its, without its numbers
	size    record.Size
	peak    int64 // largest level in the file, bytes
	total   int64
}

// idle notes the file's idle level: that of its last checkpoint, else the lowest sample.
func (j *Judge) idle(l *ledger, ref fileRef) {
	c := l.last
	if c == nil {
		c = l.least
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
			file: ref, of: l.level, line: c.Pos.Line, name: name, size: size, peak: l.most.Bytes,
			total: c.Bytes(record.Total), sampled: c.Sampled,
		})
	}
}

// idleLevels are those of each process, in the order of the log. A file that did not end well, or ends with another
// checkpoint than most, says nothing about what a good one leaves behind.
func (j *Judge) idleLevels(l *ledger) []processValues {
	type ending struct {
		process int
		name    string
		of      record.Quantity
	}
	// The levels are filtered in their place: there may be many.
	all := slices.DeleteFunc(l.idles, func(i idle) bool { return !j.sound(j.file(i.file)) || i.sampled && l.named })
	count := map[ending]int{}
	usual := map[int]ending{}
	of := func(i idle) ending { return ending{j.file(i.file).Process, i.name, i.of} }
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
	c := l.idleColumn()
	return j.processes(&c)
}
