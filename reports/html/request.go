package html

import (
	"slices"

	"vramsoak/parser/record"
)

// levelBefore returns the track of a failed allocation and the allocated memory at the last
// checkpoint before it. known is false if the page has no such checkpoint.
func (e *encoder) levelBefore(oom *record.OutOfMemory) (k int, level int64, known bool) {
	k = slices.Index(e.of.tracks, e.of.byPlace[place{oom.Pos.Path, oom.Lane}])
	if k < 0 {
		return k, 0, false
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
