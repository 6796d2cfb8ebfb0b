package timeline

import (
	"cmp"
	"slices"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/segments"
)

// besideFailure is how many of the pipeline's lines may be between a failure and what belongs to it.
const besideFailure = 64

// tracebackGap is how many lines may be between a message and the traceback that repeats it.
const tracebackGap = 8

// A lastFailure is the last allocation that failed in one process. It is kept until the log shows that
// the process did something else.
type lastFailure struct {
	file    *File
	records []int // of the file's OOMs: a failure may be printed several times
	own     int   // lines of the harness before it
}

// justFailed is the file that ended badly and is followed by nothing yet, nil where there is none: programs print the error
// of a file once more when they are done with it.
func (b *Builder) justFailed() *File {
	if b.file != nil || b.stretch != nil || len(b.tl.Files) == b.log.files {
		return nil
	}
	f := b.tl.Files[len(b.tl.Files)-1]
	if f.Process != b.process || f.Status == record.StatusOK || f.Status == record.StatusUnknown {
		return nil
	}
	return f
}

// failed adds a failure to the file in which it happened.
func (b *Builder) failed(r record.OutOfMemory) {
	f := b.justFailed()
	if f == nil {
		f = b.place(&r.Header)
		f.touch(&r.Header)
	}
	b.heldBefore(&r)
	this := lastFailure{file: f, records: []int{len(f.OOMs)}, own: b.log.own}
	r.Fallback = r.Named
	if last, ok := b.log.failing[r.Speaker]; ok && last.file == f {
		if shown := last.shown(); isSaidAgain(shown, &r) && (r.Traceback == 0 || !last.hasTraceback()) {
			this.records = append(last.records, len(f.OOMs))
			r.Fallback = r.Named || shown.Fallback
			if r.Named {
				last.pardon()
			}
		}
	}
	f.OOMs = append(f.OOMs, r)
	b.tl.Failures++
	if b.log.failing == nil {
		b.log.failing = map[string]lastFailure{}
	}
	if len(b.log.failing) >= failingMax {
		b.forget(r.Pos.Line)
	}
	b.log.failing[r.Speaker] = this
}

// failingMax bounds the processes whose last failures are kept: a log may name any number.
const failingMax = 4 * besideFailure

// forget drops the failures that no fallback at this line, or a later one, can belong to.
func (b *Builder) forget(line int) {
	for speaker, last := range b.log.failing {
		if b.since(last, line) > besideFailure {
			delete(b.log.failing, speaker)
		}
	}
	if len(b.log.failing) >= failingMax { // several in one line
		clear(b.log.failing)
	}
}

// since is how many of the pipeline's lines are between a failure and a line.
func (b *Builder) since(last lastFailure, line int) int {
	return line - last.shown().Pos.Line - (b.log.own - last.own)
}

// isSaidAgain reports whether the next message repeats this one: the same words, at the end of the
// traceback below it, or after words that say so. A traceback may also come first:
//
//	❌ Batch processing failed, falling back to sequential: CUDA error: out of memory
//	⚠️  CUDA error detected: CUDA error: out of memory
//
// The same words alone may come from a second attempt that failed as well. A program's own words on
// a failure stand beside the message: "CUDA OOM during voice enrollment".
func isSaidAgain(r *record.OutOfMemory, next *record.OutOfMemory) bool {
	gap := next.Pos.Line - next.Traceback - r.Pos.Line // 1 for the next line
	repeats := (next.Traceback > 0 || next.Again || r.Traceback > 0 && next.Named) && r.Text == next.Text
	beside := !r.Fallback && !next.Named && isAnnounced(r) != isAnnounced(next)
	return (repeats || beside) && gap > 0 && gap <= tracebackGap
}

// isAnnounced reports whether these are a program's own words on a failure, and nothing on what it does.
func isAnnounced(r *record.OutOfMemory) bool {
	return !r.Named && !r.HasRequested && strings.HasPrefix(r.Text, "CUDA OOM ")
}

// fellBack notes that the pipeline said how it goes on with less. A line that names a failure pardons
// that one alone: see Named. Any other pardons the failure that it directly follows, which is the last
// one of the same process.
func (b *Builder) fellBack(r *record.Event) {
	last, ok := b.log.failing[r.Speaker]
	if !ok || r.Named || last.file != cmp.Or(b.file, b.stretch) {
		return
	}
	if b.since(last, r.Pos.Line) <= besideFailure {
		last.pardon()
	}
}

// shown is the last message of the failure.
func (l lastFailure) shown() *record.OutOfMemory {
	return &l.file.OOMs[l.records[len(l.records)-1]]
}

// hasTraceback reports whether one of its messages is the end of a traceback: the next one that is, is
// of another failure.
func (l lastFailure) hasTraceback() bool {
	return slices.ContainsFunc(l.records, func(i int) bool { return l.file.OOMs[i].Traceback > 0 })
}

// pardon marks every message of the failure as followed by a fallback. Those of one failure are all
// marked, or none is.
func (l lastFailure) pardon() {
	if l.shown().Fallback {
		return
	}
	for _, i := range l.records {
		l.file.OOMs[i].Fallback = true
	}
}

// workedOn notes that a process did something else since its last failure: no fallback follows that
// failure directly any more. vramlog prints "(failed)" where an error leaves a stage.
func (b *Builder) workedOn(c *record.Checkpoint) {
	if len(b.log.failing) == 0 || c.Sampled || strings.HasSuffix(c.Name, "(failed)") {
		return
	}
	for speaker, last := range b.log.failing {
		if last.shown().Lane.Rank == c.Lane.Rank {
			delete(b.log.failing, speaker)
		}
	}
}

// failedWith gives a failure what the allocator held at it: to the last one, or to the one whose message follows.
func (b *Builder) failedWith(rec record.Record, _ error) bool {
	m, ok := rec.(record.SegmentMap)
	if !ok || m.Requested == 0 {
		return true
	}
	sums := m.Sums()
	if f := cmp.Or(b.file, b.stretch, b.justFailed()); f != nil && len(f.OOMs) > 0 {
		if last := &f.OOMs[len(f.OOMs)-1]; last.Held == nil && isOf(last, &m) {
			last.Held = &sums
			return true
		}
	}
	m.Segments = nil
	b.log.before, b.log.held = &m, sums
	return true
}

// heldBefore gives a failure the map that came shortly before its message.
func (b *Builder) heldBefore(r *record.OutOfMemory) {
	if m := b.log.before; m != nil && isOf(r, m) {
		sums := b.log.held
		r.Held = &sums
	}
	b.log.before = nil
}

// isOf says that a map may be that of the failure: it stands beside the message, and as much was asked for, as far as the
// message has digits.
func isOf(r *record.OutOfMemory, m *record.SegmentMap) bool {
	apart := max(r.Pos.Line-m.Pos.Line, m.Pos.Line-r.Pos.Line)
	off := max(r.Requested.Bytes-m.Requested, m.Requested-r.Requested.Bytes)
	return apart < besideFailure && (!r.HasRequested || off <= max(segments.BlockGrain, 2*r.Requested.Resolution))
}
