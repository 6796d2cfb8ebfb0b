package harness

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vramsoak/fixtures/soaklog"
	"vramsoak/harness/queue"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

// TestBackOff: the wait before the next process doubles with each crash up to its limit. When a
// file has ended with status ok, the wait is the first one again.
func TestBackOff(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		first time.Duration
		well  string // for each crash: + if files ended well before
		want  string
	}{
		{"none", 0, "...", "0s 0s 0s"},
		{"doubles", time.Second, ".....", "1s 2s 4s 8s 16s"},
		{"limit", time.Minute, "......", "1m0s 2m0s 4m0s 5m0s 5m0s 5m0s"},
		{"longer than the limit", 10 * time.Minute, "...", "10m0s 10m0s 10m0s"},
		{"progress", time.Second, "...+..+", "1s 2s 4s 1s 2s 4s 1s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &run{
					cfg:      Config{Logger: slog.New(slog.DiscardHandler)},
					restarts: restarts{first: test.first},
				}
				var waited []string
				for _, well := range test.well {
					if !r.restarts.crash(well == '+') {
						t.Fatal("there is no limit")
					}
					begin := time.Now()
					r.pause(t.Context())
					waited = append(waited, time.Since(begin).String())
					r.pause(t.Context()) // waits only once
				}
				if got := strings.Join(waited, " "); got != test.want {
					t.Errorf("waited %s, expected %s", got, test.want)
				}
			})
		})
	}
}

// TestBackOffInterrupted: if the run is interrupted, the wait before the next process ends at once.
func TestBackOffInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		r := &run{
			cfg:      Config{Logger: slog.New(slog.DiscardHandler)},
			restarts: restarts{pause: time.Hour},
		}
		r.pause(ctx)
		kill := make(chan struct{})
		close(kill)
		r.kill, r.restarts.pause = kill, time.Hour
		r.pause(t.Context())
		if waited := time.Since(begin); waited != 3*time.Second || !r.interrupted {
			t.Errorf("waited %v, interrupted %v", waited, r.interrupted)
		}
	})
}

// TestRestarts: the harness retries failed files as often as RetryFailed says, and restarts after
// as many crashes as MaxRestarts says.
func TestRestarts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		feed   Feed
		files  int
		env    string
		change func(*Config)
		want   string
		say    string
	}{
		{"retry in a list", FeedList, 3, "FAULT=fail:2", func(c *Config) { c.RetryFailed = 2 }, `
			run 3 list
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 failed no audio
			start 3 f3
			end 3 f3 ok
			exit 0
			start 2 f2
			end 2 f2 failed no audio
			exit 0
			start 2 f2
			end 2 f2 failed no audio
			exit 0
			done 3 done`, ""},
		{
			"retry of a crash in a process a file", FeedProcess, 2, "FAULT=crash:1",
			func(c *Config) { c.RetryFailed = 1 }, `
			run 2 process
			start 1 f1
			end 1 f1 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			start 2 f2
			end 2 f2 ok
			exit 0
			start 1 f1
			end 1 f1 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			done 2 done`, "",
		},
		{
			"so many restarts", FeedStdin, 4, "FAULT=crash:1 crash:2 crash:3",
			func(c *Config) { c.MaxRestarts = 2 }, `
			run 4 stdin
			start 1 f1
			end 1 f1 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			start 2 f2
			end 2 f2 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			start 3 f3
			end 3 f3 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			done 3 stopped`, "was ended by SIGKILL, and it was restarted 2 times already",
		},
		{
			"as many crashes as restarts", FeedProcess, 3, "FAULT=exit3:1 crash:2",
			func(c *Config) { c.MaxRestarts = 2 }, `
			run 3 process
			start 1 f1
			end 1 f1 failed the process exited with code 3: Traceback: no module named torch
			exit 3
			start 2 f2
			end 2 f2 crashed the process was ended by SIGKILL
			exit -1 SIGKILL
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 done`, "",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := batchOf(t, test.feed, test.files, "LINES=both", test.env)
			test.change(&cfg)
			o, log, err := runOf(t.Context(), t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			soaklog.Expect(t, log, test.want)
			if !strings.Contains(o.Diagnostic, test.say) ||
				(test.say == "") != (o.Diagnostic == "") {
				t.Errorf("diagnostic %q", o.Diagnostic)
			}
		})
	}
}

// TestUntil: a run with Until feeds files until the time is over. A process gets many files at
// once, and the harness ends it between two of them.
func TestUntil(t *testing.T) {
	t.Parallel()
	for _, lines := range []string{"both", "starts", "ends", "none"} {
		t.Run(lines, func(t *testing.T) {
			t.Parallel()
			cfg := batchOf(t, FeedStdin, 2, "LINES="+lines)
			cfg.Until = 200 * time.Millisecond
			rounds := 0
			cfg.More = func() []queue.Input { rounds++; return inputs(2) }
			o, log, err := runOf(t.Context(), t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if o.Reason != ReasonDone || o.Files == 0 || o.Counts[record.StatusOK] != o.Files ||
				rounds < queue.AheadMax/2-1 {
				t.Errorf("outcome %+v after %d rounds", o, rounds)
			}
			tl, err := parser.Build(parser.Read(strings.NewReader(string(log)), LogName))
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range tl.Files {
				if want := inputs(2)[i%2].Path; f.Index != i+1 || f.Path != want ||
					f.Status != record.StatusOK {
					t.Fatalf("file %d: %d %s %s", i+1, f.Index, f.Path, f.Status)
				}
			}
			if start := tl.Runs[0].Start; start.Files != 0 || start.Until != 0.2 {
				t.Errorf("the log begins %+v", start)
			}
		})
	}
}

// TestQueue: two runs take their files from one channel by Config.More. Each file is done once.
func TestQueue(t *testing.T) {
	t.Parallel()
	waiting := make(chan queue.Input, 12)
	for _, f := range inputs(cap(waiting)) {
		waiting <- f
	}
	close(waiting)
	done := make(chan string, cap(waiting))
	var workers sync.WaitGroup
	for range 2 {
		cfg := batchOf(t, FeedProcess, 0, "LINES=both")
		cfg.More = func() []queue.Input {
			if f, ok := <-waiting; ok {
				return []queue.Input{f}
			}
			return nil
		}
		workers.Go(func() {
			o, err := Run(t.Context(), cfg)
			if err != nil || o.Reason != ReasonDone || o.Counts[record.StatusOK] != o.Files {
				t.Errorf("outcome %+v, %v", o, err)
			}
			log, _ := os.ReadFile(cfg.logPath())
			for rec, err := range parser.Read(bytes.NewReader(log), LogName) {
				if err != nil {
					t.Error(err)
				}
				if end, ok := rec.(record.FileEnd); ok && !end.Pipeline {
					done <- end.Path
				}
			}
		})
	}
	workers.Wait()
	close(done)
	var paths, want []string
	for p := range done {
		paths = append(paths, p)
	}
	for _, f := range inputs(cap(waiting)) {
		want = append(want, f.Path)
	}
	slices.Sort(paths)
	slices.Sort(want)
	if !slices.Equal(paths, want) {
		t.Errorf("done %q", paths)
	}
}
