package queue

import (
	"os"

	"vramsoak/parser/record"
)

// None is the index that functions return if the batch has no such file.
const None = -1

// An Input is one file of the batch, as the user named it.
type Input struct {
	Path         string  // as the command gets it
	AudioSeconds float64 // length of the audio; 0 if unknown
	// Place is the number of the file in the whole batch, from 1, if the run works on a part of it.
	// It is 0 if the run works on the whole batch: the files are then numbered in order.
	Place int
}

// A Batch holds the files of a run and the state of each: not begun, begun, or ended with a status.
type Batch struct {
	files  []Input
	begun  []bool
	status []record.Status // StatusUnknown until the file has ended
	left   int             // files that have not begun
	counts map[record.Status]int
	// failures holds, by the file's index, how often a file has ended with a status other than ok.
	failures map[int]int
	// lost holds the indices of the files that had begun and whose results were lost when the harness
	// was killed. They count as not begun, because they must be done again.
	lost map[int]bool

	audio, doneAudio float64 // seconds of audio: of all files, of the ended files
	audioKnown       bool    // the length of every file is known

	names names
	// byPlace holds the indices of files by Input.Place; last is the largest place.
	byPlace map[int]int
	last    int
}

// NewBatch returns a batch of these files, none of them begun.
func NewBatch(files []Input) *Batch {
	b := &Batch{
		audioKnown: true, failures: map[int]int{}, lost: map[int]bool{},
		counts: map[record.Status]int{}, byPlace: map[int]int{},
		names: names{
			byPath: map[string][]int{}, byFullPath: map[string][]int{}, byBase: map[string][]int{},
		},
	}
	b.names.wd, _ = os.Getwd() // on an error wd stays ""
	for _, f := range files {
		b.Add(f)
	}
	return b
}

// Add appends a file and returns its index.
func (b *Batch) Add(f Input) int {
	i := len(b.files)
	b.files = append(b.files, f)
	b.begun = append(b.begun, false)
	b.status = append(b.status, record.StatusUnknown)
	b.left++
	b.audio += f.AudioSeconds
	b.audioKnown = b.audioKnown && f.AudioSeconds > 0
	b.names.add(f.Path, i)
	if f.Place > 0 {
		b.byPlace[f.Place] = i
	}
	b.last = max(b.last, b.Place(i))
	return i
}

// Place returns the number of a file in the whole batch, from 1, or 0 for [None].
func (b *Batch) Place(i int) int {
	if i != None && b.files[i].Place > 0 {
		return b.files[i].Place
	}
	return i + 1
}

// At returns the index of the file with this number in the whole batch. ok is false if the run does
// not have that file.
func (b *Batch) At(place int) (i int, ok bool) {
	if len(b.byPlace) > 0 {
		i, ok = b.byPlace[place]
		return i, ok
	}
	return place - 1, place >= 1 && place <= len(b.files)
}

// LastPlace returns the largest number of a file in the whole batch; 0 if there are no files.
func (b *Batch) LastPlace() int { return b.last }

// Len returns the number of files.
func (b *Batch) Len() int { return len(b.files) }

// File returns the file with the index i.
func (b *Batch) File(i int) Input { return b.files[i] }

// Left returns the number of files that have not begun.
func (b *Batch) Left() int { return b.left }

// Counts returns the number of files that have ended, by status.
func (b *Batch) Counts() map[record.Status]int { return b.counts }

// HasBegun reports whether the file with the index i has begun.
func (b *Batch) HasBegun(i int) bool { return b.begun[i] }

// Begin records that the file with the index i begins.
func (b *Batch) Begin(i int) {
	if !b.begun[i] {
		b.begun[i] = true
		b.left--
		delete(b.lost, i)
	}
}

// Unbegin records that the file with the index i has not begun, so that it waits again.
func (b *Batch) Unbegin(i int) {
	b.begun[i] = false
	b.left++
}

// Lost reports whether the result of the file with the index i was lost. Such a file counts as not
// begun.
func (b *Batch) Lost(i int) bool { return b.lost[i] }

// Lose records that the result of the file with the index i was lost. From then on the file counts
// as not begun. Lose does nothing for a file that has not begun.
func (b *Batch) Lose(i int) {
	if b.begun[i] {
		b.Unbegin(i)
		b.lost[i] = true
	}
}

// End records that the file with the index i ended with the status s. If a file is tried again, its
// new status replaces the old one.
func (b *Batch) End(i int, s record.Status) {
	if old := b.status[i]; old != record.StatusUnknown {
		b.counts[old]--
	} else {
		b.doneAudio += b.files[i].AudioSeconds
	}
	b.status[i] = s
	b.counts[s]++
	if s != record.StatusOK {
		b.failures[i]++
	}
}

// Ended returns the number of files that have ended.
func (b *Batch) Ended() int {
	n := 0
	for _, count := range b.counts {
		n += count
	}
	return n
}

// Failed returns the number of files that have ended with a status other than ok.
func (b *Batch) Failed() int { return b.Ended() - b.counts[record.StatusOK] }

// Waiting returns the indices of the first n files that have not begun, or of all such files if n
// is 0.
func (b *Batch) Waiting(n int) []int {
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

// Next returns the index of the first file, in batch order, that the process was given and has not
// begun. The parameter given holds the indices of the process's files in ascending order. If the
// process has begun all its files, Next returns None and false.
func (b *Batch) Next(given []int) (int, bool) {
	for _, i := range given {
		if !b.begun[i] {
			return i, true
		}
	}
	return None, false
}

// retry makes each failed file wait again, except the files that have failed more than n times
// already. It returns the number of files that now wait again.
func (b *Batch) retry(n int) int {
	count := 0
	for i, times := range b.failures {
		failed := b.status[i] != record.StatusOK && b.status[i] != record.StatusUnknown
		if b.begun[i] && times <= n && failed {
			b.Unbegin(i)
			count++
		}
	}
	return count
}
