package timeline

import (
	"cmp"
	"slices"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/segments"
)

// failureRange is the most lines of the pipeline between a failed allocation and a line that can
// belong to it, such as a fallback or a segment map.
const failureRange = 64

// tracebackGap is the most lines between an error's message and the traceback that repeats the
// message.
const tracebackGap = 8

// A lastFailure is the last failed allocation of a process. The builder keeps it until the log
// shows that the process went on.
type lastFailure struct {
	file         *File
	records      []int // indices in file.OOMs; a failure may be printed several times
	harnessLines int   // lines of the harness in the log before the failure
}

// failedFile returns the last file, if it did not end well and no other work followed it.
// Otherwise it returns nil. Many programs print the error of a file once more after the file's
// end, and that error belongs to this file.
func (b *Builder) failedFile() *File {
	if b.file != nil || b.outside != nil || len(b.tl.Files) == b.log.files {
		return nil
	}
	f := b.tl.Files[len(b.tl.Files)-1]
	if f.Process != b.process || f.Status == record.StatusOK || f.Status == record.StatusUnknown {
		return nil
	}
	return f
}

// addFailure adds a failed allocation to the file during which it happened.
func (b *Builder) addFailure(r record.OutOfMemory) {
	f := b.failedFile()
	if f == nil {
		f = b.currentFile(&r.Header)
		f.extend(&r.Header)
	}
	b.attachEarlyMap(&r)
	this := lastFailure{file: f, records: []int{len(f.OOMs)}, harnessLines: b.log.harnessLines}
	r.Fallback = r.NamesFallback
	if last, ok := b.log.failing[r.Speaker]; ok && last.file == f {
		if shown := last.lastMessage(); repeatsFailure(shown, &r) &&
			(r.Traceback == 0 || !last.hasTraceback()) {
			this.records = append(last.records, len(f.OOMs))
			r.Fallback = r.NamesFallback || shown.Fallback
			if r.NamesFallback {
				last.pardon()
			}
		}
	}
	f.OOMs = append(f.OOMs, r)
	b.tl.Failures++
	if b.log.failing == nil {
		b.log.failing = map[string]lastFailure{}
	}
	if len(b.log.failing) >= maxFailing {
		b.forget(r.Pos.Line)
	}
	b.log.failing[r.Speaker] = this
}

// maxFailing is the most processes whose last failures are kept. A log may name any number of
// processes.
const maxFailing = 4 * failureRange

// forget drops the failures that are more than failureRange lines above the given line. A
// fallback on this line cannot belong to them.
func (b *Builder) forget(line int) {
	for speaker, last := range b.log.failing {
		if b.linesSince(last, line) > failureRange {
			delete(b.log.failing, speaker)
		}
	}
	if len(b.log.failing) >= maxFailing { // one line, or a few lines, name too many processes
		clear(b.log.failing)
	}
}

// linesSince returns the number of the pipeline's lines from the last message of a failure to the
// given line.
func (b *Builder) linesSince(last lastFailure, line int) int {
	return line - last.lastMessage().Pos.Line - (b.log.harnessLines - last.harnessLines)
}

// repeatsFailure reports whether the message next repeats the message r, so that both are one
// failure. If both have the same text, next repeats r in three cases: next ends a traceback, next
// says that it repeats an error, or r ends a traceback and next names a fallback:
//
//	❌ Batch processing failed, falling back to sequential: CUDA error: out of memory
//	⚠️  CUDA error detected: CUDA error: out of memory
//
// The same text alone does not suffice, because a second attempt may have failed in the same way.
// A program may also announce a failure in its own words, "CUDA OOM during voice enrollment",
// just before or after the allocator's message. These two messages are one failure too, also if the
// second one names the fallback and the first one is that of a batch ([record.OutOfMemory.Caught]).
func repeatsFailure(r *record.OutOfMemory, next *record.OutOfMemory) bool {
	gap := next.Pos.Line - next.Traceback - r.Pos.Line // 1 for the next line
	repeats := (next.Traceback > 0 || next.Repeated || r.Traceback > 0 && next.NamesFallback) &&
		r.Text == next.Text
	announced := !r.Fallback && !next.NamesFallback && isAnnounced(r) != isAnnounced(next)
	caught := r.Caught && !r.Fallback && next.NamesFallback && strings.HasPrefix(next.Text, ownWords)
	return (repeats || announced || caught) && gap > 0 && gap <= tracebackGap
}

