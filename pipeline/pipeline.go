package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// A Runner logs checkpoints around stages and cleanups: readings of a device's memory. Several
// goroutines may call its methods at once.
type Runner struct {
	Device meter.Device
	Log    io.Writer // gets one Write for each line
	// Keep names cleanups that free nothing, as if a variable still referred to the model. The
	// runner frees their memory when the next file begins, as if the pipeline then assigned a new
	// model to the variable. Keep is a fault for testing; leave it empty in production.
	Keep []string
	// KeepCache prevents the runner from releasing cached memory, to show how much accumulates.
	KeepCache bool
	// Describe, if set, is called before the runner logs advice. It fills in the fields of the
	// Situation that the runner does not know.
	Describe func(*Situation)

	mu      sync.Mutex
	line    []byte
	err     error
	kept    []func() error
	batches map[string]int // by the work, such as "voice enrollment"

	// For advice: see the fields of [Situation] with the same names.
	files        int
	first, start int64
	held         map[string]int64

	// For Watch.
	watched     bool
	most        int64 // most bytes allocated since the last checkpoint
	checkpoints int   // checkpoints that have logged their peak
}

// Checkpoint logs the device's memory under a name, and a warning if little memory is left.
func (r *Runner) Checkpoint(name string) { r.checkpoint(name, nil) }

