package compare

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"vramsoak/harness/check"
)

// A pair is the same file in both runs, by its place in each.
type pair struct{ base, new int }

// A pairing says which file of the base is which of the new run. All metrics use it in turn.
type pairing struct {
	partner []int     // for each file of the base the index of the same file in the other run; -1 for none
	values  []float64 // of one metric, by the files of the new run; NaN where there is none
}

// pair finds the files that both runs have, and those that ended well in the base and then failed.
func (c *Comparison) pair(base, now *Baseline) *pairing {
	p := &pairing{make([]int, len(base.Files)), make([]float64, len(now.Files))}
	for i := range p.partner {
		p.partner[i] = -1
	}
	for i := range p.values {
		p.values[i] = math.NaN()
	}
	// What ended well comes first: a file is paired with its failure only if nothing else is left.
	baseAll, newAll := slices.Concat(base.Files, base.Failed), slices.Concat(now.Files, now.Failed)
	common := 0
	paired := make([]bool, len(newAll))
	ended := map[string]bool{} // by the path in the new run: whether it ended well each time in the base
	for _, pair := range pairs(baseAll, newAll) {
		common++
		paired[pair.new] = true
		path := newAll[pair.new].Path
		if well, known := ended[path]; well || !known {
			ended[path] = pair.base < len(base.Files)
		}
		switch failed := pair.new - len(now.Files); {
		case pair.base >= len(base.Files):
		case failed < 0:
			p.partner[pair.base] = pair.new
			c.Files++
		default:
			c.NewlyFailed = append(c.NewlyFailed, now.Failed[failed])
		}
	}
	for i, f := range now.Failed { // a soak in rounds may work on a file more often than the base did
		if !paired[len(now.Files)+i] && f.Path != "" && ended[f.Path] {
			c.NewlyFailed = append(c.NewlyFailed, f)
		}
	}
	slices.SortStableFunc(c.NewlyFailed, func(a, b check.MeasuredFile) int {
		return cmp.Compare(a.Index, b.Index)
	})
	if common == 0 && !nameless(baseAll) && !nameless(newAll) {
		c.NoCommonFile = true
		c.baseName, c.newName = firstName(baseAll), firstName(newAll)
	}
	return p
}

// pairs returns the files that both runs have, in the order of the base: those of the same path, then
// those whose paths end alike and that no other file could be, because a batch may have moved to
// another folder. The second time that a run has a file goes with the second time in the other. Files
// of different known lengths are two files. Files without names go by their place in the batch, if
// both runs have as many.
func pairs(base, now []check.MeasuredFile) []pair {
	if nameless(base) && nameless(now) {
		var all []pair
		if len(base) != len(now) {
			return nil
		}
		baseOrder, newOrder := inBatch(base), inBatch(now)
		for i := range baseOrder {
			if p := (pair{baseOrder[i], newOrder[i]}); alike(base[p.base], now[p.new]) {
				all = append(all, p)
			}
		}
		return all
	}
	partner := make([]int, len(base))
	for i := range partner {
		partner[i] = -1
	}
	taken := make([]bool, len(now))
	basePaths, nowPaths := paths(base), paths(now)
	depths := []int{math.MaxInt} // the whole path, and then less and less of its end
	for depth := deepest; depth > 0; depth-- {
		depths = append(depths, depth)
	}
	for _, depth := range depths {
		there := byTail(nowPaths, depth, func(i int) bool { return taken[i] })
		for tail, here := range byTail(basePaths, depth, func(i int) bool { return partner[i] >= 0 }) {
			other := there[tail]
			if !onePath(base, here) || !onePath(now, other) {
				continue
			}
			for k := range min(len(here), len(other)) {
				if alike(base[here[k]], now[other[k]]) {
					partner[here[k]], taken[other[k]] = other[k], true
				}
			}
		}
	}
	var all []pair
	for i, j := range partner {
		if j >= 0 {
			all = append(all, pair{i, j})
		}
	}
	return all
}

// inBatch returns the places of files, sorted by the files' places in the batch.
func inBatch(files []check.MeasuredFile) []int {
	all := make([]int, len(files))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int {
		return cmp.Compare(files[a].Index, files[b].Index)
	})
	return all
}

func firstName(files []check.MeasuredFile) string {
	for _, f := range files {
		if f.Path != "" {
			return f.Path
		}
	}
	return ""
}

func nameless(files []check.MeasuredFile) bool {
	for _, f := range files {
		if f.Path != "" {
			return false
		}
	}
	return true
}

// alike says that nothing speaks against two files being one: lengths are printed to a hundredth of a second or better.
func alike(a, b check.MeasuredFile) bool {
	return a.AudioSeconds == 0 || b.AudioSeconds == 0 || math.Abs(a.AudioSeconds-b.AudioSeconds) <= 0.01
}

// deepest is how many folders may tell files of the same name apart, where a batch has moved.
const deepest = 16

// paths are the folders and the last name of each file; nil where it has no name.
func paths(files []check.MeasuredFile) [][]string {
	all := make([][]string, len(files))
	for i, f := range files {
		if f.Path != "" {
			path := filepath.ToSlash(filepath.Clean(f.Path))
			if !strings.Contains(path, "/") { // of a log from Windows
				path = strings.ReplaceAll(path, `\`, "/")
			}
			all[i] = strings.Split(path, "/")
		}
	}
	return all
}

// byTail are the files without a partner by the last so many names of their paths, or the whole path where it has fewer.
func byTail(paths [][]string, depth int, done func(int) bool) map[string][]int {
	all := map[string][]int{}
	for i, p := range paths {
		if p != nil && !done(i) {
			key := strings.Join(p[max(0, len(p)-depth):], "/")
			all[key] = append(all[key], i)
		}
	}
	return all
}

// onePath says that files are all the same one.
func onePath(files []check.MeasuredFile, which []int) bool {
	for _, i := range which {
		if files[i].Path != files[which[0]].Path {
			return false
		}
	}
	return true
}
