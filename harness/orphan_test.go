package harness

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"vramsoak/harness/supervise"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

// bystander starts a process that has nothing to do with a run.
func bystander(t *testing.T, program string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, envProgram+"="+program)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// idOf returns the id of the run that wrote a log.
func idOf(t *testing.T, log []byte) string {
	t.Helper()
	for rec, err := range parser.Read(bytes.NewReader(log), LogName) {
		if start, ok := rec.(record.RunStart); ok && err == nil {
			return start.ID
		}
	}
	t.Fatalf("no run in the log:\n%s", log)
	return ""
}

// TestKillOrphans: a daemon outlives a harness that is killed. While the harness lives, the daemon
// is not an orphan. Afterwards FindOrphans finds the daemon by the run's id, and KillOrphans kills
// it, although it ignores SIGTERM. No other process is found or killed.
func TestKillOrphans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, LogName)
	cmd, _ := startHarness(t, dir, "CHILD=daemons")
	until(t, "there is a daemon", logSays(path, "daemon "))
	until(t, "it has said who it is", logSays(path, "pipeline "))
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid, id := pidIn(t, log, "daemon "), idOf(t, log)
	other := bystander(t, "sleep", supervise.EnvRun+"=0123456789abcdef",
		supervise.EnvHarness+"=1-1")
	left, err := supervise.FindOrphans(id)
	if err != nil || len(left) != 0 {
		t.Errorf("while the harness lives: got orphans %+v, %v, want none", left, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	until(t, "the pipeline is gone with its harness", dead(pidIn(t, log, "pipeline ")))

	left, err = supervise.FindOrphans(id)
	if err != nil || len(left) != 1 || left[0].PID != pid || left[0].Run != id || left[0].RSS <= 0 {
		t.Fatalf("got orphans %+v, %v; want the daemon %d", left, err, pid)
	}
	all, err := supervise.FindOrphans("")
	if err != nil || !slices.ContainsFunc(all,
		func(l supervise.Orphan) bool { return l.PID == pid }) ||
		!slices.ContainsFunc(all,
			func(l supervise.Orphan) bool { return l.PID == other.Process.Pid }) {
		t.Errorf("orphans of any run: got %+v, %v", all, err)
	}
	if running := supervise.KillOrphans(t.Context(), left,
		100*time.Millisecond); len(running) != 0 {
		t.Errorf("still running: %+v", running)
	}
	if !dead(pid)() || dead(other.Process.Pid)() {
		t.Error("want the daemon killed and the bystander alive")
	}
}
