package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
)

// hung is a per-file limit that only a hung child reaches, on a machine that is busy with other things too.
const hung = 4 * time.Second

// child is the configuration of a run of one of the programs.
func child(t *testing.T, program string, feed Feed, args ...string) Config {
	t.Helper()
	return Config{
		Command: append([]string{os.Args[0]}, args...), Feed: feed, Dir: t.TempDir(), Grace: 200 * time.Millisecond,
		Env: []string{envProgram + "=" + program, "GORACE=atexit_sleep_ms=0"}, Version: "test",
	}
}

// batchOf is a run of the pipeline program over n files.
func batchOf(t *testing.T, feed Feed, n int, env ...string) Config {
	t.Helper()
	args := map[Feed][]string{
		FeedProcess: {"file", pathMark}, FeedList: {"list", listMark}, FeedStdin: {"stdin"}, FeedNone: {"none"},
	}[feed]
	cfg := child(t, "pipeline", feed, args...)
	cfg.Files = inputs(n)
	cfg.Env = append(cfg.Env, env...)
	return cfg
}

// runOf runs and returns the log too. It fails the test where the run does not end.
func runOf(t *testing.T, ctx context.Context, cfg Config) (*Outcome, []byte, error) {
	t.Helper()
	type result struct {
		outcome *Outcome
		err     error
	}
	done := make(chan result, 1)
	go func() {
		o, err := Run(ctx, cfg)
		done <- result{o, err}
	}()
	select {
	case r := <-done:
		log, err := os.ReadFile(cfg.logPath())
		if err != nil {
			t.Fatal(err)
		}
		return r.outcome, log, r.err
	case <-time.After(2 * time.Minute):
		t.Fatal("the run hangs")
		return nil, nil, nil
	}
}

// events are the harness's lines of a log but samples, without what differs from run to run.
func events(t *testing.T, log []byte) []string {
	t.Helper()
	var events []string
	add := func(format string, args ...any) {
		events = append(events, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
	}
	for rec, err := range parser.Read(strings.NewReader(string(log)), LogName) {
		if err != nil {
			t.Fatal(err)
		}
		switch r := rec.(type) {
		case parser.RunStart:
			add("run %d %s", r.Files, r.Feed)
		case parser.FileStart:
			if !r.Pipeline {
				add("start %d %s", r.Index, r.Path)
			}
		case parser.FileEnd:
			if !r.Pipeline {
				add("end %d %s %s %s", r.Index, r.Path, r.Status, r.Error)
			}
		case parser.Exit:
			add("exit %d %s", r.Code, r.Signal)
		case parser.RunEnd:
			add("done %d %s", r.Files, r.Reason)
		case parser.SyntaxError:
			t.Errorf("the log holds a line that cannot be read: %v", r)
		}
	}
	return events
}

// expect compares a log's events with a text of one event a line.
func expect(t *testing.T, log []byte, want string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if diff := cmp.Diff(lines, events(t, log)); diff != "" {
		t.Errorf("events (-want +got):\n%s\nlog:\n%s", diff, log)
	}
}

func TestFeeds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		feed  Feed
		lines string
		want  string
	}{
		{"process", FeedProcess, "both", `
			run 3 process
			start 1 f1
			end 1 f1 ok
			exit 0
			start 2 f2
			end 2 f2 ok
			exit 0
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`},
		{"list", FeedList, "both", `
			run 3 list
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 ok
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`},
		{"stdin", FeedStdin, "both", `
			run 3 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 ok
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`},
		{"only starts", FeedList, "starts", `
			run 3 list
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 ok
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`},
		{"only ends", FeedStdin, "ends", `
			run 3 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 ok
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`},
		{"only checkpoints", FeedStdin, "none", `
			run 3 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 ok
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`},
		{"none", FeedNone, "both", `
			run 0 none
			start 1 x.wav
			end 1 x.wav ok
			start 2 y.wav
			end 2 y.wav ok
			start 3 z.wav
			end 3 z.wav ok
			exit 0
			done 3 done`},
		{"none, only checkpoints", FeedNone, "none", `
			run 0 none
			start 1
			end 1 ok
			start 2
			end 2 ok
			start 3
			end 3 ok
			exit 0
			done 3 done`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := batchOf(t, test.feed, 3, "LINES="+test.lines)
			if test.feed == FeedNone {
				cfg.Files = nil
			}
			o, log, err := runOf(t, t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, log, test.want)
			if o.Counts[parser.StatusOK] != 3 || o.Files != 3 || o.Reason != ReasonDone || o.Failed() != 0 {
				t.Errorf("outcome %+v", o)
			}
		})
	}
}