// Err returns the first error that occurred while the log was written.
func (r *Runner) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Stage runs work between the checkpoints "Before NAME" and "After NAME". If the stage has
// cleanups, they run before the second checkpoint, which is then called "After NAME
// (post-cleanup)". These are the names that transcription pipelines use.
//
// A panic in work is returned as a [*PanicError]. Errors of cleanups are joined to work's error.
func (r *Runner) Stage(ctx context.Context, name string, work func(context.Context,
	*Scope) error,
) (err error) {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	r.Checkpoint("Before " + name)
	after := "After " + name
	defer func() { r.Checkpoint(after) }()
	err = r.Scope(ctx, func(ctx context.Context, s *Scope) error {
		defer func() {
			if len(s.cleanups) > 0 {
				after += " (post-cleanup)"
			}
		}()
		return work(ctx, s)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Scope runs work and then the cleanups that work registered, the last one first. It treats panics
// and errors as Stage does, but logs no checkpoints before and after work.
func (r *Runner) Scope(ctx context.Context, work func(context.Context, *Scope) error) (err error) {
	s := &Scope{runner: r}
	defer func() { err = errors.Join(err, s.close()) }()
	return guard(func() error { return work(ctx, s) })
}

// guard runs f and returns a panic of f as a [*PanicError]. A runtime.Goexit in f passes through.
func guard(f func() error) (err error) {
	returned := false
	defer func() {
		if !returned {
			if value := recover(); value != nil { // nil: the goroutine is exiting
				err = &PanicError{value, debug.Stack()}
			}
		}
	}()
	err = f()
	returned = true
	return err
}

// A PanicError is a panic in a stage's work or in a cleanup.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine that panicked, as the runtime prints it
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the panic's value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// A Scope holds the cleanups of a stage or of a file.
type Scope struct {
	runner   *Runner
	cleanups []cleanup
}

type cleanup struct {
	name  string
	holds func() int64
	free  func() error
}

// Defer registers a cleanup. At the scope's end, free runs between the checkpoints "Before NAME
// Cleanup" and "After NAME Cleanup". holds is called just before free and returns how many bytes
// free should release; see [Scope.Growth].
func (s *Scope) Defer(name string, holds func() int64, free func() error) {
	s.cleanups = append(s.cleanups, cleanup{name, holds, free})
}

// Growth returns a function that returns by how many bytes the allocated memory has grown since
// Growth was called. Call Growth before a model is loaded and pass the function to [Scope.Defer]:
// at the cleanup it returns the memory of the model and of the work done with the model. Memory of
// cleanups that were registered later does not count, because these cleanups have run by then.
func (s *Scope) Growth() func() int64 {
	before := s.runner.allocated()
	return func() int64 { return max(0, s.runner.allocated()-before) }
}

// close runs the cleanups, the last one first. If a cleanup calls runtime.Goexit, the others still
// run.
func (s *Scope) close() (err error) {
	defer func() {
		if len(s.cleanups) > 0 {
			err = errors.Join(err, s.close())
		}
	}()
	for len(s.cleanups) > 0 {
		last := len(s.cleanups) - 1
		c := s.cleanups[last]
		s.cleanups = s.cleanups[:last]
		if cleanupErr := s.runner.cleanup(c); cleanupErr != nil {
			err = errors.Join(err, fmt.Errorf("%s Cleanup: %w", c.name, cleanupErr))
		}
	}
	return err
}

func (r *Runner) cleanup(c cleanup) error {
	r.checkpoint("Before "+c.name+" Cleanup", func() int64 {
		held := c.holds()
		r.recordHeld(c.name, held)
		return held
	})
	defer func() {
		r.trim()
		r.Checkpoint("After " + c.name + " Cleanup")
	}()
	if slices.Contains(r.Keep, c.name) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.kept = append(r.kept, c.free)
		return nil
	}
	return guard(c.free)
}

// dropKept frees the memory that the cleanups in Runner.Keep did not free.
func (r *Runner) dropKept() (err error) {
	r.mu.Lock()
	kept := r.kept
	r.kept = nil
	r.mu.Unlock()
	for _, free := range kept {
		err = errors.Join(err, guard(free))
	}
	if kept != nil {
		r.trim()
	}
	return err
}

// allocated returns the device's allocated memory in bytes, or 0 if the device cannot be read. The
// next checkpoint logs the error.
func (r *Runner) allocated() int64 {
	reading, err := r.Device.Read()
	if err != nil {
		return 0
	}
	return reading.Bytes(record.Allocated)
}

// If a larger part of the device's memory than these is allocated, checkpoint logs a warning, in
// the words of other transcription pipelines.
const (
	criticalShare = 0.85
	elevatedShare = 0.70
)

func (r *Runner) checkpoint(name string, holds func() int64) {
	reading, err := r.Device.Read()
	if err != nil {
		r.Logf("WARNING: Failed to log GPU memory: %v", err)
		return
	}
	if holds != nil {
		reading.Set(record.Holds, record.Exact(holds()))
	}
	if r.watched {
		reading.Set(record.Peak, record.Exact(r.takePeak(reading.Bytes(record.Allocated))))
	}
	c := record.Checkpoint{Name: name, Lane: r.Device.Lane(), Reading: reading}
	r.write(func(b []byte, now time.Time) []byte {
		c.Time = now
		return c.AppendLine(b)
	})
	total := reading.Bytes(record.Total)
	if total <= 0 {
		return
	}
	switch share := float64(reading.Bytes(record.Allocated)) / float64(total); {
	case share > criticalShare:
		r.Logf("WARNING: GPU memory usage is critically high (%.1f%%). Consider reducing batch "+
			"size or using a smaller model.", 100*share)
	case share > elevatedShare:
		r.Logf("NOTICE: GPU memory usage is elevated (%.1f%%). Monitor for potential OOM "+
			"conditions.", 100*share)
	}
}

// Logf logs a line of text with a time stamp.
func (r *Runner) Logf(format string, args ...any) {
	r.write(func(b []byte, now time.Time) []byte {
		b = now.AppendFormat(b, record.TimeLayout)
		b = append(b, ' ')
		return fmt.Appendf(b, format, args...)
	})
}

// write writes a line with one call of Write, so that lines of several goroutines never mix. It
// takes the time under the lock, so that times never go back in the log.
func (r *Runner) write(appendLine func(b []byte, now time.Time) []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line = append(appendLine(r.line[:0], time.Now().UTC()), '\n')
	if _, err := r.Log.Write(r.line); err != nil && r.err == nil {
		r.err = fmt.Errorf("writing the log: %w", err)
	}
}
