package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramsoak/parser"
)

// A log that a test made, of files f1, f2 and so on: one word a line, "start 1", "ok 1", "failed 1", "interrupted 1".
func madeLog(words string) string {
	clock := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	var b []byte
	add := func(l line) { b = append(l.AppendLine(b), '\n') }
	for word := range strings.Lines(words) {
		clock = clock.Add(time.Second)
		head := parser.Header{Time: clock}
		var kind string
		n := 0
		_, _ = fmt.Sscan(word, &kind, &n) // a word without a number
		path := fmt.Sprintf("f%d", n)
		switch kind {
		case "":
		case "run":
			add(parser.RunStart{Header: head, Files: n, Feed: "stdin", Version: "test", Command: "x"})
		case "start":
			add(parser.FileStart{Header: head, Index: n, Path: path, AudioSeconds: 10})
		case "interrupted":
			add(parser.FileEnd{Header: head, Index: n, Path: path, Status: parser.StatusFailed, Error: parser.Interrupted})
		case "exit":
			add(parser.Exit{Header: head, PID: 1, Code: n})
		case "crash":
			add(parser.Exit{Header: head, PID: 1, Code: -1, Signal: "SIGSEGV", Restarts: n})
		case "sample":
			add(parser.Sample{Header: head, PID: n, RSS: 1})
		case "resume":
			clock = clock.Add(time.Hour)
			add(parser.Resume{Header: parser.Header{Time: clock}, Index: n, Reason: reasonKilled})
		case "stopped", "done":
			add(parser.RunEnd{Header: head, Files: n, Seconds: 100, Reason: kind})
		default:
			add(parser.FileEnd{Header: head, Index: n, Path: path, Status: parser.Status(kind)})
		}
	}
	return string(b)
}

// What the log says of the run so far.
func TestPast(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, log string
		left      string // files that have not begun
		torn      string
		ok        int
		want      past
	}{
		{"begun", "run 3", "1 2 3", "", 0, past{first: 1}},
		{"a file is open", "run 3\nstart 1\nok 1\nstart 2\n", "2 3", "2", 1, past{first: 2, spent: 3 * time.Second}},
		{
			"between files", "run 3\nsample 1\nstart 1\nok 1\n", "2 3", "", 1,
			past{first: 2, spent: 3 * time.Second, processes: 1},
		},
		{"all done, and not the end", "run 2\nstart 1\nok 1\nstart 2\nfailed 2\nexit 0\n", "", "", 1, past{spent: 5 * time.Second, processes: 1}},
		{"out of order", "run 3\nstart 3\nok 3\nstart 1\nok 1\nstart 2\n", "2", "2", 2, past{first: 2, spent: 5 * time.Second}},
		{"a file that was done is done again", "run 2\nstart 1\nok 1\nstart 1\n", "1 2", "1", 1, past{first: 1, spent: 3 * time.Second}},
		{
			"interrupted", "run 3\nstart 1\nok 1\nstart 2\ninterrupted 2\nexit 1\n", "2 3", "2", 1,
			past{first: 2, spent: 5 * time.Second, processes: 1},
		},
		{
			"crashes", "run 4\nstart 1\ncrashed 1\ncrash 1\nstart 2\ncrashed 2\ncrash 2\nstart 3\nok 3\nexit 0\n", "4", "", 1,
			past{first: 4, spent: 9 * time.Second, processes: 3, restarts: 2},
		},
		{
			"the time between parts does not count", "run 3\nstart 1\nresume 1\nstart 1\nok 1\nstart 2\n", "2 3", "2", 1,
			past{first: 2, spent: 1*time.Second + 3*time.Second},
		},
		{
			"a part that ended", "run 3\nstart 1\nok 1\nexit 1\nstopped 1\nresume 2\nstart 2\nok 2\n", "3", "", 2,
			past{first: 3, spent: 102 * time.Second, processes: 1},
		},
		{"a file that is none", "run 2\nstart 7\nok 7\nstart 1\n", "1 2", "1", 0, past{first: 1, spent: 3 * time.Second}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			log := madeLog(test.log)
			n := 0
			_, _ = fmt.Sscanf(test.log, "run %d", &n)
			b := newBatch(inputs(n))
			p, err := readPast(strings.NewReader(log), Config{Files: inputs(n)}, b, func(int) {})
			if err != nil {
				t.Fatal(err)
			}
			if p.start == nil {
				t.Fatal("no run-start")
			}
			p.start, p.end = nil, nil
			if p != test.want {
				t.Errorf("found %+v, expected %+v", p, test.want)
			}
			places := func(indices []int) string {
				var all []string
				for _, i := range indices {
					all = append(all, fmt.Sprint(i+1))
				}
				return strings.Join(all, " ")
			}
			var torn []int
			for i := range b.files {
				if b.torn[i] {
					torn = append(torn, i)
				}
			}
			if left := places(b.waiting(0)); left != test.left || places(torn) != test.torn || b.counts[parser.StatusOK] != test.ok {
				t.Errorf("left %s, torn %s, %d ok, expected %s, %s, %d", left, places(torn), b.counts[parser.StatusOK], test.left, test.torn, test.ok)
			}
		})
	}
}

