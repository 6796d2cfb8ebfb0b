package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramsoak/fixtures/soaklog"
	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

// early is an end as package live finds it.
var early = record.EarlyEnd{Look: 2, Files: 2, Check: "leak", Subject: "idle level", Found: "grows"}

// endEarlyIn makes the configuration end its run while the file f3 is in work, and lets that file
// end when the logs say so.
func endEarlyIn(t *testing.T, cfg *Config, logs ...string) {
	t.Helper()
	end := make(chan EarlyEnd, 1)
	cfg.EndEarly, cfg.FailFast = end, true
	lines := map[string]int{}
	for _, log := range logs {
		lines[log] = 7
	}
	sent := false
	cfg.Progress = func(p Progress) {
		current := p.Current
		for _, w := range p.Workers {
			if w.Current == "f3" {
				current = w.Current
			}
		}
		if current != "f3" || sent {
			return
		}
		sent = true
		end <- EarlyEnd{EarlyEnd: early, Lines: lines}
		go func() {
			for _, log := range logs {
				until(t, log+" says why the run ends", logSays(log, "[vramsoak] early-end "))
			}
			if err := os.WriteFile(goFile(cfg), nil, 0o644); err != nil {
				t.Error(err)
			}
		}()
	}
}

// TestEndEarly: the file in work is finished, no other file is begun, and the log says why. The
// files that were not begun do not count as failed.
func TestEndEarly(t *testing.T) {
	t.Parallel()
	for feed, want := range map[Feed]string{
		FeedProcess: `
			run 5 process
			start 1 f1
			end 1 f1 ok
			exit 0
			start 2 f2
			end 2 f2 ok
			exit 0
			start 3 f3
			end 3 f3 ok
			exit 0
			done 3 fail-fast`,
		FeedStdin: `
			run 5 stdin
			start 1 f1
			end 1 f1 ok
			start 2 f2
			end 2 f2 ok
			start 3 f3
			end 3 f3 ok
			exit -1 SIGTERM fail-fast
			done 3 fail-fast`,
	} {
		t.Run(string(feed), func(t *testing.T) {
			t.Parallel()
			cfg := onGPUs(t, feed, 5, ":f3=wait :f4=hang")
			endEarlyIn(t, &cfg, cfg.logPath())
			o, log, err := runOf(t.Context(), t, cfg)
			if err != nil || o.Reason != ReasonFailFast || o.Counts[record.StatusOK] != 3 {
				t.Errorf("outcome %+v, %v", o, err)
			}
			soaklog.Expect(t, log, want)
			if !strings.Contains(string(log), " look=2 files=2 lines=7 check=leak "+
				`subject="idle level" found=grows`) {
				t.Errorf("the log does not say what was judged:\n%s", log)
			}
			files := filesFinding(t, [2]string{string(log)})
			if files.Verdict != check.Undecided || files.Message !=
				"2 files never started, because --fail-fast ended the run early; all 3 others ended ok" {
				t.Errorf("%s: %s", files.Verdict, files.Message)
			}
		})
	}
}

// TestEndEarlyOfWorkers: all workers finish their files. Each log says why the run ended.
func TestEndEarlyOfWorkers(t *testing.T) {
	t.Parallel()
	cfg := onGPUs(t, FeedProcess, 9, "0:f3=wait 3:f3=wait 0:f4=wait 3:f4=wait")
	endEarlyIn(t, &cfg, filepath.Join(WorkerDir(cfg.Dir, 0), LogName),
		filepath.Join(WorkerDir(cfg.Dir, 3), LogName))
	o, logs, err := runAll(t.Context(), t, cfg)
	if err != nil || o.Reason != ReasonFailFast {
		t.Errorf("outcome %+v, %v", o, err)
	}
	if n := o.Counts[record.StatusOK]; n < 3 || n > 4 {
		t.Errorf("%d files ended", n)
	}
	files := filesFinding(t, logs)
	if files.Verdict != check.Undecided || !strings.Contains(files.Message,
		"never started, because --fail-fast ended the run early") {
		t.Errorf("%s: %s", files.Verdict, files.Message)
	}
}

// TestEndEarlyTooLate: if no file is left, the run is done as if nothing had been said.
func TestEndEarlyTooLate(t *testing.T) {
	t.Parallel()
	cfg := onGPUs(t, FeedStdin, 3, ":f3=wait")
	endEarlyIn(t, &cfg, cfg.logPath())
	o, log, err := runOf(t.Context(), t, cfg)
	if err != nil || o.Reason != ReasonDone || o.Counts[record.StatusOK] != 3 {
		t.Errorf("outcome %+v, %v", o, err)
	}
	if files := filesFinding(t, [2]string{string(log)}); files.Verdict != check.Pass {
		t.Errorf("%s: %s", files.Verdict, files.Message)
	}
}

// TestEndEarlyResumed: a run that was ended early can be resumed with its other files.
func TestEndEarlyResumed(t *testing.T) {
	t.Parallel()
	cfg := onGPUs(t, FeedProcess, 5, ":f3=wait")
	endEarlyIn(t, &cfg, cfg.logPath())
	if _, _, err := runOf(t.Context(), t, cfg); err != nil {
		t.Fatal(err)
	}
	cfg.Resume, cfg.EndEarly, cfg.Progress = true, nil, nil
	o, log, err := runOf(t.Context(), t, cfg)
	if err != nil || o.Reason != ReasonDone || o.Counts[record.StatusOK] != 5 {
		t.Errorf("outcome %+v, %v", o, err)
	}
	if files := filesFinding(t, [2]string{string(log)}); files.Verdict != check.Pass {
		t.Errorf("%s: %s", files.Verdict, files.Message)
	}
	if !strings.Contains(string(log), "[vramsoak] resume ") ||
		!strings.Contains(string(log), "reason=fail-fast") {
		t.Errorf("the log lacks the resume:\n%s", log)
	}
}
