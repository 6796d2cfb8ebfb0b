//go:build whisper

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/pipeline/meter"
)

// TestIsolatedTranscription: a stage in a worker logs the same as in the process. Its memory is in
// the ledger while the worker lives, and is then freed completely.
func TestIsolatedTranscription(t *testing.T) {
	t.Parallel()
	files := audioFiles(t)[:3]
	read := func(args ...string) string {
		out := t.TempDir()
		log, stderr, exit := gpupipeline(t, append(append([]string{
			"--model", model, "--device",
			"host", "--out", out,
		}, args...), files...)...)
		if exit != "0" || stderr != "" || statuses(log) != "ok ok ok" {
			t.Fatalf("%v: exit %s, files %s, stderr %s", args, exit, statuses(log), stderr)
		}
		for _, f := range log.Files {
			if diff := cmp.Diff(wholeFile, names(f)); diff != "" {
				t.Error(diff)
			}
			// The model has 30 MB.
			if held := holds(t, f, "Whisper Cleanup"); held < 30_000_000 {
				t.Errorf("%v: the transcription holds %d bytes", args, held)
			}
			if got := freed(t, f, "Whisper Cleanup"); got < 99.9 {
				t.Errorf("%v: Whisper Cleanup freed %.2f %%", args, got)
			}
		}
		var all []byte
		for _, path := range files {
			text, err := os.ReadFile(filepath.Join(out, documentName(path, "json")))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, text...)
		}
		return string(all)
	}
	if diff := cmp.Diff(read(), read("--isolate", "whisper")); diff != "" {
		t.Errorf("transcripts of a worker differ:\n%s", diff)
	}
}

// TestWorkerCrash: a crash in a worker fails only its file. Later files have their own workers.
func TestWorkerCrash(t *testing.T) {
	t.Parallel()
	log, stderr, exit := gpupipeline(t, append([]string{
		"--model", model, "--isolate", "whisper",
		"--fault", "crash:2",
	}, audioFiles(t)[:3]...)...)
	if exit != "1" || statuses(log) != "ok failed ok" || !strings.Contains(stderr,
		"gpupipeline: 1 of 3 files failed\n") {
		t.Fatalf("exit %s, files %s, stderr %s", exit, statuses(log), stderr)
	}
	const want = "Transcription: the process of stage whisper ended: signal: aborted"
	if !strings.HasPrefix(log.Files[1].Error, want) {
		t.Errorf("expected error %q, found %q", want, log.Files[1].Error)
	}
	if diff := cmp.Diff(wholeFile, names(log.Files[1])); diff != "" {
		t.Error(diff)
	}
	if grown := idle(log.Files[2]) - idle(log.Files[0]); grown > 64<<10 {
		t.Errorf("the crash left %d bytes", grown)
	}
}

// TestNoOrphans: when the process ends, its worker ends too. The test sends a signal, after which
// the process cleans up, and a kill, after which it cannot.
func TestNoOrphans(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		signal syscall.Signal
		exit   string
	}{{syscall.SIGTERM, "143"}, {syscall.SIGKILL, "killed"}} {
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = log.Close() }() // the log is read by its path
		cmd := command(t, "--model", model, "--isolate", "whisper", "--fault", "hang:1",
			audioFiles(t)[0])
		cmd.Stdout = log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "transcription", func() bool { // earlier workers only test the models
			text, err := os.ReadFile(log.Name())
			return err == nil && bytes.Contains(text, []byte("Before Transcription"))
		})
		var worker int
		await(t, "worker", func() bool {
			for _, pid := range meter.Tree(cmd.Process.Pid)[1:] {
				if args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil &&
					bytes.Contains(args, []byte(workerFlag)) {
					worker = pid
				}
			}
			return worker != 0
		})
		for _, pid := range []int{cmd.Process.Pid, worker} {
			name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			if want := filepath.Base(cmd.Path); err != nil ||
				strings.TrimSpace(string(name)) != want[:min(15, len(want))] {
				t.Errorf("the system calls process %d %s, %v", pid, name, err)
			}
		}
		if err := cmd.Process.Signal(test.signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the state has the result
		if got := ending(cmd); got != test.exit {
			t.Errorf("%v: exit %s", test.signal, got)
		}
		await(t, "end of the worker", func() bool {
			args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", worker))
			// The process is gone, or a zombie that nobody waits for.
			return err != nil || !bytes.Contains(args, []byte(workerFlag))
		})
		if test.signal == syscall.SIGTERM {
			text, err := os.ReadFile(log.Name())
			if err != nil {
				t.Fatal(err)
			}
			tl := timelineOf(t, bytes.NewReader(text))
			if statuses(tl) != "failed" || !strings.Contains(tl.Files[0].Error,
				"interrupted: terminated") {
				t.Errorf("files %s: %+v", statuses(tl), tl.Files)
			}
			if all := names(tl.Files[0]); all[len(all)-1] != "After Final Cleanup" {
				t.Errorf("the file was not cleaned up: %q", all)
			}
		}
	}
}

