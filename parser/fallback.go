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

// failedWith gives the last failure what the allocator held at it.
func (b *Builder) failedWith(rec Record, _ error) bool {
	m, ok := rec.(SegmentMap)
	if !ok || m.Requested == 0 {
		return true
	}
	f := cmp.Or(b.file, b.stretch, b.justFailed())
	if f == nil || len(f.OOMs) == 0 {
		return true
	}
	if last := &f.OOMs[len(f.OOMs)-1]; last.Held == nil {
		sums := m.Sums()
		last.Held = &sums
	}
	return true
}
