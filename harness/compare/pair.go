package compare

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"vramsoak/harness/check"
)

// A pair holds the index of a file in the base and the index of the same file in the new run.
type pair struct{ base, new int }

// A pairing says which file of the new run is the same as a file of the base. One pairing serves
// all metrics, one after the other.
type pairing struct {
	// inNew[i] is the index in the new run of the base's file i, or -1.
	inNew  []int
	values []float64 // the current metric's values in the new run; NaN if missing
}

// pair returns which files of the two runs are the same. It sets in c the number of files that
// succeeded in both, the numbers of those that only one run has, the files that succeeded in the
// base and failed in the new run, and whether no file is in both runs.
func (c *Comparison) pair(base, now *Baseline) *pairing {
	p := &pairing{make([]int, len(base.Files)), make([]float64, len(now.Files))}
	for i := range p.inNew {
		p.inNew[i] = -1
	}
	for i := range p.values {
		p.values[i] = math.NaN()
	}
	// Files that succeeded come first in both lists. So repeats of a file are paired with failures
	// only if no success is left.
	baseAll, newAll := slices.Concat(base.Files, base.Failed), slices.Concat(now.Files, now.Failed)
	common := 0
	c.OnlyBase, c.OnlyNew = len(base.Files), len(now.Files)
	paired := make([]bool, len(newAll))
	// ended says, for each path of a paired file in the new run, whether all of its repeats succeeded
	// in the base.
	ended := map[string]bool{}
	for _, pair := range pairs(baseAll, newAll) {
		common++
		paired[pair.new] = true
		if pair.base < len(base.Files) {
			c.OnlyBase--
		}
		if pair.new < len(now.Files) {
			c.OnlyNew--
		}
		path := newAll[pair.new].Path
		if well, known := ended[path]; well || !known {
			ended[path] = pair.base < len(base.Files)
		}
		switch failed := pair.new - len(now.Files); {
		case pair.base >= len(base.Files):
		case failed < 0:
			p.inNew[pair.base] = pair.new
			c.Files++
		default:
			c.NewlyFailed = append(c.NewlyFailed, now.Failed[failed])
		}
	}
	for i, f := range now.Failed { // a soak in rounds may repeat a file more often than the base
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

// pairs returns the pairs of files that are in both runs, in the order of the base. It pairs files
// with the same path first. A batch may have moved to another folder, so pairs then compares
// shorter and shorter ends of the paths, as long as an end identifies one file. Repeats of a file
// are paired in order. Files are not paired if their audio lengths are known and differ. Files
// without names are paired by their number in the batch, if both runs have the same number of
// files.
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
	inNew := make([]int, len(base))
	for i := range inNew {
		inNew[i] = -1
	}
	taken := make([]bool, len(now))
	basePaths, nowPaths := paths(base), paths(now)
	depths := []int{math.MaxInt} // the whole path, then shorter and shorter ends of it
	for depth := deepest; depth > 0; depth-- {
		depths = append(depths, depth)
	}
	for _, depth := range depths {
		there := byTail(nowPaths, depth, func(i int) bool { return taken[i] })
		for tail, here := range byTail(basePaths, depth, func(i int) bool { return inNew[i] >= 0 }) {
			other := there[tail]
			if !onePath(base, here) || !onePath(now, other) {
				continue
			}
			for k := range min(len(here), len(other)) {
				if alike(base[here[k]], now[other[k]]) {
					inNew[here[k]], taken[other[k]] = other[k], true
				}
			}
		}
	}
	var all []pair
	for i, j := range inNew {
		if j >= 0 {
			all = append(all, pair{i, j})
		}
	}
	return all
}

// inBatch returns the indexes of files, sorted by the files' numbers in the batch.
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

// alike reports whether a and b may be the same file: their audio lengths differ by at most a
// hundredth of a second, or one of the lengths is unknown.
func alike(a, b check.MeasuredFile) bool {
	return a.AudioSeconds == 0 || b.AudioSeconds == 0 ||
		math.Abs(a.AudioSeconds-b.AudioSeconds) <= 0.01
}

// deepest is the largest number of names at the end of a path (folders and the file) that are
// compared after a batch has moved.
const deepest = 16

// paths returns the path of each file, split into its folders and its base name, or nil for a file
// without a name.
func paths(files []check.MeasuredFile) [][]string {
	all := make([][]string, len(files))
	for i, f := range files {
		if f.Path != "" {
			path := filepath.ToSlash(filepath.Clean(f.Path))
			if !strings.Contains(path, "/") { // a path from Windows
				path = strings.ReplaceAll(path, `\`, "/")
			}
			all[i] = strings.Split(path, "/")
		}
	}
	return all
}

// byTail groups the indexes of files by the last names of their paths, as many as depth says. A
// path with fewer names is used whole. It leaves out the files for which done returns true, because
// they are paired already.
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

// onePath reports whether these files all have the same path.
func onePath(files []check.MeasuredFile, which []int) bool {
	for _, i := range which {
		if files[i].Path != files[which[0]].Path {
			return false
		}
	}
	return true
}
