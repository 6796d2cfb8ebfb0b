package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"

	"github.com/google/go-cmp/cmp"
)

// device is a meter.Device whose memory a test sets by hand.
type device struct {
	allocated, total int64
	trims            int
	err              error
}

func (d *device) Read() (record.Reading, error) { return d.reading(), d.err }

func (d *device) reading() (r record.Reading) {
	r.Set(record.Allocated, record.Exact(d.allocated))
	r.Set(record.Reserved, record.Exact(d.allocated))
	r.Set(record.Total, record.Exact(d.total))
	return r
}

func (d *device) Trim() { d.trims++ }

func (d *device) Lane() record.Lane { return record.Lane{} }

// load allocates n bytes and returns the function that frees them.
func (d *device) load(n int64) func() error {
	d.allocated += n
	return func() error {
		d.allocated -= n
		return nil
	}
}

var checkpointPattern = regexp.MustCompile(
	`^.*\[GPU Memory\] ([^:]+): .*\| allocated=(\d+)(?:.*( holds=\d+))?.*$`)

// brief shortens a log so that it can be compared: a checkpoint becomes "NAME ALLOCATED holds=N".
func brief(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		line = strings.TrimSuffix(line, "\n")
		fmt.Fprintln(&b, checkpointPattern.ReplaceAllString(line, "$1 $2$3"))
	}
	return b.String()
}

func newRunner(d *device) (*Runner, *bytes.Buffer) {
	log := new(bytes.Buffer)
	return &Runner{Device: d, Log: log}, log
}

func expectLog(t *testing.T, log *bytes.Buffer, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimLeft(want, "\n"), brief(log.String())); diff != "" {
		t.Errorf("log (-expected +found):\n%s", diff)
	}
}

// transcription runs a stage that loads a model of 1000 bytes. The work of the stage allocates 24
// bytes more and then calls end, which returns, fails, panics or ends the goroutine.
func transcription(d *device, r *Runner, end func() error) error {
	return r.Stage(context.Background(), "Transcription", func(_ context.Context, s *Scope) error {
		held := s.Growth()
		free := d.load(1000)
		s.Defer("Whisper", held, func() error {
			d.allocated -= 24
			return free()
		})
		d.allocated += 24
		return end()
	})
}

// transcriptionLog is the log of the stage. It is the same in whichever way the work ends.
const transcriptionLog = `
Before Transcription 10
Before Whisper Cleanup 1034 holds=1024
After Whisper Cleanup 10
After Transcription (post-cleanup) 10
`

func TestStageCleansUpOnReturn(t *testing.T) {
	d := &device{allocated: 10, total: 1 << 40}
	r, log := newRunner(d)
	if err := transcription(d, r, func() error { return nil }); err != nil {
		t.Error(err)
	}
	expectLog(t, log, transcriptionLog)
	if d.trims != 1 {
		t.Errorf("trimmed %d times", d.trims)
	}
}

func TestStageCleansUpOnError(t *testing.T) {
	d := &device{allocated: 10, total: 1 << 40}
	r, log := newRunner(d)
	bad := errors.New("bad audio")
	err := transcription(d, r, func() error { return bad })
	if !errors.Is(err, bad) || err.Error() != "Transcription: bad audio" {
		t.Errorf("found error %v", err)
	}
	expectLog(t, log, transcriptionLog)
}

func TestStageCleansUpOnPanic(t *testing.T) {
	d := &device{allocated: 10, total: 1 << 40}
	r, log := newRunner(d)
	var nowhere []int
	err := transcription(d, r, func() error { return fmt.Errorf("unreachable %d", nowhere[3]) })
	p, ok := errors.AsType[*PanicError](err)
	if !ok || !strings.Contains(string(p.Stack), "TestStageCleansUpOnPanic") {
		t.Errorf("expected a PanicError with the stack, found %v", err)
	}
	if want := "Transcription: panic: runtime error: index out of range [3] with length 0"; err ==
		nil || err.Error() != want {
		t.Errorf("expected error %q, found %v", want, err)
	}
	if _, ok := errors.AsType[runtime.Error](err); !ok {
		t.Error("the error does not wrap the panic's value")
	}
	expectLog(t, log, transcriptionLog)
}

func TestStageCleansUpOnGoexit(t *testing.T) {
	d := &device{allocated: 10, total: 1 << 40}
	r, log := newRunner(d)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := transcription(d, r, func() error {
			runtime.Goexit()
			return nil
		})
		t.Errorf("the stage returned %v", err)
	}()
	<-done
	expectLog(t, log, transcriptionLog)
}

