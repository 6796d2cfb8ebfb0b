package timeline

import "slices"

// done pairs a file's checkpoints: a file with the same ones as the last has the same pairs.
func (b *Builder) finish(f *File) {
	if !b.log.splitKnown {
		return // it may be split again
	}
	if f.sameCheckpoints(&b.lastPaired) {
		f.Stages, f.Cleanups, f.Unpaired = b.lastPaired.Stages, b.lastPaired.Cleanups, b.lastPaired.Unpaired
	} else {
		f.pair()
		b.lastPaired = *f
		if b.Done != nil && len(f.Checkpoints) <= KeptCheckpoints { // else they are not used again
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

// Kept is how many checkpoints stay in the timeline of a [parser.Builder] with Done: enough to show what a file looks like.
const KeptCheckpoints = 1 << 13

// room makes room in a slice that may grow to hundreds of thousands of items. append grows a slice by
// a quarter, so it copies often and leaves more garbage than the slice has bytes.
func grow[T any](s []T) []T {
	if len(s) == cap(s) {
		return slices.Grow(s, max(1, len(s)))
	}
	return s
}

// alike says whether two files have the same checkpoints in the same order.
func (f *File) sameCheckpoints(other *File) bool {
	if len(f.Checkpoints) != len(other.Checkpoints) {
		return false
	}
	for i := range f.Checkpoints {
		if a, b := &f.Checkpoints[i], &other.Checkpoints[i]; a.Name != b.Name || a.Lane != b.Lane || a.Sampled != b.Sampled {
			return false
		}
	}
	return true
}
