package supervise

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bystander starts a process that has nothing to do with a run.
func bystander(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func isRunning(pid int) bool {
	p, ok := readProc(pid)
	return ok && p.runs()
}

// TestKillInAHurry: if the context has already ended, processes get SIGKILL at once after SIGTERM.
func TestKillInAHurry(t *testing.T) {
	t.Parallel()
	stubborn := bystander(t, "sh", "-c", "trap '' TERM; exec sleep 600")
	p, ok := readProc(stubborn.Process.Pid)
	if !ok {
		t.Fatal("no such process")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if running := KillOrphans(ctx, []Orphan{p.orphan("")}, time.Hour); len(running) != 0 {
		t.Errorf("still running: %+v", running)
	}
}

// A process that has the right PID but another start time gets no signal: it is a later process.
func TestSignalToALaterProcess(t *testing.T) {
	t.Parallel()
	cmd := bystander(t, "sleep", "600")
	p, ok := readProc(cmd.Process.Pid)
	if !ok || !p.runs() {
		t.Fatalf("%+v does not run", p)
	}
	earlier := p
	earlier.born--
	earlier.signal(unix.SIGKILL)
	if running := KillOrphans(t.Context(), []Orphan{{PID: p.pid, proc: earlier}},
		time.Hour); len(running) != 0 {
		t.Errorf("the earlier process runs: %+v", running)
	}
	if !p.runs() {
		t.Error("the later process got a signal")
	}
}