func TestCleanupsRunLastFirst(t *testing.T) {
	d := &device{total: 1 << 40}
	r, log := newRunner(d)
	err := r.Stage(t.Context(), "Diarization", func(_ context.Context, s *Scope) error {
		for i, name := range []string{"Model", "Waveform", "Tensors"} {
			held := s.Growth()
			free := d.load(int64(i+1) * 100)
			s.Defer(name, held, free)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	expectLog(t, log, `
Before Diarization 0
Before Tensors Cleanup 600 holds=300
After Tensors Cleanup 300
Before Waveform Cleanup 300 holds=200
After Waveform Cleanup 100
Before Model Cleanup 100 holds=100
After Model Cleanup 0
After Diarization (post-cleanup) 0
`)
}

// TestFailingCleanups: if a cleanup fails, panics or ends its goroutine, the other cleanups still
// run.
func TestFailingCleanups(t *testing.T) {
	d := &device{total: 1 << 40}
	r, log := newRunner(d)
	work := func(goexit bool) error {
		return r.Stage(context.Background(), "Stage", func(_ context.Context, s *Scope) error {
			none := func() int64 { return 0 }
			s.Defer("First", none, func() error { return errors.New("no driver") })
			s.Defer("Second", none, func() error { panic("twice freed") })
			s.Defer("Third", none, func() error {
				if goexit {
					runtime.Goexit()
				}
				return nil
			})
			return errors.New("the work failed")
		})
	}
	want := "Stage: the work failed\nSecond Cleanup: panic: twice freed\nFirst Cleanup: no driver"
	if err := work(false); err == nil || err.Error() != want {
		t.Errorf("expected error %q, found %v", want, err)
	}
	const lines = `Before Stage 0
Before Third Cleanup 0 holds=0
After Third Cleanup 0
Before Second Cleanup 0 holds=0
After Second Cleanup 0
Before First Cleanup 0 holds=0
After First Cleanup 0
After Stage (post-cleanup) 0
`
	expectLog(t, log, lines)
	log.Reset()
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := work(true)
		t.Errorf("the stage returned %v", err)
	}()
	<-done
	expectLog(t, log, lines)
}

func TestStageWithoutCleanup(t *testing.T) {
	d := &device{total: 1 << 40}
	r, log := newRunner(d)
	nothing := func(context.Context, *Scope) error { return nil }
	if err := r.Stage(t.Context(), "Audio Preprocessing", nothing); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := r.Stage(ctx, "Transcription", nothing); !errors.Is(err, why) {
		t.Errorf("canceled: found error %v", err)
	}
	expectLog(t, log, `
Before Audio Preprocessing 0
After Audio Preprocessing 0
`)
}

// TestWarnings: the runner logs a notice above 70 % of the device's memory and a warning above 85
// %, in the words of the original pipeline.
func TestWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{total: 1000 << 30}
		r, log := newRunner(d)
		for _, share := range []int64{700, 701, 850, 851} {
			d.allocated = share << 30
			r.Checkpoint("Level")
		}
		d.err = errors.New("driver shutting down")
		r.Checkpoint("Level")
		expectLog(t, log, `
Level 751619276800
Level 752693018624
2000-01-01T00:00:00.000Z NOTICE: GPU memory usage is elevated (70.1%). Monitor for potential OOM conditions.
Level 912680550400
2000-01-01T00:00:00.000Z NOTICE: GPU memory usage is elevated (85.0%). Monitor for potential OOM conditions.
Level 913754292224
2000-01-01T00:00:00.000Z WARNING: GPU memory usage is critically high (85.1%). Consider reducing batch size or using a smaller model.
2000-01-01T00:00:00.000Z WARNING: Failed to log GPU memory: driver shutting down
`)
	})
}

// TestCheckpointLine compares a whole line of the log, with all numbers in bytes and with holds= of
// a cleanup.
func TestCheckpointLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{total: 24 << 30}
		r, log := newRunner(d)
		_ = r.Scope(t.Context(), func(_ context.Context, s *Scope) error {
			held := s.Growth()
			s.Defer("Whisper", held, d.load(6<<30))
			return nil
		})
		want := "2000-01-01T00:00:00.000Z [GPU Memory] Before Whisper Cleanup: Allocated: 6.00GB " +
			"(25.0%) | Reserved: 6.00GB (25.0%) | " +
			"Free: 18.00GB | Total: 24.00GB | allocated=6442450944 reserved=6442450944 " +
			"total=25769803776 holds=6442450944 device=0\n"
		if line, _, _ := strings.Cut(log.String(),
			"2000-01-01T00:00:00.000Z [GPU Memory] After"); line != want {
			t.Errorf("expected %q, found %q", want, line)
		}
	})
}

var _ meter.Device = (*device)(nil)

func TestKeepCache(t *testing.T) {
	d := &device{total: 1 << 40}
	r, log := newRunner(d)
	r.KeepCache = true
	b := &Batch{Runner: r, First: 1, Work: func(context.Context, *Scope, File) error {
		r.Clear("before transcription")
		return errors.Join(transcription(d, r, func() error {
			return nil
		}), &meter.OutOfMemoryError{Requested: 1})
	}}
	if _, err := b.Run(t.Context(), feed("1", "2")); err != nil {
		t.Error(err)
	}
	if d.trims != 0 || strings.Contains(log.String(), "Cleared") {
		t.Errorf("trimmed %d times, log\n%s", d.trims, log)
	}
}
