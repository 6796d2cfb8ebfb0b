package timeline

import "slices"

// finish pairs the Before and After checkpoints of a file that has ended. If the previous file had
// checkpoints with the same names, finish reuses that file's pairs. If Done is set, finish then
// calls Done. It drops the checkpoints once the timeline has [KeptCheckpoints].
func (b *Builder) finish(f *File) {
	if !b.log.splitKnown {
		return // finishSplit may still split the file
	}
	f.sumEvents()
	if b.lastPaired != nil && f.sameCheckpoints(b.lastPaired) {
		f.Stages, f.Cleanups, f.Unpaired = b.lastPaired.Stages, b.lastPaired.Cleanups,
			b.lastPaired.Unpaired
	} else {
		f.pair()
		if b.lastPaired == nil {
			b.lastPaired = &File{}
		}
		*b.lastPaired = *f
		if b.Done != nil && len(f.Checkpoints) <= KeptCheckpoints { // the array may be reused
			b.lastPaired.Checkpoints = slices.Clone(f.Checkpoints)
		}
	}
	if f.Held != nil {
		for i := range f.Held.At {
			if at := &f.Held.At[i]; at.Checkpoint+1 < len(f.Checkpoints) {
				f.Held.Early.Lower(at.Comparable())
			}
		}
	}
	if s := &b.main().log.streams; len(s.all) > 0 {
		s.ended = append(s.ended, f)
	}
	if b.Done == nil {
		return
	}
	b.Done(f)
	all := b.main()
	if all.keptCheckpoints += len(f.Checkpoints); all.keptCheckpoints > KeptCheckpoints {
		if len(f.Checkpoints) <= KeptCheckpoints || &f.Checkpoints[0] != &b.lastPaired.Checkpoints[0] {
			all.spareCheckpoints = f.Checkpoints[:0]
		}
		f.Checkpoints, f.Stages, f.Cleanups, f.Unpaired = nil, nil, nil, nil
		if f.Events != nil {
			f.Events.Printed = nil
		}
		if f.Held != nil {
			f.Held.At = nil
		}
	}
}

// KeptCheckpoints is how many checkpoints stay in the timeline if [Builder].Done is set. They are
// enough to show a typical file.
const KeptCheckpoints = 1 << 13

// grow returns the slice s with room for at least one more item. If s is full, grow doubles its
// room. The built-in function append grows a large slice by only a quarter. With hundreds of
// thousands of items, it would copy often and leave much garbage.
func grow[T any](s []T) []T {
	if len(s) == cap(s) {
		return slices.Grow(s, max(1, len(s)))
	}
	return s
}

// sameCheckpoints reports whether two files have checkpoints with the same names and lanes, in the
// same order.
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
