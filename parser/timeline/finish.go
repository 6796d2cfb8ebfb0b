package timeline

import "slices"

// finish pairs a file's checkpoints. If they are the same as in the last file, it reuses the pairs
// of that file. With Done it then hands the file over.
func (b *Builder) finish(f *File) {
	if !b.log.splitKnown {
		return // the file may yet be split
	}
	if f.sameCheckpoints(&b.lastPaired) {
		f.Stages, f.Cleanups, f.Unpaired = b.lastPaired.Stages, b.lastPaired.Cleanups,
			b.lastPaired.Unpaired
	} else {
		f.pair()
		b.lastPaired = *f
		if b.Done != nil && len(f.Checkpoints) <= KeptCheckpoints { // else the array is not reused
			b.lastPaired.Checkpoints = slices.Clone(f.Checkpoints)
		}
	}
	if b.Done == nil {
		return
	}
	b.Done(f)
	if b.keptCheckpoints += len(f.Checkpoints); b.keptCheckpoints > KeptCheckpoints {
		if len(f.Checkpoints) <= KeptCheckpoints || &f.Checkpoints[0] != &b.lastPaired.Checkpoints[0] {
			b.spareCheckpoints = f.Checkpoints[:0]
		}
		f.Checkpoints, f.Stages, f.Cleanups, f.Unpaired = nil, nil, nil, nil
	}
}

// KeptCheckpoints is how many checkpoints stay in the timeline of a [Builder] with Done: enough to
// show a typical file.
const KeptCheckpoints = 1 << 13

// grow returns a slice with room for another item, twice as large if it was full. append grows a
// large slice by a quarter. For hundreds of thousands of items it would copy often, and leave more
// garbage than the slice has bytes.
func grow[T any](s []T) []T {
	if len(s) == cap(s) {
		return slices.Grow(s, max(1, len(s)))
	}
	return s
}

// sameCheckpoints reports whether two files have the same checkpoints in the same order.
func (f *File) sameCheckpoints(other *File) bool {
	if len(f.Checkpoints) != len(other.Checkpoints) {
		return false
	}
	for i := range f.Checkpoints {
		if a, b := &f.Checkpoints[i], &other.Checkpoints[i]; a.Name != b.Name || a.Lane != b.Lane ||
			a.Sampled != b.Sampled {
			return false
		}
	}
	return true
}
