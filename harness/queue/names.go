package queue

import (
	"path/filepath"
	"slices"

	"vramsoak/parser/record"
)

// names finds files by the names that a pipeline prints.
type names struct {
	wd string // the working directory; "" if it is gone
	// The files by path as given, by full path, and by base name.
	byPath, byFullPath, byBase map[string][]int
	// matched is set once the pipeline has named a file of the batch.
	matched bool
}

func (n *names) add(path string, i int) {
	for _, at := range []struct {
		index map[string][]int
		key   string
	}{{n.byPath, path}, {n.byFullPath, n.full(path)}, {n.byBase, filepath.Base(path)}} {
		at.index[at.key] = append(at.index[at.key], i)
	}
}

// full returns the full path, without looking at the file system.
func (n *names) full(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(n.wd, path)
}

// Named returns the files that a pipeline may mean by a name. It may print another path to a file
// than the one it was given, or only its base name if no two files share that. A path that occurs
// several times in the batch is several files.
func (b *Batch) Named(name string) []int {
	n := &b.names
	files := n.byPath[name]
	if len(files) == 0 {
		files = n.byFullPath[n.full(name)]
	}
	if len(files) == 0 && name != "" {
		files = n.byBase[filepath.Base(name)]
		for _, i := range files {
			if b.files[i].Path != b.files[files[0]].Path {
				return nil
			}
		}
	}
	n.matched = n.matched || len(files) > 0
	return files
}

// Matched reports whether the pipeline has ever named a file of the batch. If not, it has names of
// its own for the files.
func (b *Batch) Matched() bool { return b.names.matched }

// Find returns the file that a pipeline begins with a name. It prefers the files that its process
// was given: the first of them that has not begun; else one that is retried, which is the first
// that failed, or the last. It takes another process's file only if its own process was given none
// of that name.
func (b *Batch) Find(name string, given []int) (int, bool) {
	files := b.Named(name)
	if len(files) == 0 {
		return None, false
	}
	isGiven := func(i int) bool { _, found := slices.BinarySearch(given, i); return found }
	for _, i := range files { // a batch in rounds has each name many times: most have begun
		if !b.begun[i] && isGiven(i) {
			return i, true
		}
	}
	own := slices.DeleteFunc(slices.Clone(files), func(i int) bool { return !isGiven(i) })
	if len(own) > 0 {
		files = own
	} else if i := slices.IndexFunc(files, func(i int) bool { return !b.begun[i] }); i >= 0 {
		return files[i], true
	}
	for _, i := range files {
		if s := b.status[i]; s != record.StatusOK && s != record.StatusUnknown {
			return i, true
		}
	}
	return files[len(files)-1], true
}