// A log of another run, or of none, is left as it is.
func TestResumeRefuses(t *testing.T) {
	t.Parallel()
	good := batchOf(t, FeedStdin, 2, "LINES=both")
	start := func(change func(*Config)) string {
		cfg := good
		change(&cfg)
		return string(cfg.runStart(parser.Header{}).AppendLine(nil)) + "\n"
	}
	for _, test := range []struct{ name, log, want string }{
		{"other files", start(func(c *Config) { c.Files = inputs(3) }), "expected files 2, as the run is to go on with, found 3"},
		{"other command", start(func(c *Config) { c.Command = []string{"y"} }), "found y"},
		{"other policy", start(func(c *Config) { c.Policy = "x" }), "expected the policy"},
		{"other time", start(func(c *Config) { c.Until = time.Hour }), "expected until 0, as the run is to go on with, found "},
		{"no run", "[vramsoak] exit pid=1 code=0\n", "soak.log:1: expected a log that begins with [vramsoak] run-start"},
		{"run-start further on", "hello\n" + start(func(*Config) {}), "soak.log:2: expected a log that begins"},
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

// One log has one harness.
func TestSecondHarness(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedStdin, 2, "LINES=both")
	log, err := openLog(cfg.logPath())
	if err != nil {
		t.Fatal(err)
	}
	if o, err := Run(t.Context(), cfg); o != nil || !errors.Is(err, errBusy) {
		t.Errorf("found %+v, %v", o, err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := runOf(t.Context(), t, cfg); err != nil {
		t.Error(err)
	}
}

// The rounds of a soak by time are those that there were, and the time spent counts.
func TestResumeUntil(t *testing.T) {
	t.Parallel()
	cfg := batchOf(t, FeedStdin, 3, "LINES=both")
	cfg.Until, cfg.Resume = 5*time.Second, true
	cfg.More = func() []Input { return inputs(3) }
	head := cfg.runStart(parser.Header{Time: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)})
	log := string(head.AppendLine(nil)) + "\n"
	for i := range 7 { // in the third round, after seven seconds
		at := parser.Header{Time: head.Time.Add(time.Duration(i+1) * time.Second)}
		path := inputs(3)[i%3].Path
		log += string(parser.FileStart{Header: at, Index: i + 1, Path: path}.AppendLine(nil)) + "\n"
		if i < 6 {
			log += string(parser.FileEnd{Header: at, Index: i + 1, Path: path, Status: parser.StatusOK}.AppendLine(nil)) + "\n"
		}
	}
	if err := os.WriteFile(cfg.logPath(), []byte(log), 0o644); err != nil {
		t.Fatal(err)
	}
	o, text, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if o.Files != 7 || o.Counts[parser.StatusOK] != 7 || o.Reason != ReasonDone || o.Duration < 7*time.Second {
		t.Errorf("outcome %+v", o)
	}
	if got := events(t, text); got[len(got)-1] != "done 7 done" || got[len(got)-4] != "start 7 f1" || got[len(got)-3] != "end 7 f1 ok" {
		t.Errorf("events %q", got)
	}
}

// What the pipeline of a killed harness left running is ended before the run goes on.
func TestResumeEndsWhatLives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, out := supervise(t, dir, "CHILD=daemons")
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
	if err != nil || o.Counts[parser.StatusOK] != 3 {
		t.Errorf("outcome %+v, %v", o, err)
	}
	until(t, "the daemon is gone", dead(daemon))
	_, resumed, _ := strings.Cut(string(log), "[vramsoak] resume ")
	before, _, _ := strings.Cut(resumed, "[vramsoak] file-start ")
	if want := fmt.Sprintf("pid=%d ", daemon); !strings.Contains(before, "[vramsoak] orphan ") || !strings.Contains(before, want) {
		t.Errorf("before the first file that follows the log says:\n%s", before)
	}
}