// A file's lines stand between its file-start and its file-end, the pipeline's own file lines among them.
func TestLinesBelongToTheirFile(t *testing.T) {
	t.Parallel()
	_, log, err := runOf(t, t.Context(), batchOf(t, FeedList, 2, "LINES=both"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(log)) {
		if w := strings.Fields(line); w[1] != "sample" {
			got = append(got, strings.Join(w[:2], " "))
		}
	}
	file := []string{
		"[vramsoak] file-start", "[pipeline] file-start", "[GPU Memory]", "[GPU Memory]", "[pipeline] file-end",
		"[vramsoak] file-end",
	}
	want := append([]string{"[vramsoak] run-start"}, append(file, file...)...)
	want = append(want, "[vramsoak] exit", "[vramsoak] run-end")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestTrouble(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		feed   Feed
		files  int
		env    []string
		change func(*Config)
		want   string
		say    []string // what the diagnostic says
	}{
		{name: "crash in a list", feed: FeedList, files: 4, env: []string{"FAULT=crash:2"}, want: `
			run 4 list
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			start 3 f3
			end 3 f3 ok
			start 4 f4
			end 4 f4 ok
			exit 0
			done 4 done`},
		{name: "crash, stop", feed: FeedStdin, files: 4, env: []string{"FAULT=crash:2"},
			change: func(c *Config) { c.OnCrash = CrashStop }, say: []string{"was ended by SIGKILL", "on-crash is stop"}, want: `
			run 4 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			done 2 stopped`},
		{name: "crash in a process a file", feed: FeedProcess, files: 3, env: []string{"FAULT=crash:2"}, want: `
			run 3 process
			start 1 f1
			end 1 f1 ok
			exit 0
			start 2 f2
			end 2 f2 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`},
		{name: "crash in a process a file, stop", feed: FeedProcess, files: 3, env: []string{"FAULT=crash:2"},
			change: func(c *Config) { c.OnCrash = CrashStop }, say: []string{"was ended by SIGKILL"}, want: `
			run 3 process
			start 1 f1
			end 1 f1 ok
			exit 0
			start 2 f2
			end 2 f2 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			done 2 stopped`},
		{name: "crash without file lines", feed: FeedStdin, files: 3, env: []string{"LINES=none", "FAULT=crash:2"}, want: `
			run 3 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`},
		{name: "crash in the last file", feed: FeedStdin, files: 2, env: []string{"FAULT=crash:2"},
			change: func(c *Config) { c.OnCrash = CrashStop }, want: `
			run 2 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			done 2 done`},
		{name: "exit code in a file", feed: FeedStdin, files: 3, env: []string{"FAULT=exit3:2"}, want: `
			run 3 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 failed the process exited with code 3: Traceback: no module named torch
			exit 3
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`},
		{name: "exit code in a process a file", feed: FeedProcess, files: 2, env: []string{"FAULT=exit3:1"}, want: `
			run 2 process
			start 1 f1
			end 1 f1 failed the process exited with code 3: Traceback: no module named torch
			exit 3
			start 2 f2
			end 2 f2 ok
			exit 0
			done 2 done`},
		{name: "exit code after the last file", feed: FeedList, files: 2, env: []string{"FAULT=fail:1 exit3:-1"},
			change: func(c *Config) { c.OnCrash = CrashStop }, want: `
			run 2 list
			start 1 f1
			end 1 f1 failed no audio
			start 2 f2
			end 2 f2 ok
			exit 3
			done 2 done`},
		{name: "a process a file says that it failed", feed: FeedProcess, files: 1, env: []string{"FAULT=fail:1"}, want: `
			run 1 process
			start 1 f1
			end 1 f1 failed no audio
			exit 0
			done 1 done`},
		{name: "out of memory", feed: FeedList, files: 3, env: []string{"FAULT=oom:1 oomexit:2"}, want: `
			run 3 list
			start 1 f1
			end 1 f1 oom
			start 2 f2
			end 2 f2 oom the process exited with code 1: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
			exit 1
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`},
		{name: "out of memory in a process a file", feed: FeedProcess, files: 1, env: []string{"LINES=none", "FAULT=oomexit:1"}, want: `
			run 1 process
			start 1 f1
			end 1 f1 oom the process exited with code 1: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
			exit 1
			done 1 done`},
		{name: "exit 0 in a file", feed: FeedStdin, files: 3, env: []string{"FAULT=exit0:2"}, want: `
			run 3 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 crashed the process exited with code 0 before the file's end
			exit 0
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`},
		{name: "exit before any file", feed: FeedList, files: 3, env: []string{"FAULT=exit3:0"},
			say: []string{"exited with code 3 before it began a file", "no module named torch"}, want: `
			run 3 list
			exit 3
			done 0 stopped`},
		{name: "exit 0 before any file", feed: FeedList, files: 3, env: []string{"FAULT=exit0:0"},
			say: []string{"no file was seen to begin", "it printed nothing"}, want: `
			run 3 list
			exit 0
			done 0 stopped`},
		{name: "checkpoints that do not recur", feed: FeedList, files: 3, env: []string{"LINES=none", "PREAMBLE=Model Loaded"},
			say: []string{"show only one file of 3"}, want: `
			run 3 list
			start 1 f1
			end 1 f1 ok
			exit 0
			done 1 stopped`},
		{name: "a checkpoint before the first file", feed: FeedList, files: 2, env: []string{"PREAMBLE=Model Loaded"}, want: `
			run 2 list
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 ok
			exit 0
			done 2 done`},
		{name: "hang", feed: FeedList, files: 3, env: []string{"FAULT=hang:2"}, change: func(c *Config) { c.Timeout = hung }, want: `
			run 3 list
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 timeout took longer than 4s
			exit -1 SIGTERM
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`},
		{name: "hang, stop", feed: FeedStdin, files: 3, env: []string{"FAULT=hang:2"},
			change: func(c *Config) { c.Timeout, c.OnCrash = hung, CrashStop }, say: []string{"on-crash is stop"}, want: `
			run 3 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 timeout took longer than 4s
			exit -1 SIGTERM
			done 2 stopped`},
		{name: "hang that ignores SIGTERM", feed: FeedStdin, files: 3, env: []string{"FAULT=stubborn:2"},
			change: func(c *Config) { c.Timeout = hung }, want: `
			run 3 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 timeout took longer than 4s
			exit -1 SIGKILL
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`},
		{name: "hang that ends its file when asked to end", feed: FeedStdin, files: 2, env: []string{"FAULT=polite:1"},
			change: func(c *Config) { c.Timeout, c.Grace = hung, time.Minute }, want: `
			run 2 stdin
			start 1 f1
			end 1 f1 timeout took longer than 4s
			exit 0
			start 2 f2
			end 2 f2 ok
			exit 0
			done 2 done`},
		{name: "hang in a process a file", feed: FeedProcess, files: 2, env: []string{"FAULT=stubborn:1"},
			change: func(c *Config) { c.Timeout = hung }, want: `
			run 2 process
			start 1 f1
			end 1 f1 timeout took longer than 4s
			exit -1 SIGKILL
			start 2 f2
			end 2 f2 ok
			exit 0
			done 2 done`},
		{name: "hang before any file", feed: FeedList, files: 2, env: []string{"FAULT=hang:0"},
			change: func(c *Config) { c.Timeout = hung }, say: []string{"began no file within 4s"}, want: `
			run 2 list
			exit -1 SIGTERM
			done 0 stopped`},
		{name: "hang after the last file", feed: FeedList, files: 1, env: []string{"FAULT=hang:-1"},
			change: func(c *Config) { c.Timeout = hung }, want: `
			run 1 list
			start 1 f1
			end 1 f1 ok
			exit -1 SIGTERM
			done 1 done`},
		{name: "restart every 2", feed: FeedList, files: 5, change: func(c *Config) { c.RestartEvery = 2 }, want: `
			run 5 list
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 ok
			exit 0
			start 3 f3
			end 3 f3 ok
			start 4 f4
			end 4 f4 ok
			exit 0
			start 5 f5
			end 5 f5 ok
			exit 0
			done 5 done`},
		{name: "restart every 2 and a crash", feed: FeedStdin, files: 4, env: []string{"FAULT=crash:1"},
			change: func(c *Config) { c.RestartEvery = 2 }, want: `
			run 4 stdin
			start 1 f1
			end 1 f1 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			start 2 f2
			end 2 f2 ok
			start 3 f3
			end 3 f3 ok
			exit 0
			start 4 f4
			end 4 f4 ok
			exit 0
			done 4 done`},
		{name: "crash with its own files", feed: FeedNone, env: []string{"FAULT=crash:2"}, say: []string{"was ended by SIGKILL"}, want: `
			run 0 none
			start 1 x.wav
			end 1 x.wav ok
			start 2 y.wav
			end 2 y.wav crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			done 2 stopped`},
		{name: "hang with its own files", feed: FeedNone, env: []string{"FAULT=hang:2", "LINES=none"},
			change: func(c *Config) { c.Timeout = hung }, say: []string{"began no new file within 4s"}, want: `
			run 0 none
			start 1
			end 1 ok
			start 2
			end 2 timeout took longer than 4s
			exit -1 SIGTERM
			done 2 stopped`},
		{name: "exit before any of its own files", feed: FeedNone, env: []string{"FAULT=exit3:0"},
			say: []string{"exited with code 3 before it began a file", "no module named torch"}, want: `
			run 0 none
			exit 3
			done 0 stopped`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := batchOf(t, test.feed, test.files, append([]string{"LINES=both"}, test.env...)...)
			if test.change != nil {
				test.change(&cfg)
			}
			o, log, err := runOf(t, t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, log, test.want)
			for _, say := range test.say {
				if !strings.Contains(o.Diagnostic, say) {
					t.Errorf("diagnostic %q does not say %q", o.Diagnostic, say)
				}
			}
			if len(test.say) == 0 && o.Diagnostic != "" {
				t.Errorf("unexpected diagnostic %q", o.Diagnostic)
			}
			if want := strings.Contains(test.want, "stopped"); want != (o.Reason == ReasonStopped) {
				t.Errorf("reason %q", o.Reason)
			}
		})
	}
}

