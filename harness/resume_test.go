package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramsoak/fixtures/soaklog"
	"vramsoak/harness/journal"
	"vramsoak/harness/queue"
	"vramsoak/parser/record"
)

// TestResumeRefuses: Run refuses to resume from the log of another run, or from a file that is no
// log, and leaves that file unchanged.
func TestResumeRefuses(t *testing.T) {
	t.Parallel()
	good := batchOf(t, FeedStdin, 2, "LINES=both")
	start := func(change func(*Config)) string {
		cfg := good
		change(&cfg)
		return string(cfg.runStart(record.Header{}).AppendLine(nil)) + "\n"
	}
	for _, test := range []struct{ name, log, want string }{
		{
			"other files", start(func(c *Config) { c.Files = inputs(3) }),
			"expected files 2, as the run is to go on with, found 3",
		},
		{"other command", start(func(c *Config) { c.Command = []string{"y"} }), "found y"},
		{"other policy", start(func(c *Config) { c.Policy = "x" }), "expected the policy"},
		{
			"other time", start(func(c *Config) { c.Until = time.Hour }),
			"expected until 0, as the run is to go on with, found ",
		},
		{
			"no run", "[vramsoak] exit pid=1 code=0\n",
			"soak.log:1: expected a log that begins with [vramsoak] run-start",
		},
		{
			"run-start further on", "hello\n" + start(func(*Config) {}),
			"soak.log:2: expected a log that begins",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := good
			cfg.Dir, cfg.Resume = t.TempDir(), true
			log := test.log + "[vramsoak] torn"
			if err := os.WriteFile(cfg.logPath(), []byte(log), 0o644); err != nil {
				t.Fatal(err)
			}
			o, err := Run(t.Context(), cfg)
			if o != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("found %+v, %v, expected %q", o, err, test.want)
			}
			if left, err := os.ReadFile(cfg.logPath()); err != nil || string(left) != log {
				t.Errorf("the log is now %q, %v", left, err)
			}
		})
	}
}

// Two harnesses never write one log.
func TestSecondHarness(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedStdin, 2, "LINES=both")
	log, err := journal.Open(cfg.logPath(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if o, err := Run(t.Context(), cfg); o != nil || !errors.Is(err, journal.ErrBusy) {
		t.Errorf("found %+v, %v", o, err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := runOf(t.Context(), t, cfg); err != nil {
		t.Error(err)
	}
}

// TestTakenOverBeforeItBegins: a task that was stopped between its lease and the opening of the log
// finds the log of the task that took over. It writes nothing there, and cuts nothing off.
func TestTakenOverBeforeItBegins(t *testing.T) {
	t.Parallel()
	taken := errors.New("taken over")
	for _, resume := range []bool{false, true} {
		for _, workers := range [][]Worker{nil, {{GPU: 0}, {GPU: 1}}} {
			cfg := batchOf(t, FeedStdin, 2, "LINES=both")
			cfg.Resume, cfg.Owned = resume, func() error { return taken }
			logs := []string{cfg.logPath()}
			if workers != nil {
				logs = nil
				for _, w := range workers {
					dir := WorkerDir(cfg.Dir, w.GPU)
					if err := os.Mkdir(dir, 0o755); err != nil {
						t.Fatal(err)
					}
					logs = append(logs, filepath.Join(dir, LogName))
				}
			}
			text := string(cfg.runStart(record.Header{}).AppendLine(nil)) + "\n[vramsoak] torn"
			for _, log := range logs {
				if err := os.WriteFile(log, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var err error
			if workers == nil {
				_, err = Run(t.Context(), cfg)
			} else {
				_, err = RunAll(t.Context(), cfg, workers)
			}
			if !errors.Is(err, taken) {
				t.Errorf("resume %v, %d workers: %v", resume, len(workers), err)
			}
			for _, log := range logs {
				if left, err := os.ReadFile(log); err != nil || string(left) != text {
					t.Errorf("resume %v: the log is now %q, %v", resume, left, err)
				}
			}
		}
	}
}

// TestResumeUntil: a run with Until is resumed in the same round of its files, and the time that it
// took before counts.
func TestResumeUntil(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedStdin, 3, "LINES=both")
	cfg.Until, cfg.Resume, cfg.Grace = 5*time.Second, true, time.Minute
	cfg.More = func() []queue.Input { return inputs(3) }
	head := cfg.runStart(record.Header{Time: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)})
	log := string(head.AppendLine(nil)) + "\n"
	for i := range 7 { // in the third round, after seven seconds
		at := record.Header{Time: head.Time.Add(time.Duration(i+1) * time.Second)}
		path := inputs(3)[i%3].Path
		log += string(record.FileStart{Header: at, Index: i + 1, Path: path}.AppendLine(nil)) + "\n"
		if i < 6 {
			log += string(record.FileEnd{
				Header: at, Index: i + 1, Path: path,
				Status: record.StatusOK,
			}.AppendLine(nil)) + "\n"
		}
	}
	if err := os.WriteFile(cfg.logPath(), []byte(log), 0o644); err != nil {
		t.Fatal(err)
	}
	o, text, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if o.Files != 7 || o.Counts[record.StatusOK] != 7 || o.Reason != ReasonDone ||
		o.Duration < 7*time.Second {
		t.Errorf("outcome %+v", o)
	}
	if got := soaklog.Events(t, text); got[len(got)-1] != "done 7 done" ||
		got[len(got)-4] != "start 7 f1" || got[len(got)-3] != "end 7 f1 ok" {
		t.Errorf("events %q", got)
	}
}

// TestResumeEndsWhatLives: before a run goes on, the harness ends the processes that the killed
// harness left running.
func TestResumeEndsWhatLives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, out := startHarness(t, dir, "CHILD=daemons")
	path := filepath.Join(dir, LogName)
	until(t, "the daemon runs", logSays(path, "daemon "))
	until(t, "the pipeline waits", logSays(path, "pipeline "))
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
	daemon := pidIn(t, log, "daemon ")
	cfg := batchOf(t, FeedStdin, 3, "LINES=both")
	cfg.Dir, cfg.Resume, cfg.Command, cfg.Version = dir, true, []string{os.Args[0], "stdin"}, ""
	o, log, err := runOf(t.Context(), t, cfg)
	if err != nil || o.Counts[record.StatusOK] != 3 {
		t.Errorf("outcome %+v, %v", o, err)
	}
	until(t, "the daemon is gone", dead(daemon))
	_, resumed, _ := strings.Cut(string(log), "[vramsoak] resume ")
	before, _, _ := strings.Cut(resumed, "[vramsoak] file-start ")
	if want := fmt.Sprintf("pid=%d ", daemon); !strings.Contains(before, "[vramsoak] orphan ") ||
		!strings.Contains(before, want) {
		t.Errorf("before the first file that follows the log says:\n%s", before)
	}
}
