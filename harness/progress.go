package harness

import (
	"slices"
	"sync"
	"time"

	"vramsoak/harness/queue"
	"vramsoak/parser/record"
)

// Progress says how much of a run is done.
type Progress struct {
	Done, Files int           // number of files that ended, and of all files; Files is 0 if unknown
	Failed      int           // ended files whose status is not ok
	Current     string        // path of the file that is worked on, "" between files
	Working     time.Duration // on Current so far
	// Last is the path of the file that ended last, and LastStatus how it ended.
	Last       string
	LastStatus record.Status
	Restarts   int // processes that were started in place of one that crashed
	// Reading is the reading of the pipeline's last checkpoint; empty before the first one.
	Reading record.Reading
	// Levels are the levels of memory at the ends of the files, in bytes, the newest last: what is
	// allocated, or else used or reserved. In a long run they are of every second file, every fourth
	// and so on. They are empty as long as no file with a reading has ended.
	Levels []int64
	// Peak is the largest reading so far, in bytes, of the device with the largest share in use. Total
	// is the memory of that device. Both are 0 as long as they are not known. If several processes
	// share the device, Peak is that of one of them: they need not have reached theirs together.
	Peak, Total int64
	Elapsed     time.Duration
	// Left is the estimated time for the remaining files. HasLeft is false while there is no estimate.
	Left    time.Duration
	HasLeft bool
	// Workers holds the progress of each worker if the run has several. GPU is set in its elements
	// only: it is the driver's number of the worker's GPU.
	Workers []Progress
	GPU     int

	pace queue.Pace
}

// show passes the progress of the run at the time now to Config.Progress.
func (r *run) show(now time.Time) {
	p := Progress{
		Done: r.batch.Ended(), Files: r.batch.Len(), Failed: r.batch.Failed(),
		Current: r.out.Path(), Reading: r.out.Reading, Elapsed: now.Sub(r.started),
		Last: r.last.Path, LastStatus: r.last.Status, Restarts: r.restarts.n,
	}
	if p.Current != "" {
		p.Working = now.Sub(r.out.Since())
	}
	r.levels.put(&p)
	switch {
	case r.cfg.Feed == FeedNone:
		p.Files = 0
	case r.cfg.Until > 0:
		p.Files, p.Left, p.HasLeft = 0, max(0, r.cfg.Until-p.Elapsed), true
	default:
		p.pace = r.batch.Pace(r.out.Active(), r.started, r.out.LastEnd, now)
		p.Left, p.HasLeft = p.pace.Remaining()
	}
	r.out.Changed = false
	r.reporter.put(p)
}

// A reporter calls Config.Progress in a goroutine of its own, so that a slow function does not
// delay the run.
type reporter struct {
	newest chan Progress
	gone   chan struct{}
}

func newReporter(show func(Progress)) *reporter {
	r := &reporter{newest: make(chan Progress, 1), gone: make(chan struct{})}
	go func() {
		defer close(r.gone)
		for p := range r.newest {
			if show != nil {
				show(p)
			}
		}
	}()
	return r
}

// put gives p to the reporter's goroutine. It replaces a progress that the goroutine has not passed
// on yet. Only one goroutine may call put.
func (r *reporter) put(p Progress) {
	select {
	case <-r.newest:
	default:
	}
	r.newest <- p
}

// close ends the reporter's goroutine, and returns when the last progress was passed on.
func (r *reporter) close() {
	close(r.newest)
	<-r.gone
}

// An overview combines the progress of all workers and passes it to one function.
type overview struct {
	mu   sync.Mutex
	all  []Progress
	show func(Progress)
}

func (o *overview) put(worker int, p Progress) {
	if o.show == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p.GPU = o.all[worker].GPU
	o.all[worker] = p
	o.show(combine(o.all))
}

// combine returns the progress of all workers together. Its estimate of the time left assumes that
// the remaining files take as long as the files that have ended, and that all GPUs share them. Its
// peak is that of the GPU with the largest share in use: peaks are not added.
func combine(workers []Progress) Progress {
	all := Progress{Workers: slices.Clone(workers), HasLeft: true}
	sum := queue.Pace{AudioKnown: true}
	var most peak
	for _, p := range workers {
		all.Done += p.Done
		all.Failed += p.Failed
		all.Restarts += p.Restarts
		if of := (peak{p.Peak, p.Total}); of.exceeds(most) {
			most = of
		}
		all.Files = max(all.Files, p.Files)
		all.Elapsed = max(all.Elapsed, p.Elapsed)
		all.Left = max(all.Left, p.Left)
		all.HasLeft = all.HasLeft && p.HasLeft
		sum.InWork += p.pace.InWork
		sum.InWorkAudio += p.pace.InWorkAudio
		if p.pace.Done == 0 {
			continue
		}
		if sum.Done == 0 || p.pace.Since < sum.Since {
			sum.Since = p.pace.Since
		}
		sum.LeftAudio = p.pace.LeftAudio + p.pace.DoneAudio // of the whole batch
		sum.Done += p.pace.Done
		sum.DoneAudio += p.pace.DoneAudio
		sum.AudioKnown = sum.AudioKnown && p.pace.AudioKnown
		sum.Spent = max(sum.Spent, p.pace.Spent)
	}
	all.Peak, all.Total = most.bytes, most.total
	if all.Files > 0 { // else all workers soak until the same time
		sum.Left = all.Files - sum.Done
		sum.LeftAudio -= sum.DoneAudio
		all.Left, all.HasLeft = sum.Remaining()
	}
	return all
}
