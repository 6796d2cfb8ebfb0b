package queue

import "time"

// AheadMax is how many files a process is given at once if there is no end of files, as in a soak
// until a time. At the end of its list a new process is started.
const AheadMax = 10_000

// Options say which files the processes of a run get.
type Options struct {
	PerProcess int // files that one process gets; 0 is all there are
	Retries    int // how many times a file that failed is done again
	// More yields further files when the known ones do not suffice. At the end of the batch it
	// yields none. It may be nil.
	More func() []Input
	// SoakOver reports whether the time to soak is over; nil if the run has no such time.
	SoakOver func(now time.Time) bool
}

// A Feeder chooses the files of the next process of a run, or of one worker of it.
type Feeder struct {
	batch *Batch
	opts  Options
	// queue is where the files come from if several workers share them; else nil. In a worker's
	// batch the files of other workers count as begun.
	queue *Queue
	// divided says that the files of the queue were divided among the workers. From then on new
	// files belong to the queue. dealt says that the worker was given the files of its first
	// process.
	divided, dealt bool
}

// NewFeeder returns the feeder of a batch. queue is nil for a run without workers.
func NewFeeder(b *Batch, queue *Queue, opts Options) *Feeder {
	return &Feeder{batch: b, queue: queue, opts: opts}
}

// SoakOver reports whether the run ends because the time to soak is over. One file is done however
// short that time is, and so are the files whose results were lost.
func (f *Feeder) SoakOver(now time.Time) bool {
	return f.opts.SoakOver != nil && f.opts.SoakOver(now) && len(f.batch.lost) == 0 &&
		f.batch.Ended() > 0
}

// Next returns the files that the next process gets; none if the run is done. If a worker has to
// wait for files that others may return, it returns none, and a channel that is closed when to ask
// again.
func (f *Feeder) Next(now time.Time) (files []int, later <-chan struct{}) {
	if f.SoakOver(now) {
		return nil, nil
	}
	if f.queue != nil {
		return f.nextOfQueue(now)
	}
	want := f.opts.PerProcess
	if want == 0 {
		want = AheadMax
	}
	for more := true; more && f.batch.left < want; {
		more = f.refill()
	}
	if f.batch.left == 0 {
		f.batch.retry(f.opts.Retries)
	}
	return f.batch.Waiting(f.opts.PerProcess), nil
}

// nextOfQueue is [Feeder.Next] for a worker: files of its own to be done again, and those that the
// queue has for it.
func (f *Feeder) nextOfQueue(now time.Time) (files []int, later <-chan struct{}) {
	later = f.deal(now)
	if f.batch.left == 0 {
		f.batch.retry(f.opts.Retries)
	}
	if f.batch.left == 0 {
		return nil, later
	}
	f.dealt = false
	f.queue.hold(f)
	return f.batch.Waiting(f.opts.PerProcess), nil
}

// DealFirst gives the worker the files of its first process, before any worker starts one.
func (f *Feeder) DealFirst(now time.Time) {
	f.deal(now)
	if f.dealt = f.batch.left > 0; f.dealt {
		f.queue.hold(f)
	}
}

// deal gives the worker files for its next process, unless it has enough; see [Queue.take].
func (f *Feeder) deal(now time.Time) (later <-chan struct{}) {
	want := f.opts.PerProcess
	if f.dealt && f.batch.left > 0 || f.SoakOver(now) || want > 0 && f.batch.left >= want {
		return nil
	}
	if want > 0 {
		want -= f.batch.left
	}
	files, later := f.queue.take(f, want)
	f.learn()
	for _, i := range files {
		f.batch.Unbegin(i)
	}
	return later
}

// Return gives the files that the process did not begin back to the queue. Files that were begun
// before stay with their worker: those to be retried, and those whose results were lost. pausing
// says that the worker waits before its next process.
func (f *Feeder) Return(pausing bool) {
	if f.queue != nil {
		files := f.drop(func(i int) bool { return !f.batch.Lost(i) && f.batch.status[i] == "" })
		f.queue.giveBack(f, files, pausing)
	}
}

// Leave gives back all files that have not ended. The worker takes no more.
func (f *Feeder) Leave() {
	lost := map[int]bool{}
	files := f.drop(func(i int) bool {
		if f.batch.Lost(i) {
			lost[i] = true
		}
		return f.batch.status[i] == ""
	})
	f.queue.leave(f, files, lost)
}

// drop marks the waiting files that are to be given back as begun, and returns them.
func (f *Feeder) drop(which func(i int) bool) []int {
	var files []int
	for _, i := range f.batch.Waiting(0) {
		if which(i) {
			f.batch.Begin(i)
			files = append(files, i)
		}
	}
	return files
}

// Empty reports whether no file is left for the next process, except for those to be retried.
func (f *Feeder) Empty() bool {
	return f.batch.left == 0 && (f.queue == nil || f.queue.first() == None)
}

// First returns the first file that the next process may get, or None.
func (f *Feeder) First() int {
	if own := f.batch.Waiting(1); len(own) > 0 || f.queue == nil {
		return append(own, None)[0]
	}
	return f.queue.first()
}

// Worked returns how many files this run, or this worker of it, has begun.
func (f *Feeder) Worked() int {
	if f.queue != nil { // files of others count as begun here
		return f.batch.Ended()
	}
	return f.batch.Len() - f.batch.left
}

// Extend adds files until the batch has this many, if there are so many.
func (f *Feeder) Extend(count int) {
	for more := true; more && f.batch.Len() < count; {
		more = f.refill()
	}
}

// refill adds the files that come next and reports whether there were any.
func (f *Feeder) refill() bool {
	if f.queue != nil {
		return f.learn() || f.queue.grow() && f.learn()
	}
	if f.opts.More == nil {
		return false
	}
	files := f.opts.More()
	for _, file := range files {
		f.batch.Add(file)
	}
	return len(files) > 0
}

// learn adds the files of the queue that the worker's batch lacks, and reports whether there were
// any.
func (f *Feeder) learn() bool {
	fresh := f.queue.from(f.batch.Len())
	for _, file := range fresh {
		i := f.batch.Add(file)
		if f.divided {
			f.batch.Begin(i)
		}
	}
	return len(fresh) > 0
}
