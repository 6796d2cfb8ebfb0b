package harness

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vramsoak/fixtures/soaklog"
	"vramsoak/harness/check"
	"vramsoak/parser"
)

// TestLogIsTakenAway: somebody removes, replaces or cuts the log while a process hangs in the
// second file. The run ends and says what happened. If the log can still be read, the harness saves
// it with its last line.
func TestLogIsTakenAway(t *testing.T) {
	t.Parallel()
	write := func(path string) error {
		return os.WriteFile(path,
			[]byte("[vramsoak] run-start files=1\n"), 0o644)
	}
	tests := []struct {
		name    string
		take    func(dir, log string) error
		say     string
		rescued bool
	}{
		{
			"the folder is removed", func(dir, _ string) error { return os.RemoveAll(dir) },
			"was removed", true,
		},
		{
			"all folders are removed",
			func(dir, _ string) error { return os.RemoveAll(filepath.Dir(dir)) }, "was removed",
			true,
		},
		{
			"the folder is renamed", func(dir, _ string) error {
				return os.Rename(dir,
					dir+"-old")
			},
			"was removed", true,
		},
		{"a file is where the folder was", func(dir, _ string) error {
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o644))
		}, "was removed", true},
		{
			"the log is removed", func(_, log string) error { return os.Remove(log) },
			"was removed",
			true,
		},
		{"the log is replaced", func(_, log string) error {
			return errors.Join(write(log+"2"),
				os.Rename(log+"2", log))
		}, "was replaced", true},
		{
			"the log is cut", func(_, log string) error { return os.Truncate(log, 10) },
			"was cut from", false,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := batchOf(t, FeedStdin, 3, "LINES=both", "FAULT=hang:2")
			cfg.Dir = filepath.Join(t.TempDir(), "runs", "night")
			if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
				t.Fatal(err)
			}
			path := cfg.logPath()
			logs := make(chan []byte, 1)
			go func() {
				until(t, "the second file has begun", logSays(path, "file-start path=f2"))
				until(t, "there is a sample", logSays(path, "sample"))
				log, _ := os.ReadFile(path)
				logs <- log
				if err := test.take(cfg.Dir, path); err != nil {
					t.Error(err)
				}
			}()
			o, err := Run(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), test.say) ||
				!strings.Contains(err.Error(), "the run was ended") {
				t.Fatalf("error %v", err)
			}
			if o == nil || o.Reason != ReasonStopped || (o.Rescued != "") != test.rescued {
				t.Fatalf("outcome %+v", o)
			}
			if pid := pidIn(t, <-logs, "pid="); !dead(pid)() {
				t.Errorf("process %d lives", pid)
			}
			if !test.rescued {
				return
			}
			if !strings.Contains(err.Error(), "saved in "+o.Rescued) {
				t.Errorf("error %q does not say %s", err, o.Rescued)
			}
			if !strings.HasPrefix(o.Rescued,
				filepath.Dir(cfg.Dir)) { // among the system's temporary files
				t.Cleanup(func() { _ = os.RemoveAll(o.Rescued) })
			}
			log, err := os.ReadFile(filepath.Join(o.Rescued, LogName))
			if err != nil {
				t.Fatal(err)
			}
			soaklog.Expect(t, log, `
				run 3 stdin
				start 1 f1
				end 1 f1 ok
				start 2 f2
				end 2 f2 failed interrupted
				exit -1 SIGTERM interrupted
				done 2 stopped`)
		})
	}
}

// TestWorkersLogIsTakenAway: if somebody removes the log of one worker, the logs of all workers are
// saved to one folder.
func TestWorkersLogIsTakenAway(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		take func(dir string) error
		why  [2]string // the reason in each worker's last line
	}{
		{"the run folder is removed", os.RemoveAll, [2]string{"stopped", "stopped"}},
		{
			"a worker's is removed", func(dir string) error {
				return os.RemoveAll(WorkerDir(dir,
					3))
			},
			[2]string{"interrupted", "stopped"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := onGPUs(t, FeedStdin, 4, "0:*=hang 3:*=hang")
			cfg.Dir = filepath.Join(cfg.Dir, "night")
			if err := os.Mkdir(cfg.Dir, 0o755); err != nil {
				t.Fatal(err)
			}
			go func() {
				for _, w := range twoGPUs {
					until(t, "a file has begun", logSays(filepath.Join(WorkerDir(cfg.Dir, w.GPU),
						LogName), "file-start path=f"))
				}
				if err := test.take(cfg.Dir); err != nil {
					t.Error(err)
				}
			}()
			o, _, err := runAll(t.Context(), t, cfg)
			if err == nil || !strings.Contains(err.Error(),
				"its log saved in "+WorkerDir(cfg.Dir+RescuedSuffix, 3)) {
				t.Errorf("error %v", err)
			}
			if o == nil || o.Rescued != cfg.Dir+RescuedSuffix || o.Reason != ReasonStopped {
				t.Fatalf("outcome %+v", o)
			}
			for i, log := range workerLogs(t, o.Rescued) {
				if !strings.Contains(log, " reason="+test.why[i]) ||
					strings.Count(log, "[vramsoak] file-end ") != 1 {
					t.Errorf("the log of GPU %d: %q", twoGPUs[i].GPU, log)
				}
			}
		})
	}
}