func TestWorkerAlone(t *testing.T) {
	t.Parallel()
	log, stderr, exit := gpupipeline(t, workerFlag)
	if exit != "2" || len(log.Files) != 0 || !strings.Contains(stderr,
		"--worker is for gpupipeline itself") {
		t.Errorf("exit %s, stderr %q", exit, stderr)
	}
}

// TestWorkerOutOfMemory: the error says if a worker ended because memory ran out. Either the system
// killed it, or an engine reported it and aborted.
func TestWorkerOutOfMemory(t *testing.T) {
	t.Setenv(child, "1")
	host, err := meter.OpenHost(meter.MallocFixed)
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{host: host, workers: map[*worker]bool{}}
	for end, want := range map[string]string{
		"kill": "the process of stage diarization ended: signal: killed; the system kills a " +
			"process when memory runs out: out of memory",
		"bad_alloc": "the process of stage diarization ended: signal: aborted: out of memory",
		"crash":     "the process of stage diarization ended: signal: aborted",
	} {
		w, err := startWorker(t.Context(), stageDiarization, l, nil)
		if err != nil {
			t.Fatal(err)
		}
		var m Memory
		if err = w.call(t.Context(), "Open", EngineSettings{Malloc: meter.MallocFixed},
			&None{}); err == nil {
			err = w.call(t.Context(), "Memory", None{}, &m)
		}
		if err != nil || m.Allocated == 0 {
			t.Fatalf("%+v, %v", m, err)
		}
		switch end {
		case "kill":
			w.kill()
			err = w.call(t.Context(), "Memory", None{}, &m)
		case "bad_alloc":
			if _, err := w.last.Write([]byte("terminate called after throwing an instance of " +
				"'std::bad_alloc'\n")); err != nil {
				t.Fatal(err)
			}
			err = w.call(t.Context(), "Crash", None{}, &None{})
		default:
			err = w.call(t.Context(), "Crash", None{}, &None{})
		}
		if err == nil || err.Error() != want || outOfMemory(err) != (end != "crash") {
			t.Errorf("%s: found %v", end, err)
		}
		if _, ok := errors.AsType[*meter.OutOfMemoryError](refusal(err, l.onnxDevice("cpu"),
			0)); ok != (end != "crash") {
			t.Errorf("%s: a file would not go on by itself: %v", end, err)
		}
		if err := w.Close(); err != nil {
			t.Errorf("%s: closing: %v", end, err)
		}
	}
}

// await polls until a condition holds. It waits long, because a loaded machine may be slow.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s", what)
		}
	}
}

func holds(t *testing.T, f *timeline.File, cleanup string) int64 {
	t.Helper()
	for _, c := range f.Cleanups {
		if c.Name == cleanup {
			before := f.Checkpoints[c.Before]
			return before.Bytes(record.Holds)
		}
	}
	t.Errorf("%s has no %s", f.Path, cleanup)
	return 0
}

// TestWorkersTrustTheWarmUp: the workers of files do not repeat the trials of models that a worker
// made before the batch.
func TestWorkersTrustTheWarmUp(t *testing.T) {
	t.Setenv(child, "1")
	o, err := parse(withModels("--isolate", "diarization", "a.wav"), variables(""))
	if err != nil {
		t.Fatal(err)
	}
	e := newEngines(o, &ledger{workers: map[*worker]bool{}})
	if err := e.warmDiarization(t.Context()); err != nil {
		t.Fatal(err)
	}
	var tried []string
	for _, trial := range e.settings.Tried {
		tried = append(tried, trial.Path)
	}
	slices.Sort(tried)
	if diff := cmp.Diff([]string{embedding, segmentation}, tried); diff != "" {
		t.Error(diff)
	}
}
