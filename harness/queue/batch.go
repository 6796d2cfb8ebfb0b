package queue

import (
	"os"

	"vramsoak/parser/record"
)

// None is the index of a file that is not in the batch.
const None = -1

// An Input is one file of the batch.
type Input struct {
	Path         string  // as it is given to the command
	AudioSeconds float64 // length of the audio; 0 if unknown
}

// A Batch is the files of a run and how far each is.
type Batch struct {
	files  []Input
	begun  []bool
	status []record.Status // StatusUnknown until the file has ended
	left   int             // files that have not begun
	counts map[record.Status]int
	// failures is how often a file has ended with another status than ok.
	failures map[int]int
	// lost are files that were begun and whose results were lost. They count as not begun.
	lost map[int]bool

	audio, doneAudio float64 // seconds, of all files and of those that have ended
	audioKnown       bool    // of every file

	names names
}

// NewBatch returns a batch of these files, none of them begun.
func NewBatch(files []Input) *Batch {
	b := &Batch{
		audioKnown: true, failures: map[int]int{}, lost: map[int]bool{},
		counts: map[record.Status]int{},
		names: names{
			byPath: map[string][]int{}, byFullPath: map[string][]int{}, byBase: map[string][]int{},
		},
	}
	b.names.wd, _ = os.Getwd() // its error leaves ""
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
	return i
}

// Len returns the number of files.
func (b *Batch) Len() int { return len(b.files) }

// File returns a file by its index.
func (b *Batch) File(i int) Input { return b.files[i] }

// Left returns the number of files that have not begun.
func (b *Batch) Left() int { return b.left }

// Counts returns the number of files that have ended, by status.
func (b *Batch) Counts() map[record.Status]int { return b.counts }

// HasBegun reports whether a file has begun.
func (b *Batch) HasBegun(i int) bool { return b.begun[i] }

// Begin notes that a file begins.
func (b *Batch) Begin(i int) {
	if !b.begun[i] {
		b.begun[i] = true
		b.left--
		delete(b.lost, i)
	}
}

// Unbegin makes a file one that has not begun.
func (b *Batch) Unbegin(i int) {
	b.begun[i] = false
	b.left++
}

// Lost reports whether the result of a file was lost. It has not begun then.
func (b *Batch) Lost(i int) bool { return b.lost[i] }

// Lose notes that the result of a file that has begun was lost.
func (b *Batch) Lose(i int) {
	if b.begun[i] {
		b.Unbegin(i)
		b.lost[i] = true
	}
}

// End gives a file its status. The status of its last attempt counts.
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

// Failed returns the number of files that have ended with another status than ok.
func (b *Batch) Failed() int { return b.Ended() - b.counts[record.StatusOK] }

// Waiting returns the first n files that have not begun, or all of them if n is 0.
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

// Next returns the first file that has not begun of those that a process was given, which are in
// the order of the batch. It returns None and false if all have.
func (b *Batch) Next(given []int) (int, bool) {
	for _, i := range given {
		if !b.begun[i] {
			return i, true
		}
	}
	return None, false
}

// retry makes the files that failed wait once more, up to n times each, and returns their number.
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
