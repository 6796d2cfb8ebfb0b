package pattern

import (
	"slices"

	"vramsoak/parser/timeline"
)

// A presence counts the files in which each checkpoint name occurs.
type presence struct {
	files   map[string]int
	last    map[string]*timeline.File
	most    int             // the largest count in files
	outside map[string]bool // names that also occur between files
}

func newPresence(outside []string) *presence {
	p := &presence{
		files: map[string]int{}, last: map[string]*timeline.File{},
		outside: map[string]bool{},
	}
	for _, name := range outside {
		p.outside[name] = true
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

// rare reports whether fewer than half of the files have the checkpoint, such as "After
// Transcription (failed)". If every name is in fewer than half of the files, the log puts numbers
// into its names, and no name counts as rare.
func (p *presence) rare(name string, files int) bool {
	return !p.outside[name] && p.most*2 >= files && p.files[name]*2 < files
}

// searched is how many names are sorted into the order. A log with more names puts numbers into
// them, and sorting all of them would take too long.
const searched = 1000

// mergeNames inserts the names of this file that the order lacks. Each goes after the name that
// precedes it in the file.
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
