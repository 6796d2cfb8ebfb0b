package harness

import (
	"os"
	"path/filepath"
	"slices"

	"vramsoak/parser"
)

// unknown is the index of a file that is none of the batch's.
const unknown = -1

// A batch is the files of a run and how far each is. Indices count from 0; the log's count from 1.
type batch struct {
	files  []Input
	begun  []bool
	status []parser.Status // StatusUnknown until the file has ended
	left   int             // files that have not begun
	counts map[parser.Status]int
	// bad is how often a file has ended otherwise than well.
	bad map[int]int
	// torn are files that have not begun because what was done of them is lost; they are done whatever the time.
	torn map[int]bool

	audio, doneAudio float64 // seconds, of all files and of those that have ended
	audioKnown       bool    // of every file

	wd string // the working directory; "" where it is gone
	// Where to look for a file by name: as it was fed, the place that leads to, its base name.
	byPath, byPlace, byBase map[string][]int
	// matched says that the pipeline has named a file as it was fed.
	matched bool
}

func newBatch(files []Input) *batch {
	b := &batch{
		audioKnown: true, bad: map[int]int{}, torn: map[int]bool{},
		counts: map[parser.Status]int{}, byPath: map[string][]int{}, byPlace: map[string][]int{}, byBase: map[string][]int{},
	}
	b.wd, _ = os.Getwd() // its error leaves ""
	for _, f := range files {
		b.add(f)
	}
	return b
}

// add appends a file and returns its index.
func (b *batch) add(f Input) int {
	i := len(b.files)
	b.files = append(b.files, f)
	b.begun = append(b.begun, false)
	b.status = append(b.status, parser.StatusUnknown)
	b.left++
	b.audio += f.AudioSeconds
	b.audioKnown = b.audioKnown && f.AudioSeconds > 0
	for _, at := range []struct {
		index map[string][]int
		key   string
	}{{b.byPath, f.Path}, {b.byPlace, b.place(f.Path)}, {b.byBase, filepath.Base(f.Path)}} {
		at.index[at.key] = append(at.index[at.key], i)
	}
	return i
}

// place is where a path leads, as far as can be told without looking.
func (b *batch) place(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(b.wd, path)
}

func (b *batch) begin(i int) {
	if !b.begun[i] {
		b.begun[i] = true
		b.left--
		delete(b.torn, i)
	}
}

// unbegin takes back a begin that turned out to be none.
func (b *batch) unbegin(i int) {
	b.begun[i] = false
	b.left++
}

// waiting are the first n files that have not begun, or all of them where n is 0.
func (b *batch) waiting(n int) []int {
	if n == 0 || n > b.left {
		n = b.left
	}
	indices := make([]int, 0, n)
	for i := 0; len(indices) < n; i++ {
		if !b.begun[i] {
			indices = append(indices, i)
		}
	}
	return indices
}

// next is the first file of a feed that has not begun. Feeds are in the order of the batch.
func (b *batch) next(fed []int) (int, bool) {
	for _, i := range fed {
		if !b.begun[i] {
			return i, true
		}
	}
	return unknown, false
}

// called are the files that a pipeline may mean by a name. It may print another path to a file than the one it was fed, or
// only its base name where no two files share it. A path that was fed several times is that many files.
func (b *batch) called(name string) []int {
	files := b.byPath[name]
	if len(files) == 0 {
		files = b.byPlace[b.place(name)]
	}
	if len(files) == 0 && name != "" {
		files = b.byBase[filepath.Base(name)]
		for _, i := range files {
			if b.files[i].Path != b.files[files[0]].Path {
				return nil
			}
		}
	}
	b.matched = b.matched || len(files) > 0
	return files
}

// find is the file that a pipeline begins by a name: of those that its process was fed the first that has not begun, else
// the one that is done again, which is the first that did not end well, or the last. Only where its process was fed none of
// that name it is one that another process was fed, or is to be.
func (b *batch) find(name string, fed []int) (int, bool) {
	files := b.called(name)
	if len(files) == 0 {
		return unknown, false
	}
	isFed := func(i int) bool { _, found := slices.BinarySearch(fed, i); return found }
	for _, i := range files { // a batch in rounds has each name many times: most have begun
		if !b.begun[i] && isFed(i) {
			return i, true
		}
	}
	own := slices.DeleteFunc(slices.Clone(files), func(i int) bool { return !isFed(i) })
	if len(own) > 0 {
		files = own
	} else if i := slices.IndexFunc(files, func(i int) bool { return !b.begun[i] }); i >= 0 {
		return files[i], true
	}
	for _, i := range files {
		if s := b.status[i]; s != parser.StatusOK && s != parser.StatusUnknown {
			return i, true
		}
	}
	return files[len(files)-1], true
}

// end gives a file its status; the later word counts where it was done twice.
func (b *batch) end(i int, s parser.Status) {
	if old := b.status[i]; old != parser.StatusUnknown {
		b.counts[old]--
	} else {
		b.doneAudio += b.files[i].AudioSeconds
	}
	b.status[i] = s
	b.counts[s]++
	if s != parser.StatusOK {
		b.bad[i]++
	}
}

// ended is the number of files that have ended.
func (b *batch) ended() int {
	n := 0
	for _, count := range b.counts {
		n += count
	}
	return n
}

// failed is the number of files that have ended otherwise than well.
func (b *batch) failed() int { return b.ended() - b.counts[parser.StatusOK] }
