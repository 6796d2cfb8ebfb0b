package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vramsoak/fixtures/soaklog"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// until waits until ok returns true, and fails the test if that takes more than a minute. Any
// goroutine may call it.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("still waiting until %s", what)
			return
		}
	}
}

// logSays returns a function that reports whether a log contains a text.
func logSays(path, text string) func() bool {
	return func() bool {
		log, err := os.ReadFile(path)
		return err == nil && bytes.Contains(log, []byte(text))
	}
}

// dead returns a function that reports whether a process is gone, or a zombie.
func dead(pid int) func() bool {
	return func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			return true
		}
		_, rest, _ := bytes.Cut(stat, []byte(") ")) // "4711 (name) Z ..."
		return err == nil && bytes.HasPrefix(rest, []byte("Z"))
	}
}

// pidIn returns the number that follows a word in a log.
func pidIn(t *testing.T, log []byte, word string) int {
	t.Helper()
	_, rest, ok := bytes.Cut(log, []byte(word))
	digits := bytes.FieldsFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if !ok || len(digits) == 0 {
		t.Fatalf("no %q in the log:\n%s", word, log)
	}
	pid, err := strconv.Atoi(string(digits[0]))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		feed  Feed
		fault string
		want  string
	}{
		{"list", FeedList, "hang:2", `
			run 3 list
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 failed interrupted
			exit -1 SIGTERM interrupted
			done 2 interrupted`},
		{"process a file", FeedProcess, "hang:2", `
			run 3 process
			start 1 f1
			end 1 f1 ok
			exit 0
			start 2 f2
			end 2 f2 failed interrupted
			exit -1 SIGTERM interrupted
			done 2 interrupted`},
		{"ignored", FeedStdin, "stubborn:2", `
			run 3 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 failed interrupted
			exit -1 SIGKILL interrupted
			done 2 interrupted`},
		{"before any file", FeedStdin, "hang:0", `
			run 3 stdin
			exit -1 SIGTERM interrupted
			done 0 interrupted`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := batchOf(t, test.feed, 3, "LINES=both", "FAULT="+test.fault)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ready := logSays(cfg.logPath(), "sample")
			if strings.HasSuffix(test.fault, ":2") {
				ready = logSays(cfg.logPath(), "file-start path=f2")
			}
			if test.feed == FeedProcess { // the second process works
				ready = func() bool {
					log, err := os.ReadFile(cfg.logPath())
					return err == nil && bytes.Count(log, []byte("Before Work")) == 2
				}
			}
			if strings.HasPrefix(test.fault, "stubborn") {
				ready = logSays(cfg.logPath(), "not listening")
			}
			go func() {
				until(t, "the file has begun", ready)
				cancel()
			}()
			o, log, err := runOf(ctx, t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			soaklog.Expect(t, log, test.want)
			if o.Reason != ReasonInterrupted {
				t.Errorf("outcome %+v", o)
			}
		})
	}
}

// TestInterruptOfAllProcesses: a scheduler that ends a task signals each of its processes, and the
// pipeline may die before the harness gets its signal. The file is then interrupted. It has crashed
// if the harness gets no signal.
func TestInterruptOfAllProcesses(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"", "143"} {
		for _, all := range []bool{true, false} {
			t.Run(fmt.Sprintf("all %v, code %s", all, code), func(t *testing.T) {
				t.Parallel()
				cfg := batchOf(t, FeedStdin, 2, "LINES=both", "FAULT=hang:2")
				exit := "-1 SIGTERM"
				if code != "" { // a shell around the pipeline exits with a code instead
					around := `exec 3<&0; "$@" <&3 & trap "kill $!; exit 143" TERM; wait`
					cfg.Command = append([]string{"sh", "-c", around, "sh"}, cfg.Command...)
					exit = "143"
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					until(t, "the file has begun", logSays(cfg.logPath(), "file-start path=f2"))
					log, err := os.ReadFile(cfg.logPath())
					if err != nil {
						t.Error(err)
						return
					}
					pid := pidIn(t, log, " pid=")
					if err := unix.Kill(pid, unix.SIGTERM); err != nil {
						t.Error(err)
					}
					until(t, "the pipeline has ended", dead(pid))
					if all {
						time.Sleep(50 * time.Millisecond)
						cancel()
					}
				}()
				_, log, err := runOf(ctx, t, cfg)
				if err != nil {
					t.Fatal(err)
				}
				if all {
					soaklog.Expect(t, log, "run 2 stdin\nstart 1 f1\nend 1 f1 ok\nstart 2 f2\n"+
						"end 2 f2 failed interrupted\nexit "+exit+" interrupted\ndone 2 interrupted")
				} else if bytes.Contains(log, []byte("interrupted")) {
					t.Errorf("nothing interrupted the run:\n%s", log)
				}
			})
		}
	}
}

