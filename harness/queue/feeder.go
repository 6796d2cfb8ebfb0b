package queue

import "time"

// AheadMax is how many files one process gets at most if the batch has no known end, as in a run
// with --until. When the process has done its files, a new process gets the next ones.
const AheadMax = 10_000

// Options say which files the processes of a run get.
type Options struct {
	PerProcess int // files that one process gets; 0 means all
	Retries    int // how many more times a failed file is tried
	// More returns further files when the feeder needs more than it has, or no files at the end of the
	// batch. More may be nil.
	More func() []Input
	// SoakOver reports whether the time to soak is over; nil if the run has no such time.
	SoakOver func(now time.Time) bool
}

// A Feeder chooses the files of the next process of a run, or of one worker of it.
type Feeder struct {
	batch *Batch
	opts  Options
	// queue is the queue from which several workers take their files; nil for a run without workers.
	// In the batch of a worker, the files of all other workers count as begun.
	queue *Queue
	// divided is true after [Queue.Divide]: new files of the batch then belong to the queue until the
	// worker takes them. dealt is true after [Feeder.DealFirst] until the worker's first process
	// starts.
	divided, dealt bool
}

// NewFeeder returns the feeder of a batch. queue is nil for a run without workers.
func NewFeeder(b *Batch, queue *Queue, opts Options) *Feeder {
	return &Feeder{batch: b, queue: queue, opts: opts}
}

// SoakOver reports whether the time to soak is over and the run may end. While no file has ended,
// or while files whose results were lost wait to be done again, the run may not end.
func (f *Feeder) SoakOver(now time.Time) bool {
	return f.opts.SoakOver != nil && f.opts.SoakOver(now) && len(f.batch.lost) == 0 &&
		f.batch.Ended() > 0
}

// Next returns the indices of the files that the next process gets, or no files if the run is done.
// A worker may find the queue empty while other workers may still return files. Next then returns
// no files and the channel later. When later is closed, the caller calls Next again.
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

// nextOfQueue does what [Feeder.Next] does, for a worker. The worker gets its own waiting files and
// files from the queue. It retries its own failed files only if there are no others.
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

// DealFirst takes the files of the worker's first process from the queue. The caller calls it for
// all workers before any worker starts a process. Otherwise a worker that starts fast could take
// the files of the others.
func (f *Feeder) DealFirst(now time.Time) {
	f.deal(now)
	if f.dealt = f.batch.left > 0; f.dealt {
		f.queue.hold(f)
	}
}

// deal takes files for the worker's next process from the queue, unless the worker has enough. It
// returns the channel later of [Queue.take].
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

// Return gives the files that the process did not begin back to the queue, where any worker can
// take them. Two kinds of files stay with the worker: failed files that it will retry, and files
// whose results were lost. Set pausing if the worker waits after a crash before it starts its next
// process. The queue then does not reserve files for that worker.
func (f *Feeder) Return(pausing bool) {
	if f.queue != nil {
		files := f.drop(func(i int) bool { return !f.batch.Lost(i) && f.batch.status[i] == "" })
		f.queue.giveBack(f, files, pausing)
	}
}

// Leave removes the worker from the queue, and gives back all of its files that have not ended.
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

// drop removes the waiting files for which the function which returns true from the worker, and
// returns their indices. It marks them as begun in the worker's batch. In the batch of a worker,
// that means that they no longer belong to this worker.
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

// Empty reports whether no file waits for the next process. A failed file that will be retried does
// not count as waiting.
func (f *Feeder) Empty() bool {
	return f.batch.left == 0 && (f.queue == nil || f.queue.first() == None)
}

// First returns the index of the first file that the next process may get, or None.
func (f *Feeder) First() int {
	if own := f.batch.Waiting(1); len(own) > 0 || f.queue == nil {
		return append(own, None)[0]
	}
	return f.queue.first()
}

// Worked returns how many files this run has begun. For a worker it returns how many files have
// ended, because in its batch the files of other workers count as begun.
func (f *Feeder) Worked() int {
	if f.queue != nil { // the files of other workers count as begun
		return f.batch.Ended()
	}
	return f.batch.Len() - f.batch.left
}

// Extend adds files until the batch has count files, or until there are no more.
func (f *Feeder) Extend(count int) {
	for more := true; more && f.batch.Len() < count; {
		more = f.refill()
	}
}

// refill adds the next files to the batch and reports whether there were any.
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

// learn adds the new files of the queue to the worker's batch, and reports whether there were any.
// After [Queue.Divide] it adds them as begun, because they belong to the queue.
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
