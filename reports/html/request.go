package html

import (
	"slices"

	"vramsoak/parser/record"
)

// inUse returns how much memory was in use when an allocation failed, as far as its message shows
// it. It returns 0 if the message does not show it.
func inUse(oom *record.OutOfMemory) int64 {
	most := max(oom.Bytes(record.Used), oom.Bytes(record.Allocated))
	if oom.Has(record.Total) && oom.Has(record.Free) {
		most = max(most, oom.Bytes(record.Total)-oom.Bytes(record.Free))
	}
	return most
}

// levelBefore returns the track of a failed allocation and the memory that was in use before it. If
// the message does not show that, it returns the allocated memory at the last checkpoint before it.
// known is false if the page has no such checkpoint.
func (e *encoder) levelBefore(oom *record.OutOfMemory) (k int, level int64, known bool) {
	k = slices.Index(e.of.tracks, e.of.byPlace[place{oom.Pos.Path, oom.Lane}])
	if k < 0 {
		return k, 0, false
	}
	if level = inUse(oom); level > 0 {
		return k, level, true
	}
	t := e.of.tracks[k]
	for i := range t.points {
		if t.points[i].line > oom.Pos.Line {
			break
		}
		if c := t.values[record.Allocated]; i < len(c) && c[i] != missing {
			level, known = c[i], true
		}
	}
	return k, level, known
}
