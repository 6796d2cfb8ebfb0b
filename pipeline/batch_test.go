package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

func feed(paths ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, path := range paths {
			if !yield(path, nil) {
				return
			}
		}
	}
}

// TestBatch has one file for each way in which work can end. After each file the batch goes on.
func TestBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{total: 1 << 40}
		r, log := newRunner(d)
		var failed []string
		b := &Batch{
			Runner: r,
			First:  7,
			Work: func(_ context.Context, file *Scope, f File) error {
				time.Sleep(250 * time.Millisecond)
				file.Defer("Final", func() int64 { return 100 }, d.load(100))
				switch f.Path {
				case "panics.wav":
					panic("at 3 s")
				case "fails.wav":
					return errors.New("no such codec")
				case "exits.wav":
					runtime.Goexit()
				case "big.wav":
					return fmt.Errorf("Transcription: %w",
						&meter.OutOfMemoryError{Requested: 2 << 30})
				}
				return nil
			},
			Failed: func(f File, err error) {
				failed = append(failed, fmt.Sprintf("%d %s: %v", f.Index, f.Path, err))
			},
		}
		result, err := b.Run(t.Context(), feed("good.wav", "panics.wav", "fails.wav", "exits.wav",
			"big.wav", "last.wav"))
		if err != nil || result != (Result{Files: 6, Failed: 4}) {
			t.Errorf("found %+v, %v", result, err)
		}
		const oom = "out of memory. Tried to allocate 2.00 GiB. Device 0 has a total capacity of " +
			"0 bytes of which 0 bytes is free. " +
			"Of the allocated memory 0 bytes is allocated, and 0 bytes is reserved but unallocated."
		want := []string{
			"8 panics.wav: panic: at 3 s", "9 fails.wav: no such codec",
			"10 exits.wav: the work called runtime.Goexit",
			"11 big.wav: Transcription: " + oom,
		}
		if diff := cmp.Diff(want, failed); diff != "" {
			t.Error(diff)
		}
		const levels = "Pipeline Initialization 0\nBefore Final Cleanup 100 holds=100\nAfter " +
			"Final Cleanup 0\n"
		expectLog(t, log, `
2000-01-01T00:00:00.000Z Cleared GPU cache at start
[pipeline] file-start time=2000-01-01T00:00:00.000Z path=good.wav
`+levels+`[pipeline] file-end time=2000-01-01T00:00:00.250Z path=good.wav status=ok seconds=0.250
[pipeline] file-start time=2000-01-01T00:00:00.250Z path=panics.wav
`+levels+`[pipeline] file-end time=2000-01-01T00:00:00.500Z path=panics.wav status=failed seconds=0.250 error="panic: at 3 s"
[pipeline] file-start time=2000-01-01T00:00:00.500Z path=fails.wav
`+levels+`[pipeline] file-end time=2000-01-01T00:00:00.750Z path=fails.wav status=failed seconds=0.250 error="no such codec"
[pipeline] file-start time=2000-01-01T00:00:00.750Z path=exits.wav
`+levels+`[pipeline] file-end time=2000-01-01T00:00:01.000Z path=exits.wav status=failed seconds=0.250 error="the work called runtime.Goexit"
[pipeline] file-start time=2000-01-01T00:00:01.000Z path=big.wav
`+levels+`2000-01-01T00:00:01.250Z ERROR: `+oom+`
2000-01-01T00:00:01.250Z Cleared GPU cache before the next file
[pipeline] file-end time=2000-01-01T00:00:01.250Z path=big.wav status=oom seconds=0.250 error="Transcription: `+oom+`"
[pipeline] file-start time=2000-01-01T00:00:01.250Z path=last.wav
`+levels+`[pipeline] file-end time=2000-01-01T00:00:01.500Z path=last.wav status=ok seconds=0.250
`)
	})
}

