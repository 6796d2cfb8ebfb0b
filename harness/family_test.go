package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramsoak/fixtures/soaklog"
	"vramsoak/harness/supervise"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// orphansIn returns the orphan lines of a log.
func orphansIn(t *testing.T, log []byte) []record.Orphan {
	t.Helper()
	var found []record.Orphan
	for rec, err := range parser.Read(bytes.NewReader(log), LogName) {
		if err != nil {
			t.Fatal(err)
		}
		if o, ok := rec.(record.Orphan); ok {
			found = append(found, o)
		}
	}
	return found
}

// TestOrphans: the harness ends and logs a process that the pipeline leaves behind, whatever the
// pipeline did to hide it. The file still ends with status ok.
func TestOrphans(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"group", "session", "daemon", "bare"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cfg := child(t, "parent", FeedProcess, how, "{}")
			cfg.Files = inputs(1)
			sign := filepath.Join(cfg.Dir, "go")
			cfg.Env = append(cfg.Env, "GO="+sign)
			go func() { // after thirty samples the harness has searched for descendants again
				until(t, "the grandchild was seen", func() bool {
					log, _ := os.ReadFile(cfg.logPath())
					_, log, _ = bytes.Cut(log, []byte("grandchild"))
					return how != "bare" || bytes.Count(log, []byte("sample")) >= 30
				})
				_ = os.WriteFile(sign, nil, 0o644)
			}()
			o, log, err := runOf(t.Context(), t, cfg)
			if err != nil || o.Reason != ReasonDone {
				t.Fatalf("outcome %+v, %v", o, err)
			}
			soaklog.Expect(t, log,
				"run 1 process\nstart 1 f1\nend 1 f1 ok\norphan ended\nexit 0\ndone 1 done")
			pid := pidIn(t, log, "grandchild ")
			until(t, "the grandchild is gone", dead(pid))
			found := orphansIn(t, log)
			if len(found) != 1 || found[0].PID != pid || found[0].RSS <= 0 ||
				!strings.Contains(found[0].Command, filepath.Base(os.Args[0])) {
				t.Errorf("the log names %+v, the grandchild was %d", found, pid)
			}
		})
	}
}

// TestNamelessDaemon: a daemon that was started without an environment has no id of the run in it.
// If the run has no other children in this program, the harness still finds that the daemon is the
// pipeline's.
func TestNamelessDaemon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, out := startHarness(t, dir, "CHILD=nameless", "REAPER=1")
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	log, err := os.ReadFile(filepath.Join(dir, LogName))
	if err != nil {
		t.Fatal(err)
	}
	pid := pidIn(t, log, "grandchild ")
	if found := orphansIn(t, log); len(found) != 1 || found[0].PID != pid || !found[0].Ended ||
		found[0].Command != "sleep 600" {
		t.Errorf("left behind: %+v, the daemon was %d", found, pid)
	}
	until(t, "the daemon is gone", dead(pid))
}

// TestHelpersThatEnd: a process that exits soon after its parent was not left behind. Helper
// processes exit when they see that their parent has ended.
func TestHelpersThatEnd(t *testing.T) {
	t.Parallel()
	cfg := child(t, "parent", FeedProcess, "helper", "{}")
	cfg.Files, cfg.selfExit = inputs(1), time.Minute
	_, log, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	soaklog.Expect(t, log, "run 1 process\nstart 1 f1\nend 1 f1 ok\nexit 0\ndone 1 done")
}

// TestBystandersLive: the harness does not end the processes of another run, nor processes without
// the id of a run.
func TestBystandersLive(t *testing.T) {
	t.Parallel()
	cfg := child(t, "parent", FeedProcess, "session", "{}")
	cfg.Files = inputs(1)
	other, plain := bystander(t, "sleep", supervise.EnvRun+"=0123456789abcdef"),
		bystander(t, "sleep")
	_, log, err := runOf(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if found := orphansIn(t, log); len(found) != 1 {
		t.Errorf("left behind: %+v", found)
	}
	for _, cmd := range []int{other.Process.Pid, plain.Process.Pid} {
		if dead(cmd)() {
			t.Errorf("the bystander %d was ended", cmd)
		}
	}
}

// TestReaper: a process starts many daemons. None stays a zombie, although the parents of the
// daemons have ended.
func TestReaper(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, LogName)
	cmd, out := startHarness(t, dir, "CHILD=breeder", "REAPER=1")
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	until(t, "the daemons are started", logSays(path, "all are started"))
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pipeline := pidIn(t, log, "pid=")
	daemon := pidIn(t, log, "grandchild ")
	until(t, "only the pipeline and its daemon are the harness's children", func() bool {
		pids := meter.Children(cmd.Process.Pid)
		return fmt.Sprint(pids) == fmt.Sprint([]int{pipeline, daemon}) ||
			fmt.Sprint(pids) == fmt.Sprint([]int{daemon, pipeline})
	})
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if log, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if found := orphansIn(t, log); len(found) != 1 || found[0].PID != daemon || !found[0].Ended {
		t.Errorf("left behind: %+v", found)
	}
	if !dead(daemon)() {
		t.Error("the daemon lives")
	}
}
