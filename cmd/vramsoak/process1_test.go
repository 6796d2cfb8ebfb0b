package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestProcess1: as the first process of a container, vramsoak ends by SIGTERM with the exit code
// that says so, also while it does not run a pipeline. The kernel does not end such a process.
func TestProcess1(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("vramsoak", "check", "-")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if uid := os.Getuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	switch err := cmd.Start(); {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENOSPC):
		t.Skipf("not run: this machine allows no PID namespaces: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	// A pipe holds less than this. So when all is written, the program reads.
	if _, err := io.WriteString(in, strings.Repeat("a line of a log\n", 1<<16)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	const want = 128 + int(syscall.SIGTERM)
	if code := cmd.ProcessState.ExitCode(); code != want {
		t.Errorf("exit code %d (%v), want %d", code, err, want)
	}
}
