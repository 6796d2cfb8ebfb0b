package html

import (
	"fmt"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/wording"
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

// The least that makes a request stand out.
const (
	usualFiles = 3   // files in which the stage did not fail
	standsOut  = 1.5 // times the usual
)

// unusual compares a failed request with what the stage takes in the other files. If the request is
// much larger, the file is the first suspect, not the size of the card. Otherwise, unusual returns
// "".
func (e *encoder) unusual(f *check.Finding) string {
	if f.Check != check.OutOfMemory || f.Stage == "" || f.At == nil {
		return ""
	}
	file := e.fileOf(f, e.trackOf(f))
	if file < 0 {
		return ""
	}
	oom := oomAt(e.all[file], f.At.Line)
	if oom == nil || !oom.HasRequested {
		return ""
	}
	t := e.of.byPlace[place{oom.Pos.Path, oom.Lane}]
	if t == nil {
		return ""
	}
	taken := e.of.taken(t, f.Stage, e.all[file])
	if len(taken) < usualFiles {
		return ""
	}
	usual := taken[len(taken)/2]
	times := float64(oom.Requested.Bytes) / float64(usual)
	name := fileLabel(e.all[file].Index, e.all[file].Path)
	if usual <= 0 || times < standsOut || name == "" {
		return ""
	}
	return fmt.Sprintf("Look at %s first: its request of %s is %.1f times what %s takes in the other "+
		"%s (%s, the median)", name, oom.Requested, times, f.Stage, wording.Plural(len(taken), "file"),
		record.FormatBytes(usual))
}

// oomAt returns the failed allocation at a line, or nil.
func oomAt(f *timeline.File, line int) *record.OutOfMemory {
	i := slices.IndexFunc(f.OOMs, func(o record.OutOfMemory) bool { return o.Pos.Line == line })
	if i < 0 {
		return nil
	}
	return &f.OOMs[i]
}

// taken returns how much memory a stage takes in each file but one, in ascending order: the highest
// allocated level in the stage minus that at its first checkpoint.
func (c *Collector) taken(t *track, stage string, but *timeline.File) (all []int64) {
	number, known := c.names.number[stage]
	if !known {
		return nil
	}
	allocated := t.values[record.Allocated]
	var file *timeline.File
	for i, p := range t.points {
		if p.stage != number || p.file == but || i >= len(allocated) || allocated[i] == missing {
			continue
		}
		if p.file != file {
			file = p.file
			all = append(all, 0)
			first := allocated[i]
			for k := i; k < len(t.points) && t.points[k].file == file; k++ {
				if t.points[k].stage == number && k < len(allocated) && allocated[k] != missing {
					all[len(all)-1] = max(all[len(all)-1], allocated[k]-first)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}
