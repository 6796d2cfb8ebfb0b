package queue

import (
	"path/filepath"
	"slices"

	"vramsoak/parser/record"
)

// names is the index by which the batch finds the files that a pipeline names in its output.
type names struct {
	wd string // the working directory; "" if unknown
	// The three maps hold the indices of the files: by the path that the user gave, by full path, and
	// by base name.
	byPath, byFullPath, byBase map[string][]int
	// matched is true once a name that the pipeline printed was a file of the batch.
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

// full returns the full path of a file, without looking whether the file exists.
func (n *names) full(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(n.wd, path)
}

// Named returns the files that a pipeline may mean by a name in its output. The name may be the
// path that the pipeline was given, another path to the same file, or the base name if it is
// unambiguous. Named returns several files if the same path occurs several times in the batch.
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

// Matched reports whether any name that the pipeline printed so far was a file of the batch. If
// none was, the pipeline uses names of its own for the files.
func (b *Batch) Matched() bool { return b.names.matched }

// Find returns the index of the file that begins when a pipeline prints this name, and whether
// there is one. Several files can have the name, because a path may occur several times in the
// batch. Of the files that the process was given, Find chooses the first that has not begun. If all
// have begun, it chooses the first that failed, because the process may retry it, or else the last.
// If the process was given no file of that name, Find chooses among the other files of the batch in
// the same order.
func (b *Batch) Find(name string, given []int) (int, bool) {
	files := b.Named(name)
	if len(files) == 0 {
		return None, false
	}
	isGiven := func(i int) bool { _, found := slices.BinarySearch(given, i); return found }
	for _, i := range files { // with --repeat most of many equal paths have begun
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