// TestInterruptPolite: a pipeline that is asked to end may finish its file, which then has status
// ok.
func TestInterruptPolite(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedStdin, 2, "LINES=both", "FAULT=polite:1 exit0:2")
	cfg.Grace = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		until(t, "the file has begun", logSays(cfg.logPath(), "listening"))
		cancel()
	}()
	_, log, err := runOf(ctx, t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	soaklog.Expect(t, log,
		"run 2 stdin\nstart 1 f1\nend 1 f1 ok\nexit 0 interrupted\ndone 1 interrupted")
}

func TestInterruptBeforeTheStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, log, err := runOf(ctx, t, batchOf(t, FeedList, 2, "LINES=both"))
	if err != nil || o.Reason != ReasonInterrupted {
		t.Errorf("outcome %+v, %v", o, err)
	}
	soaklog.Expect(t, log, "run 2 list\ndone 0 interrupted")
}

// TestSecondInterruptKills: after a second interrupt the process is killed at once, without the
// grace.
func TestSecondInterruptKills(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedStdin, 2, "LINES=both", "FAULT=stubborn:1")
	cfg.Grace = time.Hour
	kill := make(chan struct{})
	cfg.Kill = kill
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		until(t, "the file has begun", logSays(cfg.logPath(), "not listening"))
		cancel()
		time.Sleep(50 * time.Millisecond)
		close(kill)
	}()
	o, log, err := runOf(ctx, t, cfg)
	if err != nil || o.Reason != ReasonInterrupted {
		t.Errorf("outcome %+v, %v", o, err)
	}
	soaklog.Expect(t, log,
		"run 2 stdin\nstart 1 f1\nend 1 f1 failed interrupted\nexit -1 SIGKILL interrupted\n"+
			"done 1 interrupted")
}

// TestProcessThatDoesNotDie: a process that does not end even after SIGKILL, because it is stuck in
// a driver, does not block the run.
func TestProcessThatDoesNotDie(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedStdin, 2, "LINES=both", "FAULT=hang:1")
	cfg.Timeout, cfg.Grace = hung, 50*time.Millisecond
	var pid atomic.Int64
	cfg.kill = func(group int, _ syscall.Signal) error { pid.Store(int64(-group)); return nil }
	cfg.SettleLimit = time.Minute
	cfg.Occupied = func() ([]meter.Occupancy, error) {
		device := meter.Occupancy{Used: 1 << 30, Total: 8 << 30}
		if n := int(pid.Load()); n != 0 {
			device.Holders = []meter.Holder{{PID: n, Used: 1 << 30, HasUsed: true, Here: true}}
		}
		return []meter.Occupancy{device}, nil
	}
	o, log, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	soaklog.Expect(t, log,
		"run 2 stdin\nstart 1 f1\nend 1 f1 timeout took longer than 8s\ndone 1 stopped")
	if !strings.Contains(o.Diagnostic, "did not end after SIGKILL") {
		t.Errorf("diagnostic %q", o.Diagnostic)
	}
	if line := fmt.Sprintf("pid=%d ",
		pid.Load()); !regexp.MustCompile(`(?m)^\[vramsoak\] holder .*` + line +
		`.*ours=true$`).Match(log) {
		t.Errorf("the log does not say that what holds the device is the run's own:\n%s", log)
	}
	if err := unix.Kill(int(pid.Load()), unix.SIGKILL); err != nil {
		t.Error(err)
	}
}

