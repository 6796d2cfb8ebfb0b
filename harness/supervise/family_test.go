package supervise

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestNamelessBystander tests a process whose environment is still empty, so that nothing shows to
// which run it belongs. The harness leaves it alone, because it may belong to others. Only at the
// end of a run's first process does the harness wait until the environment shows it.
func TestNamelessBystander(t *testing.T) { // not parallel: it looks at all children
	leader := bystander(t, "sleep", "600").Process.Pid
	p, ok := readProc(leader)
	if !ok {
		t.Fatal("no such process")
	}
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	known := &strangers{}
	for n := range 2 {
		s := New("0123456789abcdef", Options{SelfExit: 100 * time.Millisecond})
		s.reaper, s.strangers = true, known
		f := s.newFamily()
		if _, unsure := f.survivors(p); len(unsure) != 1-n {
			t.Errorf("round %d: not known what they are: %+v", n, unsure)
		}
		if left, running := f.end(p, nil); len(left)+len(running) != 0 {
			t.Errorf("left %+v, running %+v", left, running)
		}
	}
	if !isRunning(cmd.Process.Pid) {
		t.Error("the bystander was ended")
	}
}
