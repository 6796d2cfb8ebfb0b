package harness

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/queue"
	"vramsoak/parser/record"
)

// interruptedTeam starts a run on the GPUs 0 and 3, and interrupts it when ready returns true for
// the two logs.
func interruptedTeam(t *testing.T, cfg Config, ready func(logs [2]string) bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for !ready(workerLogs(t, cfg.Dir)) && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	if o, _, err := runAll(ctx, t, cfg); err != nil || o.Reason != ReasonInterrupted {
		t.Fatalf("outcome %+v, %v", o, err)
	}
}

// TestTornFileOfALostGPU: a run is interrupted during a file, and that file's GPU is lost before
// the run is resumed. The other GPU does the file.
func TestTornFileOfALostGPU(t *testing.T) {
	t.Parallel()
	cfg := onGPUs(t, FeedList, 4, "3:f2=wait")
	interruptedTeam(t, cfg, func(logs [2]string) bool {
		return strings.Contains(logs[1], "Before Work") &&
			strings.Contains(logs[0], "path=f3 status=ok seconds=")
	})
	cfg.Resume = true
	cfg.Env = append(cfg.Env, "WRONG=3:start=dead")
	o, logs, err := runAll(t.Context(), t, cfg)
	if err != nil || o.Counts[record.StatusOK] != 4 || o.Reason != ReasonStopped {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	if got := strings.Join(begun(t, logs[0]), " "); got != "f1 f3 f2 f4" && got != "f1 f3 f4 f2" {
		t.Errorf("GPU 0 did %s", got)
	}
	f := filesFinding(t, logs)
	if f.Verdict != check.Fail || !strings.HasPrefix(f.Message,
		"the worker of GPU 3 was stopped: ") ||
		!strings.HasSuffix(f.Message, "; 4 of 4 files ended ok") {
		t.Errorf("finding %+v", f)
	}

	// When the GPU is back, no file is left to do, and no file is done twice.
	cfg.Env = append(cfg.Env, "WRONG=")
	o, again, err := runAll(t.Context(), t, cfg)
	if err != nil || o.Reason != ReasonDone || o.Ended || again[0] != logs[0] ||
		len(begun(t, again[1])) != len(begun(t, logs[1])) {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	if f := filesFinding(t, again); f.Verdict != check.Pass || f.Message != "all 4 files ended ok" {
		t.Errorf("finding %+v", f)
	}
	if o, _, err := runAll(t.Context(), t, cfg); err != nil || !o.Ended || o.Files != 4 {
		t.Errorf("outcome %+v, %v", o, err)
	}
}

// TestWorkersUntilResumed: a run with Until that is resumed first does the files that were
// interrupted, and then the files that follow.
func TestWorkersUntilResumed(t *testing.T) {
	t.Parallel()
	for _, feed := range []Feed{FeedProcess, FeedStdin} {
		cfg := onGPUs(t, feed, 3, "")
		cfg.Until = time.Hour
		cfg.More = func() []queue.Input { return inputs(3) }
		ends := func(log string) int { return strings.Count(log, "[vramsoak] file-end") }
		ended := func(n int, since [2]string) func([2]string) bool {
			return func(logs [2]string) bool {
				return ends(logs[0]) >= ends(since[0])+n && ends(logs[1]) >= ends(since[1])+n
			}
		}
		interruptedTeam(t, cfg, ended(4, [2]string{}))
		logs := workerLogs(t, cfg.Dir)
		first := timelineOf(t, logs)
		cfg.Resume = true
		interruptedTeam(t, cfg, ended(8, logs))
		tl := timelineOf(t, workerLogs(t, cfg.Dir))
		times := map[int]int{}
		for _, f := range tl.Files {
			if f.Status == record.StatusOK {
				times[f.Index]++
			}
		}
		for index, n := range times {
			if n != 1 {
				t.Errorf("%s: file %d was done %d times", feed, index, n)
			}
		}
		for _, f := range first.Files {
			if times[f.Index] != 1 {
				t.Errorf("%s: file %d was begun in the first part and done %d times", feed, f.Index,
					times[f.Index])
			}
		}
	}
}

// TestWorkersResumedOtherwise: a run can be resumed only with the configuration that it began with.
func TestWorkersResumedOtherwise(t *testing.T) {
	t.Parallel()
	cfg := onGPUs(t, FeedProcess, 2, "")
	if _, _, err := runAll(t.Context(), t, cfg); err != nil {
		t.Fatal(err)
	}
	before := workerLogs(t, cfg.Dir)
	cfg.Resume = true
	for want, workers := range map[string][]Worker{
		"expected workers 1, as the run is to go on with, found 2": {{GPU: 0}},
		"expected workers 3, as the run":                           {{GPU: 0}, {GPU: 3}, {GPU: 4}},
	} {
		if _, err := RunAll(t.Context(), cfg, workers); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if workerLogs(t, cfg.Dir) != before {
		t.Error("the logs have changed")
	}
	other := onGPUs(t, FeedProcess, 2, "")
	if _, _, err := runAll(t.Context(), t, other); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(workerPaths(other.Dir)[1], workerPaths(cfg.Dir)[1]); err != nil {
		t.Fatal(err)
	}
	if _, _, err := runAll(t.Context(), t, cfg); err == nil ||
		!strings.Contains(err.Error(), "found one of another run; the run cannot be resumed") {
		t.Errorf("error %v", err)
	}
}
