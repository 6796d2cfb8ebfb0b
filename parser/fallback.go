package parser

import (
	"cmp"
	"slices"
)

// justFailed is the file that ended badly and is followed by nothing yet, nil where there is none: programs print the error
// of a file once more when they are done with it.
func (b *Builder) justFailed() *File {
	if b.file != nil || b.stretch != nil || len(b.tl.Files) == b.log.files {
		return nil
	}
	f := b.tl.Files[len(b.tl.Files)-1]
	if f.Process != b.process || f.Status == StatusOK || f.Status == StatusUnknown {
		return nil
	}
	return f
}

// fellBack notes that the pipeline went on with less after what failed, on this line or before.
func (b *Builder) fellBack(at Position) {
	b.log.fallback = at.Line
	f := cmp.Or(b.file, b.stretch)
	if f == nil {
		return
	}
	for i := range slices.Backward(f.OOMs) {
		if f.OOMs[i].Fallback {
			break
		}
		f.OOMs[i].Fallback = true
	}
}

// saidAgain says that the message is that of the last failure, printed once more: with its traceback, or by the program's
// next layer. What was done about the one was done about the other.
func (f *File) saidAgain(r *OutOfMemory) bool {
	if len(f.OOMs) == 0 {
		return false
	}
	last := &f.OOMs[len(f.OOMs)-1]
	return last.Fallback && last.Text == r.Text && r.Pos.Line-last.Pos.Line < 64
}

// failedWith gives a failure what the allocator held at it: to the last one, or to the one whose message follows.
func (b *Builder) failedWith(rec Record, _ error) bool {
	m, ok := rec.(SegmentMap)
	if !ok || m.Requested == 0 {
		return true
	}
	sums := m.Sums()
	if f := cmp.Or(b.file, b.stretch, b.justFailed()); f != nil && len(f.OOMs) > 0 {
		if last := &f.OOMs[len(f.OOMs)-1]; last.Held == nil && last.isOf(&m) {
			last.Held = &sums
			return true
		}
	}
	m.Segments = nil
	b.log.before, b.log.held = &m, sums
	return true
}

// heldBefore gives a failure the map that came shortly before its message.
func (b *Builder) heldBefore(r *OutOfMemory) {
	if m := b.log.before; m != nil && r.isOf(m) {
		sums := b.log.held
		r.Held = &sums
	}
	b.log.before = nil
}

// isOf says that a map may be that of the failure: it stands beside the message, and as much was asked for, as far as the
// message has digits.
func (r *OutOfMemory) isOf(m *SegmentMap) bool {
	near := max(r.Pos.Line-m.Pos.Line, m.Pos.Line-r.Pos.Line) < 64
	off := max(r.Requested.Bytes-m.Requested, m.Requested-r.Requested.Bytes)
	return near && (!r.HasRequested || off <= max(blockGrain, 2*r.Requested.Resolution))
}
