package check

import (
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A keptLevel follows the memory that a failed cleanup or stage left in a file, as long as it is
// allocated. Later cleanups of the file are not blamed for it.
type keptLevel struct {
	level record.Size // the lowest level since the cleanup failed; 0 bytes if none did
	after int         // the index of the After of the cleanup that failed
	next  int         // the index of the first checkpoint that level does not include
}

// failed records the level at the After of a cleanup or stage that failed. The parameter after is
// the index of that checkpoint.
func (k *keptLevel) failed(l *lane, f *timeline.File, after int) {
	if size, ok := l.get(&f.Checkpoints[after]); ok {
		*k = keptLevel{size, after, after + 1}
	}
}

// before returns the level as it is just before the checkpoint with this index. It is 0 bytes if no
// cleanup failed before.
func (k *keptLevel) before(l *lane, f *timeline.File, at int) record.Size {
	if at <= k.after {
		return record.Size{}
	}
	for ; k.level.Bytes > 0 && k.next < at; k.next++ {
		c := &f.Checkpoints[k.next]
		if size, ok := l.get(c); ok && c.Lane == l.id && size.Bytes < k.level.Bytes {
			k.level = size
		}
	}
	return k.level
}
