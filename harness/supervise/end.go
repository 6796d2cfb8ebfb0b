package supervise

import (
	"cmp"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vramsoak/parser/record"
)

// An End says how a process ended.
type End struct {
	PID    int
	Code   int    // -1 if a signal ended it
	Signal string // "SIGKILL"; "" if it exited by itself
	// Timeout, Interrupted and SoakOver say why the harness ended the process: a file took longer than
	// the timeout, the run was interrupted, or the time that the soak should last was over. All are
	// false if the process ended by itself.
	Timeout, Interrupted, SoakOver bool
	// FailFast is set beside SoakOver if the run ends before its time or its files are done.
	FailFast bool
	// Overuse is the message that says how much of the device was in use, if the harness ended the
	// process because too much was in use; otherwise it is "".
	Overuse string
	// Stuck is true if the process still ran long after SIGKILL, because it is stuck in a device
	// driver. The harness no longer waits for it.
	Stuck bool
	// Cause is the line in which the process printed why it ended, such as the last line of a Python
	// traceback. It is "" if the process printed no such line, or if its exit code is 0.
	Cause string
	// At is when the process ended, or when its last output arrived if that was later.
	At time.Time
	// Left holds the orphans of the process: its descendants that still ran after its end. Running
	// holds those of them that still ran after SIGKILL.
	Left, Running []Orphan
}

// Complete sets in e the exit code or the signal that ended the process, and its orphans. Call it
// only when the channel [Process.Exited] is closed.
func (p *Process) Complete(e *End) {
	e.Left, e.Running = p.left, p.running
	switch status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); {
	case status.Signaled():
		e.Code, e.Signal = -1, signalName(status.Signal())
	default:
		e.Code = status.ExitStatus()
	}
}

// signalName returns the name of a signal, such as "SIGKILL". For a real-time signal, which has no
// name, it returns "SIG" and the number: "SIG36".
func signalName(s syscall.Signal) string {
	return cmp.Or(unix.SignalName(s), fmt.Sprintf("SIG%d", int(s)))
}

// Failed reports whether the process ended with an exit code other than 0, by a signal, or because
// it used too much of the device.
func (e End) Failed() bool { return e.Signal != "" || e.Code != 0 || e.Overuse != "" }

// AskedToEnd reports whether a signal ended the process that people and schedulers use to end
// programs. A shell around the process turns the signal into an exit code: 143 for SIGTERM.
func (e End) AskedToEnd() bool {
	for _, s := range []syscall.Signal{
		syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
	} {
		if e.Signal == signalName(s) || e.Code == 128+int(s) {
			return true
		}
	}
	return false
}

// Reason returns why the harness ended the process, as the log's exit line names it. It returns
// [record.ExitByItself] if the process ended by itself.
func (e End) Reason() record.ExitReason {
	switch {
	case e.Timeout:
		return record.ExitTimeout
	case e.Overuse != "":
		return record.ExitOveruse
	case e.Interrupted:
		return record.ExitInterrupted
	case e.FailFast:
		return record.ExitFailFast
	case e.SoakOver:
		return record.ExitUntil
	}
	return record.ExitByItself
}

// Process returns the exit code, the signal and the printed cause of the process's end. The error
// of the file on which the process worked is made from them.
func (e End) Process() record.ProcessEnd {
	return record.ProcessEnd{Code: e.Code, Signal: e.Signal, Cause: e.Cause}
}

// String returns how the process ended, worded to follow "the process": "exited with code 1".
func (e End) String() string {
	switch {
	case e.Stuck:
		return "did not end after SIGKILL"
	case e.Overuse != "":
		return "was ended because " + e.Overuse
	}
	return e.Process().How()
}
