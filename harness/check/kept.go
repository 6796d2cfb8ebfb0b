package check

import (
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// kept is the memory of a process that a failed cleanup left and that is still allocated. Later
// cleanups are not blamed for it.
type kept struct {
	// level is the lowest level since the cleanup failed; 0 bytes if none did.
	level record.Size
	of    record.Quantity
	// next is the index, in the current file, of the first checkpoint that level does not include.
	next int
}

// failed notes that a cleanup or a stage failed whose After has this index.
func (k *kept) failed(l *lane, f *timeline.File, after int) {
	if size, ok := l.get(&f.Checkpoints[after]); ok {
		*k = kept{level: size, of: l.level, next: after + 1}
	}
}

// before returns the level that failed cleanups left, as it is just before the checkpoint with this
// index. It is 0 bytes if no cleanup failed.
func (k *kept) before(l *lane, f *timeline.File, at int) record.Size {
	for ; k.level.Bytes > 0 && k.next < at; k.next++ {
		if c := &f.Checkpoints[k.next]; c.Lane == l.id {
			k.lower(c)
		}
	}
	if k.of != l.level {
		return record.Size{}
	}
	return k.level
}

// lower lowers the level to a reading.
func (k *kept) lower(c *record.Checkpoint) {
	if size, ok := c.Get(k.of); ok && size.Bytes < k.level.Bytes {
		k.level = size
	}
}

// endKept lowers what failed cleanups left to the readings in the rest of a file.
func (j *Judge) endKept(f *timeline.File) {
	if !j.anyKept {
		return
	}
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		if k := &j.byLane[c.Lane].kept; i >= k.next {
			k.lower(c)
		}
	}
	for i := range f.Checkpoints {
		j.byLane[f.Checkpoints[i].Lane].kept.next = 0
	}
}