// isAnnounced reports whether the message announces a failure in the program's own words, and
// does not name a fallback.
func isAnnounced(r *record.OutOfMemory) bool {
	return !r.NamesFallback && !r.HasRequested && strings.HasPrefix(r.Text, ownWords)
}

// ownWords begins the message of a failed allocation in a program's own words.
const ownWords = "CUDA OOM "

// noteFallback sets Fallback in the failure to which the fallback r belongs. If the fallback's
// line also names the failure, addFailure has done this already, see NamesFailure. Otherwise the
// fallback belongs to the last failure of the same process, if that is at most failureRange lines
// away.
func (b *Builder) noteFallback(r *record.Event) {
	last, ok := b.log.failing[r.Speaker]
	if !ok || r.NamesFailure || last.file != cmp.Or(b.file, b.outside) {
		return
	}
	if b.linesSince(last, r.Pos.Line) <= failureRange {
		last.pardon()
	}
}

// lastMessage returns the last message that was printed about the failure.
func (l lastFailure) lastMessage() *record.OutOfMemory {
	return &l.file.OOMs[l.records[len(l.records)-1]]
}

// hasTraceback reports whether one of the failure's messages ends a traceback. The next traceback
// is then of another failure.
func (l lastFailure) hasTraceback() bool {
	return slices.ContainsFunc(l.records, func(i int) bool { return l.file.OOMs[i].Traceback > 0 })
}

// pardon sets Fallback in every message of the failure.
func (l lastFailure) pardon() {
	if l.lastMessage().Fallback {
		return
	}
	for _, i := range l.records {
		l.file.OOMs[i].Fallback = true
	}
}

// noteWork drops the last failure of the process that reached the checkpoint c, because a later
// fallback does not belong to that failure. A checkpoint whose name ends with "(failed)" does not
// count. The library vramlog logs such a checkpoint when an error ends a stage.
func (b *Builder) noteWork(c *record.Checkpoint) {
	if len(b.log.failing) == 0 || c.Sampled || strings.HasSuffix(c.Name, "(failed)") {
		return
	}
	for speaker, last := range b.log.failing {
		if last.lastMessage().Lane.Rank == c.Lane.Rank {
			delete(b.log.failing, speaker)
		}
	}
}

// addFailureMap adds a segment map that was printed at a failed allocation. If the map fits the
// last failure, addFailureMap sets the failure's Held. Otherwise it keeps the map for the next
// failure. It always returns true.
func (b *Builder) addFailureMap(rec record.Record, _ error) bool {
	m, ok := rec.(record.SegmentMap)
	if !ok || m.Requested == 0 {
		return true
	}
	sums := m.Sums()
	if f := cmp.Or(b.file, b.outside, b.failedFile()); f != nil && len(f.OOMs) > 0 {
		if last := &f.OOMs[len(f.OOMs)-1]; last.Held == nil && mapBelongsTo(last, &m) {
			last.Held = &sums
			return true
		}
	}
	m.Segments = nil
	b.log.earlyMap, b.log.earlySums = &m, sums
	return true
}

// attachEarlyMap sets Held of the failure r, if the segment map of r came shortly before the
// message.
func (b *Builder) attachEarlyMap(r *record.OutOfMemory) {
	if m := b.log.earlyMap; m != nil && mapBelongsTo(r, m) {
		sums := b.log.earlySums
		r.Held = &sums
	}
	b.log.earlyMap = nil
}

// mapBelongsTo reports whether a segment map may belong to the failure r. The map must be near
// the message. If the message gives the requested size, the map must give the same size, within
// the precision of the digits in the message.
func mapBelongsTo(r *record.OutOfMemory, m *record.SegmentMap) bool {
	apart := max(r.Pos.Line-m.Pos.Line, m.Pos.Line-r.Pos.Line)
	off := max(r.Requested.Bytes-m.Requested, m.Requested-r.Requested.Bytes)
	return apart < failureRange && (!r.HasRequested ||
		off <= max(segments.BlockGrain, 2*r.Requested.Resolution))
}
