package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vramsoak/harness/check"
)

// lateRun is a log whose run, with its policy, begins behind the first checkpoints.
const lateRun = `[GPU Memory] Before Whisper Cleanup: Allocated: 7.23GB (30.1%)
[GPU Memory] After Whisper Cleanup:  Allocated: 0.18GB (0.7%)
[vramsoak] run-start time=2026-11-20T02:00:00Z files=1 feed=arg command=x version=1
[vramsoak] file-start time=2026-11-20T02:00:00Z index=1 path=a.wav
[GPU Memory] Before Whisper Cleanup: Allocated: 7.23GB (30.1%)
[GPU Memory] After Whisper Cleanup:  Allocated: 0.18GB (0.7%)
[vramsoak] file-end time=2026-11-20T02:00:01Z index=1 path=a.wav status=ok seconds=1
[vramsoak] run-end time=2026-11-20T02:00:02Z files=1 seconds=2 reason=done
`

// A pipe and a FIFO give their text once. By the policy in the folder the log fails, by that of its
// run it passes.
func TestJudgeStreamTwice(t *testing.T) { // not parallel: it changes the folder
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(defaultPolicy, "recovery: {min: 99%}")
	write("soak.log", lateRun)

	want := judgedBytes(t, "soak.log")
	for name, open := range map[string]func(t *testing.T) string{"pipe": pipeOf, "FIFO": fifoOf} {
		if got := judgedBytes(t, open(t)); !bytes.Equal(got, want) {
			t.Errorf("a %s is judged otherwise than the file:\n%s\nexpected:\n%s", name, got, want)
		}
	}
	if got := judgedBytes(t, "soak.log", pipeOf(t)); !bytes.Contains(got, []byte(`"files": 4`)) {
		t.Errorf("a file and a pipe of 2 files each:\n%s", got)
	}
}

// judgedBytes is the verdict on logs, which must be a pass.
func judgedBytes(t *testing.T, logs ...string) []byte {
	t.Helper()
	_, report, err := readOptions{}.judge(logs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report.Verdict != check.Pass {
		t.Errorf("%s: %s", strings.Join(logs, ", "), report.Verdict)
	}
	for i := range report.Findings {
		report.Findings[i].At = nil // names the log
	}
	var out bytes.Buffer
	if err := report.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// pipeOf is the path of the log as a shell's <(...) gives it.
func pipeOf(t *testing.T) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	go func() {
		_, _ = w.WriteString(lateRun) // it fits a pipe
		_ = w.Close()
	}()
	return fmt.Sprintf("/dev/fd/%d", r.Fd())
}

func fifoOf(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := os.WriteFile(path, []byte(lateRun), 0); err != nil {
			t.Error(err)
		}
	}()
	return path
}

// What is larger than the limit is not kept: the error says what to do, and takes no room on the
// disk.
func TestSpoolLimit(t *testing.T) {
	t.Parallel()
	s := &spool{limit: 4}
	if !s.wants([]byte("a log")) {
		t.Fatal("the policy is not known")
	}
	out := make([]byte, 8)
	r := s.keep(strings.NewReader("12345678"), "fifo")
	if n, err := r.Read(out); n != 8 || err != nil {
		t.Fatalf("read %d bytes: %v", n, err)
	}
	if info, err := s.kept[0].file.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("expected an empty file: %v, %v", info, err)
	}
	_, err := s.read()
	const want = "fifo: the run's policy comes after the first checkpoints, so the log must be " +
		"read twice, and it could not be kept: " +
		"it has more than 4 B; save it in a file, or give the policy with --policy"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	s.close()
}
