package pipeline

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"time"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// A File is one file of a batch.
type File struct {
	Index int // place in the batch, from Batch.First
	Path  string
}

// A Batch is work that is done on one file after the other. A file that fails does not end it.
type Batch struct {
	Runner *Runner
	// First is the index of the first file: 1, or more where an earlier process did a part of the
	// batch.
	First int
	// Work does the work on a file. What it defers in the file's scope is cleaned up when the
	// file's work ends.
	Work func(ctx context.Context, file *Scope, f File) error
	// Failed, where set, is told of each file that failed.
	Failed func(f File, err error)
	// AnyThread lets the work wander over the threads of Go's runtime, as that of a program does
	// that takes no care: each thread has an arena of the C allocator's, and keeps what engines
	// hold for a thread. By default one thread does it all.
	AnyThread bool
}

// A Result counts the files of a batch.
type Result struct{ Files, Failed int }

// ErrGoexit is the error of a file whose work ended its goroutine.
var ErrGoexit = errors.New("the work called runtime.Goexit")

// Run works on the files as their paths come. It returns early when ctx is canceled, with its
// cause; when paths yields an error, with that; and when the log cannot be written any more.
func (b *Batch) Run(ctx context.Context, paths iter.Seq2[string, error]) (Result, error) {
	var (
		result Result
		w      worker
	)
	w.anyThread = b.AnyThread
	defer w.stop()
	b.Runner.Clear("at start")
	for path, err := range paths {
		if err != nil {
			return result, err
		}
		if err := context.Cause(ctx); err != nil {
			return result, err
		}
		f := File{Index: b.First + result.Files, Path: path}
		result.Files++
		if err := w.do(func() error { return b.file(ctx, f) }); err != nil {
			result.Failed++
			if b.Failed != nil {
				b.Failed(f, err)
			}
		}
		if err := errors.Join(context.Cause(ctx), b.Runner.Err()); err != nil {
			return result, err
		}
	}
	return result, context.Cause(ctx)
}

func (b *Batch) file(ctx context.Context, f File) (err error) {
	r := b.Runner
	start := time.Now()
	err = ErrGoexit
	r.write(func(line []byte, now time.Time) []byte {
		return record.FileStart{
			Header: record.Header{Time: now}, Pipeline: true,
			Path: f.Path,
		}.AppendLine(line)
	})
	defer func() {
		end := record.FileEnd{Pipeline: true, Path: f.Path, Status: record.StatusOK}
		if err != nil {
			end.Status, end.Error = record.StatusFailed, err.Error()
		}
		if oom, ok := errors.AsType[*meter.OutOfMemoryError](err); ok {
			end.Status = record.StatusOOM
			r.Logf("ERROR: %v", oom)
			r.Clear("before the next file")
			r.advise(Situation{Refused: oom})
		}
		r.write(func(line []byte, now time.Time) []byte {
			end.Time, end.Seconds = now, time.Since(start).Seconds()
			return end.AppendLine(line)
		})
	}()
	if err := r.dropKept(); err != nil {
		return err
	}
	r.beginFile()
	r.Checkpoint("Pipeline Initialization")
	return r.Scope(ctx, func(ctx context.Context, s *Scope) error { return b.Work(ctx, s, f) })
}

// A worker runs functions on a goroutine of its own, so that one that calls runtime.Goexit takes
// only that along, and on one thread: OpenMP and CUDA keep state for each thread that calls them,
// and a batch whose files wander over Go's threads grows by that state, which is no leak of the
// pipeline's.
type worker struct {
	anyThread bool

	jobs    chan func() error
	results chan error
}

func (w *worker) do(f func() error) error {
	if w.jobs == nil {
		w.jobs, w.results = make(chan func() error), make(chan error)
		go w.work(w.jobs, w.results)
	}
	w.jobs <- f
	err, alive := <-w.results
	if !alive {
		w.jobs = nil
		return ErrGoexit
	}
	return err
}

func (w *worker) stop() {
	if w.jobs != nil {
		close(w.jobs)
	}
}

func (w *worker) work(jobs <-chan func() error, results chan<- error) {
	if !w.anyThread {
		runtime.LockOSThread()
	}
	defer close(results)
	for f := range jobs {
		results <- f()
	}
}