// TestEndlessOutput: a process that prints without end can be interrupted, and its log is complete.
func TestEndlessOutput(t *testing.T) {
	t.Parallel()
	cfg := child(t, "endless", FeedNone)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		until(t, "it has printed", logSays(cfg.logPath(), "xxx"))
		cancel()
	}()
	_, log, err := runOf(ctx, t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	soaklog.Expect(t, log, "run 0 none\nexit -1 SIGTERM interrupted\ndone 0 interrupted")
	lines := bytes.Split(bytes.TrimSuffix(soaklog.Printed(log), []byte("\n")), []byte("\n"))
	for i, line := range lines {
		if len(line) != 1000 && i < len(lines)-1 {
			t.Fatalf("line %d has %d bytes", i+1, len(line))
		}
	}
}

// TestStdinThatIsNotRead: a process reads nothing from its standard input, and the paths are more
// than a pipe holds. The harness does not hang: it stops the run and says that no file began.
func TestStdinThatIsNotRead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ code, say string }{
		{"0", "no file was seen to begin"},
		{"2", "before it began a file"},
	} {
		t.Run("exit "+test.code, func(t *testing.T) {
			t.Parallel()
			cfg := child(t, "say", FeedStdin, test.code, "no thanks\n")
			cfg.Files = inputs(20_000)
			o, log, err := runOf(t.Context(), t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			soaklog.Expect(t, log, "run 20000 stdin\nexit "+test.code+"\ndone 0 stopped")
			if !strings.Contains(o.Diagnostic, test.say) ||
				!strings.Contains(o.Diagnostic, "no thanks") {
				t.Errorf("diagnostic %q", o.Diagnostic)
			}
		})
	}
}

// startHarness starts a harness in a process of its own, which a test can kill. It returns the
// process and what it prints.
func startHarness(t *testing.T, dir string, env ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), append(env, envProgram+"=supervisor", "LINES=both",
		"GORACE=atexit_sleep_ms=0")...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &out
}

func TestKilledHarness(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, LogName)
	cmd, out := startHarness(t, dir, "CHILD=pipeline", "FAULT=hang:2")
	until(t, "the second file has begun", logSays(path, "file-start path=f2"))
	until(t, "there is a sample", logSays(path, "sample"))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatalf("the harness ended by itself: %s", out)
	}
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "its child is gone", dead(pidIn(t, log, "pid=")))
	soaklog.Expect(t, log, "run 3 stdin\nstart 1 f1\nend 1 f1 ok\nstart 2 f2")
	tl, err := parser.Build(parser.Read(bytes.NewReader(log), LogName))
	if err != nil {
		t.Fatal(err)
	}
	if len(tl.Files) != 2 || tl.Files[0].Status != record.StatusOK ||
		tl.Files[1].Status != record.StatusUnknown {
		t.Errorf("files %+v", tl.Files)
	}
}

// TestFullDisk: if the disk is full from the start, no process is started.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedProcess, 2)
	if err := os.Symlink("/dev/full", cfg.logPath()); err != nil {
		t.Fatal(err)
	}
	o, err := Run(t.Context(), cfg)
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "writing the log") {
		t.Errorf("error %v", err)
	}
	if o == nil || o.Processes != 0 || o.Reason != ReasonStopped {
		t.Errorf("outcome %+v", o)
	}
}

// TestFullDiskLater: if the disk becomes full during the run, the harness ends the process, which
// would otherwise print without end.
func TestFullDiskLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, out := startHarness(t, dir, "CHILD=endless", "LIMIT=1000000")
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := out.String(); !strings.Contains(got, "writing the log") ||
		!strings.Contains(got, "file too large") {
		t.Errorf("the harness said %q", got)
	}
	log, err := os.ReadFile(filepath.Join(dir, LogName))
	if err != nil || len(log) != 1_000_000 {
		t.Errorf("%d bytes in the log, %v", len(log), err)
	}
	if bytes.Contains(log, []byte("pid=")) { // the log has a sample
		until(t, "the child is gone", dead(pidIn(t, log, "pid=")))
	}
}