// A process that ends well before its files are done is followed by one that gets the rest.
func TestEarlyExit(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedStdin, 300, "LINES=both")
	cfg.Env = append(cfg.Env, envProgram+"=some")
	_, log, err := runOf(t, t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	got := events(t, log)
	starts, exits := 0, 0
	for _, e := range got {
		switch {
		case strings.HasPrefix(e, "start "):
			starts++
			if want := fmt.Sprintf("start %d f%d", starts, starts); e != want {
				t.Errorf("found %q, expected %q", e, want)
			}
		case strings.HasPrefix(e, "exit"):
			exits++
		}
	}
	if starts != 300 || exits != 3 || got[len(got)-1] != "done 300 done" {
		t.Errorf("%d files began in %d processes; %s", starts, exits, got[len(got)-1])
	}
}

func TestCommandThatCannotStart(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedList, 2)
	cfg.Command[0] = filepath.Join(cfg.Dir, "no-such-command")
	o, log, err := runOf(t, t.Context(), cfg)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "no-such-command") {
		t.Errorf("error %v", err)
	}
	if o == nil || o.Reason != ReasonStopped {
		t.Errorf("outcome %+v", o)
	}
	expect(t, log, "run 2 list\ndone 0 stopped")

	cfg.Command[0] = "no-such-command-in-path"
	if _, _, err := runOf(t, t.Context(), cfg); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}