// TestBatchLogIsRead: the parser finds the files, stages and cleanups of a batch in its log.
func TestBatchLogIsRead(t *testing.T) {
	d := &device{total: 1 << 40}
	r, log := newRunner(d)
	b := &Batch{Runner: r, First: 1, Work: func(_ context.Context, file *Scope, _ File) error {
		file.Defer("Final", func() int64 { return 50 }, d.load(50))
		return transcription(d, r, func() error { return nil })
	}}
	if _, err := b.Run(t.Context(), feed("a b.wav", `c"=.wav`)); err != nil {
		t.Fatal(err)
	}
	tl, err := parser.Build(parser.Read(log, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if len(tl.Bad) > 0 || len(tl.Files) != 2 {
		t.Fatalf("expected 2 files, found %d; bad lines: %v", len(tl.Files), tl.Bad)
	}
	for i, path := range []string{"a b.wav", `c"=.wav`} {
		f := tl.Files[i]
		if f.Path != path || f.Status != record.StatusOK || len(f.Stages) != 1 ||
			len(f.Cleanups) != 2 || len(f.Unpaired) != 0 {
			t.Errorf("file %d read as %+v", i, f)
		}
	}
}

// TestKeep: a cleanup in Runner.Keep frees its memory only when the next file begins. So no cleanup
// frees memory, but the memory of several files does not add up.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{allocated: 10, total: 1 << 40}
		r, log := newRunner(d)
		r.Keep = []string{"Whisper"}
		b := &Batch{Runner: r, First: 1, Work: func(context.Context, *Scope, File) error {
			return transcription(d, r, func() error { return nil })
		}}
		if _, err := b.Run(t.Context(), feed("1", "2")); err != nil {
			t.Error(err)
		}
		const levels = `Pipeline Initialization 10
Before Transcription 10
Before Whisper Cleanup 1034 holds=1024
After Whisper Cleanup 1034
After Transcription (post-cleanup) 1034
`
		expectLog(t, log, `
2000-01-01T00:00:00.000Z Cleared GPU cache at start
[pipeline] file-start time=2000-01-01T00:00:00.000Z path=1
`+levels+`[pipeline] file-end time=2000-01-01T00:00:00.000Z path=1 status=ok seconds=0.000
[pipeline] file-start time=2000-01-01T00:00:00.000Z path=2
`+levels+`[pipeline] file-end time=2000-01-01T00:00:00.000Z path=2 status=ok seconds=0.000
`)
	})
}

func TestBatchEndsEarly(t *testing.T) {
	d := &device{total: 1 << 40}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	var worked []string
	b := &Batch{First: 1, Work: func(_ context.Context, _ *Scope, f File) error {
		if worked = append(worked, f.Path); f.Path == "2" {
			cancel(stop)
		}
		return nil
	}}
	b.Runner, _ = newRunner(d)
	if result, err := b.Run(ctx, feed("1", "2", "3")); !errors.Is(err, stop) || result.Files != 2 ||
		!slices.Equal(worked, []string{"1", "2"}) {
		t.Errorf("canceled: found %+v, %v after %v", result, err, worked)
	}

	broken := errors.New("list: is a directory")
	b.Runner, _ = newRunner(d)
	_, err := b.Run(t.Context(), func(yield func(string, error) bool) {
		_ = yield("1", nil) && yield("", broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("unreadable list: found %v", err)
	}

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }() // writes to /dev/full always fail
	b.Runner = &Runner{Device: d, Log: io.Writer(full)}
	if result, err := b.Run(t.Context(), feed("1", "3")); err == nil || result.Files != 1 {
		t.Errorf("full disk: found %+v, %v", result, err)
	}
}

// TestBatchStaysOnAThread: all files run on one thread, until a file's work calls runtime.Goexit.
// The batch then goes on on another thread.
func TestBatchStaysOnAThread(t *testing.T) {
	var threads []string
	b := &Batch{First: 1, Work: func(context.Context, *Scope, File) error {
		link, err := os.Readlink("/proc/thread-self")
		threads = append(threads, link)
		return err
	}}
	b.Runner, _ = newRunner(&device{total: 1 << 40})
	if _, err := b.Run(t.Context(), feed(make([]string, 50)...)); err != nil {
		t.Fatal(err)
	}
	if threads = slices.Compact(threads); len(threads) != 1 {
		t.Errorf("50 files ran on the threads %v", threads)
	}
}
