package supervise

import (
	"cmp"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vramsoak/parser/record"
)

// An End is how a process ended.
type End struct {
	PID    int
	Code   int    // -1 if a signal ended it
	Signal string // "SIGKILL"; "" if it exited by itself
	// Why the harness ended it, if it did: a file took too long, the run was interrupted, or the
	// time to soak was over.
	Timeout, Interrupted, SoakOver bool
	// Overuse says how much of the device was in use, if the harness ended it for that.
	Overuse string
	// Stuck marks a process that still ran after SIGKILL. It was given up.
	Stuck bool
	// Cause is the line in which it printed why it ended; "" if it printed none, or ended well.
	Cause string
	// At is when it ended, or printed its last line if that came later.
	At time.Time
	// Left are the processes that it left behind, Running those of them that could not be ended.
	Left, Running []Orphan
}

// Complete fills in how a process ended. Its channel Exited must be closed.
func (p *Process) Complete(e *End) {
	e.Left, e.Running = p.left, p.running
	switch status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); {
	case status.Signaled():
		e.Code, e.Signal = -1, signalName(status.Signal())
	default:
		e.Code = status.ExitStatus()
	}
}

// signalName returns "SIGKILL", or "SIG36" for a real-time signal, which has no name.
func signalName(s syscall.Signal) string {
	return cmp.Or(unix.SignalName(s), fmt.Sprintf("SIG%d", int(s)))
}

// Failed reports whether the process ended with an exit code other than 0, by a signal, or because
// it used too much of the device.
func (e End) Failed() bool { return e.Signal != "" || e.Code != 0 || e.Overuse != "" }

// Reason is why the harness ended the process, for the log.
func (e End) Reason() record.ExitReason {
	switch {
	case e.Timeout:
		return record.ExitTimeout
	case e.Overuse != "":
		return record.ExitOveruse
	case e.Interrupted:
		return record.ExitInterrupted
	case e.SoakOver:
		return record.ExitUntil
	}
	return record.ExitByItself
}

// Process is how the process ended, for the error of its file.
func (e End) Process() record.ProcessEnd {
	return record.ProcessEnd{Code: e.Code, Signal: e.Signal, Cause: e.Cause}
}

// String says how the process ended, after the words "the process".
func (e End) String() string {
	switch {
	case e.Stuck:
		return "did not end after SIGKILL"
	case e.Overuse != "":
		return "was ended because " + e.Overuse
	}
	return e.Process().How()
}
