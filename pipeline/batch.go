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
	Index int // position in the batch; the first file has Batch.First
	Path  string
}

// A Batch processes files one after the other. If a file fails, the batch goes on with the next
// one.
type Batch struct {
	Runner *Runner
	// First is the index of the first file, usually 1. It is higher if an earlier process handled the
	// files before it.
	First int
	// Work processes a file. Cleanups that it registers with file.Defer run when it has returned.
	Work func(ctx context.Context, file *Scope, f File) error
	// Failed, if set, is called for each file that failed.
	Failed func(f File, err error)
	// AnyThread lets Go's runtime choose the thread for each file. By default one thread does all
	// work, because memory grows with the number of threads: each thread gets its own arena of the
	// C allocator, and engines keep state for each thread. Set AnyThread to show this growth.
	AnyThread bool
}

// A Result is the number of files of a batch, and how many of them failed.
type Result struct{ Files, Failed int }

// errGoexit is the error of a file whose Work called runtime.Goexit.
var errGoexit = errors.New("the work called runtime.Goexit")

// Run processes the files as their paths arrive. It returns early with an error if ctx is canceled
// (the error is the cause), if paths yields an error, or if the log cannot be written.
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
	err = errGoexit
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

// A worker runs functions in its own goroutine, so that runtime.Goexit in a function ends only that
// goroutine. Unless anyThread is set, the goroutine stays on one thread: OpenMP and CUDA keep state
// for each thread that calls them, and that state would look like a leak of the pipeline.
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
		return errGoexit
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
