package harness

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A queue hands the files of a batch out to several workers. What a worker was given and did not begin comes back to it.
type queue struct {
	mu    sync.Mutex
	files []Input // the whole batch
	more  func() []Input
	// waiting are the files that nobody was given, in order. torn are those of them of which the run lost what was done.
	waiting []int
	torn    map[int]bool
	// working are the workers that have not left; busy, those of them that were given files; resting, those that wait out a
	// back-off.
	working, busy, resting map[*run]bool
	changed                chan struct{} // closed when files came back, or a worker has no more
}

func newQueue(files []Input, more func() []Input) *queue {
	return &queue{
		files: slices.Clone(files), more: more, torn: map[int]bool{}, working: map[*run]bool{}, busy: map[*run]bool{},
		resting: map[*run]bool{}, changed: make(chan struct{}),
	}
}

// grow adds the files that come next, where there are any.
func (q *queue) grow() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.extend()
}

func (q *queue) extend() bool {
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

// share gives the workers what each had begun and lost, and leaves to the queue what none has done.
func (q *queue) share(workers []*run) {
	for _, r := range workers {
		r.learn()
		r.shared, q.working[r] = true, true
	}
	q.waiting = q.waiting[:0]
	for i := range q.files {
		var owner *run
		done := false
		for _, r := range workers {
			done = done || r.batch.begun[i]
			if owner == nil && r.batch.torn[i] {
				owner = r
			}
		}
		for _, r := range workers {
			if done || r != owner {
				delete(r.batch.torn, i)
				r.batch.begin(i)
			}
		}
		if !done && owner == nil {
			q.waiting = append(q.waiting, i)
		}
	}
}

// take gives a worker the files of its next process: so many, or where share is 0 its part of all that wait. They are dealt
// like cards to the workers that have none, so that in a batch sorted by length nobody has the long ones. Where there is none,
// later yields when that may have changed; it is nil where it cannot.
func (q *queue) take(r *run, share int) (fed []int, later <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.resting, r)
	players := len(q.working) - len(q.busy) - len(q.resting)
	if q.busy[r] {
		players++
	}
	want := share
	if share == 0 {
		want = players * aheadMax
	}
	for more := true; more && len(q.waiting) < want; {
		more = q.extend()
	}
	switch {
	case len(q.waiting) == 0:
		if others := len(q.busy); others > 1 || others == 1 && !q.busy[r] {
			later = q.changed
		}
		return nil, later
	case share > 0:
		n := min(share, len(q.waiting))
		fed, q.waiting = slices.Clone(q.waiting[:n]), q.waiting[n:]
	default:
		var rest []int
		for n, i := range q.waiting {
			if n%players == 0 {
				fed = append(fed, i)
			} else {
				rest = append(rest, i)
			}
		}
		q.waiting = rest
	}
	q.busy[r] = true
	for _, i := range fed {
		if q.torn[i] {
			delete(q.torn, i)
			r.batch.torn[i] = true
		}
	}
	return fed, nil
}

// hold notes that a worker has files of its own to do.
func (q *queue) hold(r *run) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy[r] = true
}

// giveBack takes files back that a worker was given and did not begin, of which the run lost what was done of some. gone says
// that the worker takes no more.
func (q *queue) giveBack(r *run, files []int, torn map[int]bool, gone bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(files) > 0 {
		q.waiting = append(q.waiting, files...)
		slices.Sort(q.waiting)
	}
	for i := range torn {
		q.torn[i] = true
	}
	delete(q.busy, r)
	switch {
	case gone:
		delete(q.working, r)
		delete(q.resting, r)
	case r.restarts.pause > 0:
		q.resting[r] = true
	}
	close(q.changed)
	q.changed = make(chan struct{})
}

// first is the first file that waits, unknown where none does.
func (q *queue) first() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return unknown
	}
	return q.waiting[0]
}

// empty says that no file waits; a run without a queue has none.
func (q *queue) empty() bool {
	if q == nil {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) == 0
}

// learn brings a worker's batch to the length of the queue's, with files that others have.
func (r *run) learn() bool {
	r.queue.mu.Lock()
	fresh := slices.Clone(r.queue.files[len(r.batch.files):])
	r.queue.mu.Unlock()
	for _, f := range fresh {
		i := r.batch.add(f)
		if r.shared {
			r.batch.begin(i)
		}
	}
	return len(fresh) > 0
}

// draw is feed for a worker: files of its own to be done again, with those that the queue has for it. Where there are none it
// waits until no other worker can give any back.
func (r *run) draw(ctx context.Context, now time.Time) []int {
	for !r.over(now) {
		later := r.deal(now)
		if r.batch.left == 0 {
			r.batch.again(r.cfg.RetryFailed)
		}
		if r.batch.left > 0 {
			r.dealt = false
			r.queue.hold(r)
			return r.batch.waiting(r.share())
		}
		if later == nil {
			return nil
		}
		soaked := newAlarm(r.cfg.Until)
		if spent := now.Sub(r.started); spent < r.cfg.Until {
			soaked.set(r.started)
		} else { // it has rung, and what is left is to be done all the same
			soaked.stop()
		}
		select {
		case <-later:
		case <-soaked.rings:
		case <-ctx.Done():
			r.interrupted = true
		case <-r.kill:
			r.kill, r.interrupted = nil, true
		}
		soaked.stop()
		if r.interrupted {
			return nil
		}
		now = time.Now()
	}
	return nil
}

// deal gives the worker files for its next process, as far as it does not have them already; see [queue.take].
func (r *run) deal(now time.Time) (later <-chan struct{}) {
	share := r.share()
	if r.dealt && r.batch.left > 0 || r.over(now) || share > 0 && r.batch.left >= share {
		return nil
	}
	if share > 0 {
		share -= r.batch.left
	}
	fed, later := r.queue.take(r, share)
	r.learn()
	for _, i := range fed {
		r.batch.unbegin(i)
	}
	return later
}

// giveBack returns the files that the process did not begin, for whoever is free. What was begun before stays with its
// worker: what is to be done again, and that of which the run lost what was done.
func (r *run) giveBack() {
	if r.queue != nil {
		r.queue.giveBack(r, r.drop(func(i int) bool { return !r.batch.torn[i] && r.batch.status[i] == "" }), nil, false)
	}
}

// leave gives back all that never ended: the worker takes no more.
func (r *run) leave() {
	torn := map[int]bool{}
	files := r.drop(func(i int) bool {
		if r.batch.torn[i] {
			torn[i] = true
		}
		return r.batch.status[i] == ""
	})
	r.queue.giveBack(r, files, torn, true)
}

// drop lets go of the files that have not begun and are to be given back.
func (r *run) drop(which func(i int) bool) []int {
	var files []int
	for _, i := range r.batch.waiting(0) {
		if which(i) {
			r.batch.begin(i)
			files = append(files, i)
		}
	}
	return files
}
