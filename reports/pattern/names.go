package pattern

import (
	"slices"

	"vramsoak/parser/timeline"
)

// A presence counts the files that have a checkpoint of a name.
type presence struct {
	files  map[string]int
	last   map[string]*timeline.File
	most   int
	beside map[string]bool // names that stand outside of files: of them the files say nothing
}

func newPresence(outside []string) *presence {
	p := &presence{files: map[string]int{}, last: map[string]*timeline.File{}, beside: map[string]bool{}}
	for _, name := range outside {
		p.beside[name] = true
	}
	return p
}

func (p *presence) add(f *timeline.File, name string) {
	if p.last[name] != f {
		p.last[name] = f
		p.files[name]++
		p.most = max(p.most, p.files[name])
	}
}

// rare says that fewer than half of the files have the checkpoint: a typical file has not, such as "After Transcription (failed)".
// Where that holds of every name, the log numbers its checkpoints, and none is rarer than the others.
func (p *presence) rare(name string, files int) bool {
	return !p.beside[name] && p.most*2 >= files && p.files[name]*2 < files
}

// searched is how many names are kept in the order of the files. A log with more of them numbers its checkpoints, and
// looking each up would take forever.
const searched = 1000

// mergeNames adds the names that the file has and order lacks, each after the name it follows in the file.
func mergeNames(order []string, f *timeline.File, p Pattern, known map[string][]int64) []string {
	at := -1
	for i := range f.Checkpoints {
		c := &f.Checkpoints[i]
		if _, ok := c.Get(p.quantity); !ok || c.Lane != p.lane {
			continue
		}
		if _, ok := known[c.Name]; ok {
			if j := slices.Index(order[:min(len(order), searched)], c.Name); j >= 0 {
				at = j
			}
			continue
		}
		if at < 0 || len(order) > searched {
			at = len(order) - 1
		}
		at++
		order = slices.Insert(order, at, c.Name)
		known[c.Name] = nil
	}
	return order
}
