//go:build whisper

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/fixtures"
	"vramsoak/parser"
)

// The tests run this binary again as gpupipeline: a process of its own, that may die.
const child = "GPUPIPELINE_TEST_CHILD"

// Made once: the tiny model and a batch of audio.
var model, batch string

func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		main()
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "gpupipeline")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		model, batch = filepath.Join(dir, "tiny.bin"), filepath.Join(dir, "audio")
		_, err = fixtures.WriteAudio(batch, fixtures.AudioSpec{Count: 6, MinSeconds: 3, MaxSeconds: 6, Seed: 1})
		if err := errors.Join(err, fixtures.WriteWhisperModel(model, 1)); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

func audioFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(batch, "*.wav"))
	if err != nil || len(files) != 6 {
		t.Fatalf("%v, %v", files, err)
	}
	return files
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), child+"=1", "VRAMSOAK_FIRST=")
	return cmd
}

// gpupipeline runs it to its end and returns its log, its stderr, and its exit code or the signal that ended it.
func gpupipeline(t *testing.T, args ...string) (log *parser.Timeline, stderr, exit string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := command(t, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return timeline(t, &out), errs.String(), ending(cmd)
}

func timeline(t *testing.T, r io.Reader) *parser.Timeline {
	t.Helper()
	tl, err := parser.Build(parser.Read(r, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if len(tl.Bad) > 0 {
		t.Errorf("bad lines: %v", tl.Bad)
	}
	return tl
}

func ending(cmd *exec.Cmd) string {
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return fmt.Sprint(cmd.ProcessState.ExitCode())
}

var wholeFile = []string{
	"Pipeline Initialization", "Before Audio Preprocessing", "After Audio Preprocessing", "Before Transcription",
	"Before Whisper Cleanup", "After Whisper Cleanup", "After Transcription (post-cleanup)",
	"Before Final Cleanup", "After Final Cleanup",
}

func names(f *parser.File) []string {
	var names []string
	for _, c := range f.Checkpoints {
		names = append(names, c.Name)
	}
	return names
}

// freed is how much of what a cleanup holds it gave back, in per cent.
func freed(t *testing.T, f *parser.File, cleanup string) float64 {
	t.Helper()
	for _, c := range f.Cleanups {
		if c.Name == cleanup {
			before, after := f.Checkpoints[c.Before], f.Checkpoints[c.After]
			return 100 * float64(before.Bytes(parser.Allocated)-after.Bytes(parser.Allocated)) / float64(before.Bytes(parser.Holds))
		}
	}
	t.Errorf("%s has no %s", f.Path, cleanup)
	return 0
}

func idle(f *parser.File) int64 {
	return f.Checkpoints[len(f.Checkpoints)-1].Bytes(parser.Allocated)
}

func statuses(tl *parser.Timeline) string {
	var all []string
	for _, f := range tl.Files {
		all = append(all, string(f.Status))
	}
	return strings.Join(all, " ")
}

func TestCleanBatch(t *testing.T) {
	out := t.TempDir()
	log, stderr, exit := gpupipeline(t, append([]string{"--model", model, "--out", out, "--device", "host"}, audioFiles(t)...)...)
	if exit != "0" || stderr != "" || len(log.Files) != 6 {
		t.Fatalf("exit %s, %d files, stderr %q", exit, len(log.Files), stderr)
	}
	for i, f := range log.Files {
		if f.Path != audioFiles(t)[i] || f.Status != parser.StatusOK {
			t.Errorf("file %d: %s, %s", i, f.Path, f.Status)
		}
		if diff := cmp.Diff(wholeFile, names(f)); diff != "" {
			t.Error(diff)
		}
		for _, cleanup := range []string{"Whisper Cleanup", "Final Cleanup"} {
			if got := freed(t, f, cleanup); got < 95 || got > 105 {
				t.Errorf("%s: %s freed %.1f %%", f.Path, cleanup, got)
			}
		}
		// The first files leave what libraries and threads set up once; then the level is flat.
		if i > 3 && idle(f)-idle(log.Files[i-1]) > 4<<10 {
			t.Errorf("idle level of file %d: %d, of the one before %d", i, idle(f), idle(log.Files[i-1]))
		}
	}
	written, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil || len(written) != 6 {
		t.Fatalf("transcripts %v, %v", written, err)
	}
	data, err := os.ReadFile(filepath.Join(out, documentName(log.Files[0].Path)))
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if d.Path != log.Files[0].Path || d.Seconds < 3 || d.Seconds > 6 || d.Language != "en" || len(d.Segments) == 0 {
		t.Errorf("transcript %+v", d)
	}
}

func TestBadFilesDoNotEndTheBatch(t *testing.T) {
	files := audioFiles(t)[:2]
	bad := filepath.Join(t.TempDir(), "empty.wav")
	if err := os.WriteFile(bad, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	log, stderr, exit := gpupipeline(t, "--model", model, files[0], bad, filepath.Join(batch, "missing.wav"), files[1])
	if exit != "1" || statuses(log) != "ok failed failed ok" {
		t.Fatalf("exit %s, files %s", exit, statuses(log))
	}
	for _, want := range []string{"gpupipeline: file 2, " + bad + ": ", "missing.wav: ", "gpupipeline: 2 of 4 files failed\n"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q: %s", want, stderr)
		}
	}
	want := []string{
		"Pipeline Initialization", "Before Audio Preprocessing", "After Audio Preprocessing", "Before Final Cleanup", "After Final Cleanup",
	}
	if diff := cmp.Diff(want, names(log.Files[1])); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(log.Files[1].Error, "empty") {
		t.Errorf("the log says %q", log.Files[1].Error)
	}
}

// Each fault does what it says at the file that it names, and nothing elsewhere.
func TestFaults(t *testing.T) {
	files := audioFiles(t)[:3]
	run := func(t *testing.T, faults ...string) (*parser.Timeline, string, string) {
		t.Helper()
		args := []string{"--model", model, "--device", "host"}
		for _, fault := range faults {
			args = append(args, "--fault", fault)
		}
		return gpupipeline(t, append(args, files...)...)
	}
	t.Run("leak", func(t *testing.T) {
		log, _, exit := run(t, "leak:4MiB")
		if exit != "0" || statuses(log) != "ok ok ok" {
			t.Fatalf("exit %s, files %s", exit, statuses(log))
		}
		for i := 1; i < 3; i++ {
			if grown := idle(log.Files[i]) - idle(log.Files[i-1]); grown < 4<<20 || grown > 4<<20+64<<10 {
				t.Errorf("file %d keeps %d bytes", i+1, grown)
			}
			for _, cleanup := range []string{"Whisper Cleanup", "Final Cleanup"} {
				if got := freed(t, log.Files[i], cleanup); got < 95 {
					t.Errorf("%s freed %.1f %%", cleanup, got)
				}
			}
		}
	})
	t.Run("keep", func(t *testing.T) {
		log, _, exit := run(t, "keep:Whisper")
		if exit != "0" || statuses(log) != "ok ok ok" {
			t.Fatalf("exit %s, files %s", exit, statuses(log))
		}
		for _, f := range log.Files {
			if got := freed(t, f, "Whisper Cleanup"); got < -0.1 || got > 0.1 {
				t.Errorf("Whisper Cleanup freed %.2f %%", got)
			}
			if got := freed(t, f, "Final Cleanup"); got < 95 {
				t.Errorf("Final Cleanup freed %.1f %%", got)
			}
		}
		if grown := idle(log.Files[2]) - idle(log.Files[1]); grown > 64<<10 {
			t.Errorf("more than one model is kept: %d bytes more at file 3", grown)
		}
	})
	t.Run("oom", func(t *testing.T) {
		log, stderr, exit := run(t, "oom:2")
		if exit != "1" || statuses(log) != "ok oom ok" || !strings.Contains(stderr, "out of memory. Tried to allocate") {
			t.Fatalf("exit %s, files %s, stderr %s", exit, statuses(log), stderr)
		}
		if diff := cmp.Diff(wholeFile, names(log.Files[1])); diff != "" {
			t.Error(diff)
		}
		ooms := log.Files[1].OOMs
		if len(ooms) != 1 || ooms[0].Requested.High() < 2*ooms[0].Bytes(parser.Total)-ooms[0].Requested.Resolution*4 {
			t.Errorf("out of memory: %+v", ooms)
		}
	})
	t.Run("crash", func(t *testing.T) {
		log, _, exit := run(t, "crash:2")
		if exit != "aborted" || len(log.Files) != 2 || log.Files[0].Status != parser.StatusOK {
			t.Fatalf("ended by %s, files %s", exit, statuses(log))
		}
		want := wholeFile[:4]
		if diff := cmp.Diff(want, names(log.Files[1])); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("place in the batch", func(t *testing.T) {
		args := append([]string{"--model", model, "--first", "20", "--fault", "oom:21", "--fault", "oom:1"}, files...)
		if log, _, exit := gpupipeline(t, args...); exit != "1" || statuses(log) != "ok oom ok" {
			t.Errorf("exit %s, files %s", exit, statuses(log))
		}
	})
}

// A file that hangs ends with the first signal, after its cleanups.
func TestSignalCleansUp(t *testing.T) {
	for _, test := range []struct {
		signal syscall.Signal
		exit   string
	}{{syscall.SIGTERM, "143"}, {syscall.SIGINT, "130"}} {
		files := audioFiles(t)
		cmd := command(t, "--model", model, "--fault", "hang:2", files[0], files[1], files[2])
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		for lines := 0; lines < 11+5; { // up to "Before Transcription" of the second file
			var b [1]byte
			if _, err := stdout.Read(b[:]); err != nil {
				t.Fatal(err)
			}
			log.Write(b[:])
			if b[0] == '\n' {
				lines++
			}
		}
		if err := cmd.Process.Signal(test.signal); err != nil {
			t.Fatal(err)
		}
		if _, err := log.ReadFrom(stdout); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // its exit code is looked at below
		if got := ending(cmd); got != test.exit {
			t.Errorf("%v: exit %s", test.signal, got)
		}
		tl := timeline(t, &log)
		if statuses(tl) != "ok failed" || !strings.Contains(tl.Files[1].Error, "interrupted: "+test.signal.String()) {
			t.Fatalf("files %s: %+v", statuses(tl), tl.Files)
		}
		if diff := cmp.Diff(wholeFile, names(tl.Files[1])); diff != "" {
			t.Error(diff)
		}
	}
}

// Paths on stdin are worked on as they come: the next is written only when the one before is done.
func TestStdin(t *testing.T) {
	cmd := command(t, "--model", model, "--stdin")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	next := audioFiles(t)[:3]
	feed := func() {
		if len(next) == 0 {
			if err := stdin.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		if _, err := fmt.Fprintf(stdin, "\n%s\n", next[0]); err != nil {
			t.Fatal(err)
		}
		next = next[1:]
	}
	feed()
	ended := 0
	for record, err := range parser.Read(stdout, "log") {
		if err != nil {
			t.Fatal(err)
		}
		if end, ok := record.(parser.FileEnd); ok {
			if end.Status != parser.StatusOK {
				t.Errorf("%+v", end)
			}
			ended++
			feed()
		}
	}
	if err := cmd.Wait(); err != nil || ended != 3 {
		t.Errorf("%d files ended, %v", ended, err)
	}
}

func TestList(t *testing.T) {
	list := filepath.Join(t.TempDir(), "batch.txt")
	if err := os.WriteFile(list, []byte(strings.Join(audioFiles(t)[:2], "\r\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	if log, stderr, exit := gpupipeline(t, "--model", model, "--list", list); exit != "0" || statuses(log) != "ok ok" {
		t.Errorf("exit %s, files %s, stderr %s", exit, statuses(log), stderr)
	}
}

func TestTrouble(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.txt")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, want string }{
		{"", "--model: expected a model file, found none\nexpected audio files, --list or --stdin, found none"},
		{"--model MODEL", "expected audio files, --list or --stdin, found none"},
		{"--model " + dir + " a.wav", "--model: expected a file, found the folder"},
		{"--model " + dir + "/none a.wav", "--model: stat "},
		{"--model MODEL --list " + dir + "/none", "--list: open "},
		{"--model MODEL --list " + dir, "--list: read "},
		{"--model MODEL --list " + empty, "expected audio files, found no path"},
		{"--model MODEL --threads 0 a.wav", "--threads: expected 1 or more, found 0"},
		{"--model MODEL --first 0 a.wav", "--first: expected 1 or more, found 0"},
		{"--model MODEL --device gpu a.wav", `--device: expected auto, host or nvml, found "gpu"`},
		{"--model MODEL --fault burn:1 a.wav", `expected leak:SIZE, keep:NAME, oom:N, crash:N or hang:N, found "burn:1"`},
		{"--model MODEL --fault keep:Model a.wav", "--fault: expected keep:Whisper or keep:Final, found keep:Model"},
		{"--nonsense", "flag provided but not defined: -nonsense; see gpupipeline --help"},
	} {
		log, stderr, exit := gpupipeline(t, strings.Fields(strings.ReplaceAll(test.args, "MODEL", model))...)
		if exit != "2" || len(log.Files) != 0 || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit %s, stderr %q, expected %q", test.args, exit, stderr, test.want)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	for flag, want := range map[string]string{"--help": "EXIT STATUS", "-h": "--fault SPEC", "--version": "whisper.cpp "} {
		cmd := command(t, flag)
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %q", flag, err, out)
		}
	}
}

// Files of one name in two folders have two transcripts, and a file has the same name in every process.
func TestDocumentName(t *testing.T) {
	a, b := documentName("day1/call.wav"), documentName("day2/call.wav")
	if a == b || a != documentName("./day1/call.wav") || !strings.HasPrefix(a, "call.wav-") {
		t.Errorf("%s, %s", a, b)
	}
}
