package queue

import (
	"slices"
	"sync"
)

// A Queue distributes the files of a batch to several workers. A worker returns the files that its
// process did not begin.
type Queue struct {
	mu    sync.Mutex
	files []Input // the whole batch
	more  func() []Input
	// waiting holds the files that no worker has, in batch order. lost marks the waiting files whose
	// results were lost.
	waiting []int
	lost    map[int]bool
	// working holds the workers that still take files. Of these workers, busy holds those that have
	// files, and pausing holds those that wait after a crash before they start their next process.
	working, busy, pausing map[*Feeder]bool
	changed                chan struct{} // closed when a worker returned files or left
}

// New returns a queue of these files. The function more returns further files when the queue runs
// out, as [Options].More does.
func New(files []Input, more func() []Input) *Queue {
	return &Queue{
		files: slices.Clone(files), more: more, lost: map[int]bool{},
		working: map[*Feeder]bool{}, busy: map[*Feeder]bool{}, pausing: map[*Feeder]bool{},
		changed: make(chan struct{}),
	}
}

// Len returns the number of files in the batch.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.files)
}

// from returns the files of the batch from index i on.
func (q *Queue) from(i int) []Input {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.files[i:])
}

// grow adds further files of the batch to the queue, and reports whether there were any.
func (q *Queue) grow() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.extend()
}

func (q *Queue) extend() bool {
	if q.more == nil {
		return false
	}
	files := q.more()
	for _, f := range files {
		q.waiting = append(q.waiting, len(q.files))
		q.files = append(q.files, f)
	}
	return len(files) > 0
}

// Divide decides after a resume which files belong to which worker. A file that a worker has done
// is not given out again. A file whose result was lost goes to the worker that had begun it. The
// queue keeps the files that no worker has begun. Divide is called once, before any worker takes
// files.
func (q *Queue) Divide(workers []*Feeder) {
	for _, f := range workers {
		f.learn()
		f.divided, q.working[f] = true, true
	}
	q.waiting = q.waiting[:0]
	for i := range q.files {
		var owner *Feeder
		done := false
		for _, f := range workers {
			done = done || f.batch.begun[i]
			if owner == nil && f.batch.lost[i] {
				owner = f
			}
		}
		for _, f := range workers {
			if done || f != owner {
				delete(f.batch.lost, i)
				f.batch.Begin(i)
			}
		}
		if !done && owner == nil {
			q.waiting = append(q.waiting, i)
		}
	}
}

// take removes files for the next process of a worker from the queue and returns them. It returns
// up to n files or, if n is 0, the worker's part of all waiting files: every k-th of them, if k
// workers wait for files. Thus no worker gets all the long files of a batch that is sorted by
// length. If no file waits, take returns no files and the channel later, which is closed when a
// worker has returned files or left. If no other worker has files that it may return, later is nil.
func (q *Queue) take(f *Feeder, n int) (files []int, later <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.pausing, f)
	players := len(q.working) - len(q.busy) - len(q.pausing)
	if q.busy[f] {
		players++
	}
	want := n
	if n == 0 {
		want = players * AheadMax
	}
	for more := true; more && len(q.waiting) < want; {
		more = q.extend()
	}
	switch {
	case len(q.waiting) == 0:
		if others := len(q.busy); others > 1 || others == 1 && !q.busy[f] {
			later = q.changed
		}
		return nil, later
	case n > 0:
		n = min(n, len(q.waiting))
		files, q.waiting = slices.Clone(q.waiting[:n]), q.waiting[n:]
	default:
		var rest []int
		for k, i := range q.waiting {
			if k%players == 0 {
				files = append(files, i)
			} else {
				rest = append(rest, i)
			}
		}
		q.waiting = rest
	}
	q.busy[f] = true
	for _, i := range files {
		if q.lost[i] {
			delete(q.lost, i)
			f.batch.lost[i] = true
		}
	}
	return files, nil
}

// hold notes that a worker has files.
func (q *Queue) hold(f *Feeder) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy[f] = true
}

// giveBack puts the files that a worker's process did not begin back into the queue. Set pausing if
// the worker waits after a crash before it starts its next process.
func (q *Queue) giveBack(f *Feeder, files []int, pausing bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.accept(f, files)
	if pausing {
		q.pausing[f] = true
	}
	q.notify()
}

// leave puts the files of a worker that takes no more files back into the queue. The parameter lost
// marks the files whose results were lost.
func (q *Queue) leave(f *Feeder, files []int, lost map[int]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.accept(f, files)
	for i := range lost {
		q.lost[i] = true
	}
	delete(q.working, f)
	delete(q.pausing, f)
	q.notify()
}

// accept puts files of a worker back among the waiting files. The worker has no files then.
func (q *Queue) accept(f *Feeder, files []int) {
	if len(files) > 0 {
		q.waiting = append(q.waiting, files...)
		slices.Sort(q.waiting)
	}
	delete(q.busy, f)
}

// notify wakes the workers that wait for files.
func (q *Queue) notify() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// first returns the index of the first file that waits in the queue, or None.
func (q *Queue) first() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return None
	}
	return q.waiting[0]
}