// TestReadOnlyRunFolder: the run folder becomes read-only during the first process, as when a file
// system is remounted read-only after an error. The harness has the log open and can still write
// it. It cannot write the list for the second process, so the run stops. The test runs the harness
// as another user, because permissions do not bind root.
func TestReadOnlyRunFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	try := exec.Command(os.Args[0])
	try.Env = append(os.Environ(), envProgram+"=nobody")
	if said, err := try.CombinedOutput(); err != nil {
		t.Skipf("this root cannot become another user: %s", said)
	}
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755),
		os.Chmod(dir, 0o777)); err != nil { // for another user
		t.Fatal(err)
	}
	path := filepath.Join(dir, LogName)
	script := `while read f; do echo "[pipeline] file-start path=$f"; until [ -e ` + dir +
		`/go ]; do sleep 0.05; done; ` +
		`echo "[pipeline] file-end path=$f status=ok"; done < "$0"`
	cmd, out := startHarness(t, dir, "NOBODY=1", "SCRIPT="+script)
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	until(t, "the first file has begun", logSays(path, "[pipeline] file-start path=f1"))
	err := errors.Join(os.Chmod(filepath.Join(dir, Config{}.listName()), 0o444), os.Chmod(dir, 0o555),
		os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out.Bytes(), []byte("permission denied")) {
		t.Errorf("the harness said %s", out)
	}
	soaklog.Expect(t, log, "run 3 list\nstart 1 f1\nend 1 f1 ok\nexit 0\ndone 1 stopped")
}

// TestUnwritableRunFolder: if nothing can be written to the run folder, no process is started.
func TestUnwritableRunFolder(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedProcess, 2)
	cfg.Dir = "/proc/self/fdinfo" // where not even root makes files
	if _, err := Run(t.Context(), cfg); err == nil ||
		!strings.Contains(err.Error(), "opening the log") {
		t.Errorf("error %v", err)
	}
}

// TestClockJumps: the machine's clock jumps back by an hour, then forward by days. Only the times
// in the log change: not the timeout, not how long a file took, and not the verdict.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedList, 3, "LINES=both", "FAULT=hang:2")
	cfg.Timeout = hung
	var lines atomic.Int64
	cfg.wall = func(now time.Time) time.Time {
		switch n := lines.Add(1); {
		case n <= 2:
			return now
		case n%2 == 0:
			return now.Add(-time.Hour)
		}
		return now.Add(100 * time.Hour)
	}
	_, log, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	soaklog.Expect(t, log, `
		run 3 list
		start 1 f1
		end 1 f1 ok
		start 2 f2
		end 2 f2 timeout took longer than 8s
		exit -1 SIGTERM timeout
		start 3 f3
		end 3 f3 ok
		exit 0
		done 3 done`)
	tl, err := parser.Build(parser.Read(bytes.NewReader(log), LogName))
	if err != nil {
		t.Fatal(err)
	}
	back, last := false, time.Time{}
	for rec, err := range parser.Read(bytes.NewReader(log), LogName) {
		if err != nil {
			t.Fatal(err)
		}
		back = back || !rec.When().IsZero() && rec.When().Before(last)
		last = rec.When()
	}
	if !back {
		t.Error("the clock did not go back")
	}
	for _, f := range tl.Files {
		if f.Seconds < 0 || f.Seconds > 60 {
			t.Errorf("file %d took %v s", f.Index, f.Seconds)
		}
	}
	for _, f := range check.Of(tl, check.DefaultPolicy()).Findings {
		if f.Subject == "files" && !strings.Contains(f.Message, "2 of 3 files ended ok") ||
			f.Check == check.Consistency && f.Verdict == check.Fail {
			t.Errorf("%+v", f)
		}
	}
}

// TestFullFileSystem: a real file system becomes full during a run. The test is skipped if it may
// not mount one.
func TestFullFileSystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("cannot mount here: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	cfg := child(t, "endless", FeedNone)
	cfg.Dir = dir
	o, log, err := runOf(t.Context(), t, cfg)
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "make room") ||
		o.Reason != ReasonStopped {
		t.Errorf("outcome %+v, %v", o, err)
	}
	if len(log) == 0 || !bytes.HasPrefix(log, []byte("[vramsoak] run-start")) {
		t.Errorf("%d bytes in the log", len(log))
	}
}
