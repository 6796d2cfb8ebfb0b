package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/pprof/profile"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

// lateRun is a log in which the run, with its policy, begins after the first checkpoints.
const lateRun = `[GPU Memory] Before Whisper Cleanup: Allocated: 7.23GB (30.1%)
[GPU Memory] After Whisper Cleanup:  Allocated: 0.18GB (0.7%)
[vramsoak] run-start time=2026-11-20T02:00:00Z files=1 feed=arg command=x version=1
[vramsoak] file-start time=2026-11-20T02:00:00Z index=1 path=a.wav
[GPU Memory] Before Whisper Cleanup: Allocated: 7.23GB (30.1%)
[GPU Memory] After Whisper Cleanup:  Allocated: 0.18GB (0.7%)
[vramsoak] file-end time=2026-11-20T02:00:01Z index=1 path=a.wav status=ok seconds=1
[vramsoak] run-end time=2026-11-20T02:00:02Z files=1 seconds=2 reason=done
`

// TestPolicyBehindCheckpoints: a run's policy counts even if the run begins after the first
// checkpoints, in a file and in a stream. The log fails by the policy in the folder and passes by
// the run's.
func TestPolicyBehindCheckpoints(t *testing.T) { // not parallel: it changes the folder
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
			t.Errorf("a %s and the file have different verdicts:\n%s\nexpected:\n%s", name, got, want)
		}
	}
	if got := judgedBytes(t, "soak.log", pipeOf(t)); !bytes.Contains(got, []byte(`"files": 4`)) {
		t.Errorf("a file and a pipe of 2 files each:\n%s", got)
	}
}

// judgedBytes returns the verdict on logs as JSON. It must be a pass.
func judgedBytes(t *testing.T, logs ...string) []byte {
	t.Helper()
	_, report, err := readOptions{}.judge(logs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report.Verdict != check.Pass {
		t.Errorf("%s: got %s, want pass", strings.Join(logs, ", "), report.Verdict)
	}
	for i := range report.Findings {
		report.Findings[i].At = nil // it has the log's name
	}
	var out bytes.Buffer
	if err := report.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// pipeOf returns the path of a pipe with the log, as a shell's <(...) does.
func pipeOf(t *testing.T) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	go func() {
		_, _ = w.WriteString(lateRun) // it fits into a pipe
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

// TestHostProfile: the error on a profile of JAX whose buffers are in host memory says so, in check
// as in parse.
func TestHostProfile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "memory.log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	p := profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "allocations", Unit: "count"}, {Type: "space", Unit: "bytes"},
		},
		Sample: []*profile.Sample{{
			Value: []int64{2, 2048},
			Label: map[string][]string{"kind": {"buffer"}, "device": {"TFRT_CPU_0"}},
		}},
	}
	if err := errors.Join(p.Write(file), file.Close()); err != nil {
		t.Fatal(err)
	}
	_, _, checkErr := readOptions{}.judge([]string{path}, nil)
	var parseErr error
	readOptions{}.readLog(path, func(_ record.Record, err error) bool {
		parseErr = err
		return true
	})
	for what, err := range map[string]error{"checkpoints": checkErr, "readings": parseErr} {
		want := path + " has no " + what + ": the profile's buffers are on TFRT_CPU_0, in host memory"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestPolicyTooLate: a policy is searched for only in the head of a log. If it comes later, the
// error says what to do.
func TestPolicyTooLate(t *testing.T) { // not parallel: it changes the folder
	t.Chdir(t.TempDir())
	if err := os.WriteFile(defaultPolicy, []byte("recovery: {min: 99%}"), 0o600); err != nil {
		t.Fatal(err)
	}
	late := strings.Repeat("a line of the pipeline\n", headMax/20) + lateRun
	if err := os.WriteFile("soak.log", []byte(late), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := readOptions{}.judge([]string{"soak.log"}, nil)
	const want = "soak.log:52431: the policy of this run comes after the first 1.00 MiB of the log; " +
		"give the policy to judge by with --policy"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, _, err := (readOptions{policy: defaultPolicy}).judge([]string{"soak.log"},
		nil); err != nil {
		t.Error(err)
	}
}
