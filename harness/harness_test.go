package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/fixtures/soaklog"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

// hung is a timeout that only a process that hangs exceeds, even on a busy machine.
const hung = 8 * time.Second

// child returns the configuration of a run whose command is one of the programs in [programs].
func child(t *testing.T, program string, feed Feed, args ...string) Config {
	t.Helper()
	return Config{
		Command: append([]string{os.Args[0]}, args...), Feed: feed, Dir: t.TempDir(),
		Grace: 200 * time.Millisecond,
		Env:   []string{envProgram + "=" + program, "GORACE=atexit_sleep_ms=0"}, Version: "test",
	}
}

// batchOf returns the configuration of a run of the program pipeline over n files.
func batchOf(t *testing.T, feed Feed, n int, env ...string) Config {
	t.Helper()
	args := map[Feed][]string{
		FeedProcess: {"file", pathMark}, FeedList: {"list", listMark}, FeedStdin: {"stdin"},
		FeedNone: {"none"},
	}[feed]
	cfg := child(t, "pipeline", feed, args...)
	cfg.Files = inputs(n)
	cfg.Env = append(cfg.Env, env...)
	return cfg
}

// runOf runs the configuration, and returns what [Run] returns, with the log. It fails the test if
// the run does not end.
func runOf(ctx context.Context, t *testing.T, cfg Config) (*Outcome, []byte, error) {
	t.Helper()
	o, err := ended(t, func() (*Outcome, error) { return Run(ctx, cfg) })
	log, readErr := os.ReadFile(cfg.logPath())
	if readErr != nil {
		t.Fatal(readErr)
	}
	return o, log, err
}

// ended returns what run returns. It fails the test if that takes longer than two minutes.
func ended(t *testing.T, run func() (*Outcome, error)) (*Outcome, error) {
	t.Helper()
	type result struct {
		outcome *Outcome
		err     error
	}
	done := make(chan result, 1)
	go func() {
		o, err := run()
		done <- result{o, err}
	}()
	select {
	case r := <-done:
		return r.outcome, r.err
	case <-time.After(2 * time.Minute):
		t.Fatal("the run does not end")
		return nil, nil
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
			o, log, err := runOf(t.Context(), t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			soaklog.Expect(t, log, test.want)
			if o.Counts[record.StatusOK] != 3 || o.Files != 3 || o.Reason != ReasonDone {
				t.Errorf("outcome %+v", o)
			}
		})
	}
}

// TestLinesBelongToTheirFile: the pipeline's lines about a file, its own file-start and file-end
// lines included, are between the harness's file-start and file-end lines of that file.
func TestLinesBelongToTheirFile(t *testing.T) {
	t.Parallel()
	_, log, err := runOf(t.Context(), t, batchOf(t, FeedList, 2, "LINES=both"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(log)) {
		if w := strings.Fields(line); !slices.Contains([]string{"sample", "limits", "holding"}, w[1]) {
			got = append(got, strings.Join(w[:2], " "))
		}
	}
	file := []string{
		"[vramsoak] file-start", "[pipeline] file-start", "[GPU Memory]", "[GPU Memory]",
		"[pipeline] file-end",
		"[vramsoak] file-end",
	}
	want := append([]string{"[vramsoak] run-start"}, append(file, file...)...)
	want = append(want, "[vramsoak] exit", "[vramsoak] run-end")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestRounds: a batch may contain the same files several times, in rounds. After a crash in the
// second round, the next process gets the rest of that round.
func TestRounds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		feed  Feed
		lines string
	}{
		{FeedProcess, "both"},
		{FeedList, "both"},
		{FeedStdin, "both"},
		{FeedList, "starts"},
		{FeedStdin, "ends"},
		{FeedList, "none"},
	} {
		t.Run(string(test.feed)+" "+test.lines, func(t *testing.T) {
			t.Parallel()
			cfg := batchOf(t, test.feed, 3, "LINES="+test.lines, "FAULT=crash:5")
			cfg.Files = slices.Repeat(cfg.Files, 2)
			o, log, err := runOf(t.Context(), t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if o.Files != 6 || o.Counts[record.StatusOK] != 5 ||
				o.Counts[record.StatusCrashed] != 1 || o.Reason != ReasonDone {
				t.Errorf("outcome %+v", o)
			}
			tl, err := parser.Build(parser.Read(bytes.NewReader(log), LogName))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range tl.LastAttempts() {
				got = append(got, fmt.Sprintf("%d %s %g s %s", f.Index, f.Path, f.AudioSeconds,
					f.Status))
			}
			want := []string{
				"1 f1 10 s ok", "2 f2 10 s ok", "3 f3 10 s ok", "4 f1 10 s ok",
				"5 f2 10 s crashed", "6 f3 10 s ok",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s\nlog:\n%s", diff, log)
			}
		})
	}
}

// TestEarlyExit: if a process exits with code 0 before its files are done, the next process gets
// the rest.
func TestEarlyExit(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedStdin, 300, "LINES=both")
	cfg.Env = append(cfg.Env, envProgram+"=some")
	_, log, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	got := soaklog.Events(t, log)
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
	o, log, err := runOf(t.Context(), t, cfg)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "no-such-command") {
		t.Errorf("error %v", err)
	}
	if o == nil || o.Reason != ReasonStopped {
		t.Errorf("outcome %+v", o)
	}
	soaklog.Expect(t, log, "run 2 list\ndone 0 stopped")

	cfg.Command[0] = "no-such-command-in-path"
	if _, _, err := runOf(t.Context(), t, cfg); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}
