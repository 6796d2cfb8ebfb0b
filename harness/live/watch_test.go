package live_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/fixtures"
	"vramsoak/harness/check"
	"vramsoak/harness/live"
	"vramsoak/parser/record"
)

// leakingLog returns the log of a run in which each file leaves 4 MiB more behind.
func leakingLog(t *testing.T, files int) []byte {
	t.Helper()
	s := fixtures.Levels(fixtures.LevelSpec{
		Kind: "white", Files: files, Sigma: 5, Growth: 4, Seed: 1,
	})
	var log bytes.Buffer
	if err := s.WriteLog(&log); err != nil {
		t.Fatal(err)
	}
	return log.Bytes()
}

// linesPerFile is the number of lines that leakingLog has for each file.
const linesPerFile = 3

// TestWatch: growth is certain when two looks in a row find it, and is said once. A look before the
// number of files says nothing.
func TestWatch(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "soak.log")
	log := bytes.SplitAfter(leakingLog(t, 64), []byte("\n"))
	results := make(chan live.Result, 1)
	w := live.Start(live.Options{
		Logs: func() []string { return []string{path} }, Policy: check.DefaultPolicy(),
		Look:   func(r live.Result) { results <- r },
		Failed: func(err error) { t.Error(err) },
	})
	var got []string
	for files := 1; files <= 64; files++ {
		head := bytes.Join(log[:linesPerFile*files], nil)
		// The next file has begun, and its first line is not complete.
		if err := os.WriteFile(path, append(head, "[GPU Memory] Before Wor"...), 0o600); err != nil {
			t.Fatal(err)
		}
		w.Ended(files)
		if files != 24 && files != 32 && files != 48 && files != 64 {
			continue
		}
		r := <-results
		if r.Files != files || r.Lines[path] != linesPerFile*files {
			t.Errorf("after %d files the look judged %d, in %d lines", files, r.Files, r.Lines[path])
		}
		for _, f := range r.Certain {
			got = append(got, f.Check+", "+f.Subject)
			if files != 32 {
				t.Errorf("certain after %d files", files)
			}
		}
	}
	w.Close()
	if diff := cmp.Diff([]string{"leak, idle level"}, got); diff != "" {
		t.Errorf("certain (-want +got):\n%s", diff)
	}
}

// TestAgain: the log that is there at the end gives the finding of a look again, from the number of
// lines that the look judged.
func TestAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := leakingLog(t, 60)
	write := func(name string, files int) string {
		path := filepath.Join(dir, name)
		lines := bytes.SplitAfter(log, []byte("\n"))
		text := bytes.Join(lines[:linesPerFile*files], nil)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	judge := func(path string) live.Result {
		r, err := live.Judge(t.Context(), []string{path}, check.DefaultPolicy(), nil, 2)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	then := judge(write("then.log", 32))
	whole, err := os.ReadFile(write("whole.log", 60))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	head := filepath.Join(dir, "head.log")
	text := bytes.Join(lines[:then.Lines[filepath.Join(dir, "then.log")]], nil)
	if err := os.WriteFile(head, text, 0o600); err != nil {
		t.Fatal(err)
	}
	message := func(r live.Result) string {
		var all []string
		for _, f := range live.Growing(r.Report) {
			all = append(all, f.Message)
		}
		return strings.Join(all, "\n")
	}
	if message(then) == "" {
		t.Fatal("no growth was found")
	}
	if diff := cmp.Diff(message(then), message(judge(head))); diff != "" {
		t.Errorf("(-then +again):\n%s", diff)
	}
}

// TestResumedWatch: a resumed run does not repeat the looks that were due before.
func TestResumedWatch(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "soak.log")
	if err := os.WriteFile(path, leakingLog(t, 48), 0o600); err != nil {
		t.Fatal(err)
	}
	results := make(chan live.Result, 1)
	w := live.Start(live.Options{
		Logs: func() []string { return []string{path} }, Policy: check.DefaultPolicy(),
		Resumed: true,
		Look:    func(r live.Result) { results <- r }, Failed: func(err error) { t.Error(err) },
	})
	for _, files := range []int{32, 33, 47, 48} {
		w.Ended(files)
	}
	if r := <-results; r.Look != 3 || len(r.Certain) != 0 {
		t.Errorf("look %d finds %d", r.Look, len(r.Certain))
	}
	w.Close()
}

// TestLookAtAShard: the looks at all shards of a run share its rate of false alarms. Growth of 27
// standard errors is certain in 24 files of one run, and not in those of one of 100,000 shards.
func TestLookAtAShard(t *testing.T) {
	t.Parallel()
	for shards, want := range map[int]check.Verdict{1: check.Fail, 100_000: check.Undecided} {
		path := filepath.Join(t.TempDir(), "soak.log")
		log := record.RunStart{
			Files: 24, Feed: "list", Share: record.Share{Shard: 1, Shards: shards},
		}.AppendLine(nil)
		log = append(append(log, '\n'), leakingLog(t, 24)...)
		if err := os.WriteFile(path, log, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := live.Judge(t.Context(), []string{path}, check.DefaultPolicy(), nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Report.Findings {
			if f.Check == check.Leak && f.Verdict != want {
				t.Errorf("one of %d shards: %s, expected %s: %s", shards, f.Verdict, want, f.Message)
			}
		}
	}
}

// TestFailedLook: a log that cannot be read does not end the watch.
func TestFailedLook(t *testing.T) {
	t.Parallel()
	failed := make(chan error)
	w := live.Start(live.Options{
		Logs:   func() []string { return []string{filepath.Join(t.TempDir(), "none.log")} },
		Policy: check.DefaultPolicy(),
		Look:   func(live.Result) { t.Error("a result") }, Failed: func(err error) { failed <- err },
	})
	w.Ended(24)
	if err := <-failed; !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	w.Ended(32)
	if err := <-failed; !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	w.Close()
}

// TestStopped: a look that is asked to stop does not read on.
func TestStopped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "soak.log")
	if err := os.WriteFile(path, leakingLog(t, 48), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := live.Judge(ctx, []string{path}, check.DefaultPolicy(), nil, 1)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
