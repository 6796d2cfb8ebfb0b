package supervise

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	chunkSize = 64 << 10 // a pipe's capacity on Linux
	// When a process has ended, the harness reads the rest of its output from the pipe. If a program
	// outside the process group still holds the pipe open, that pipe has no end. The harness therefore
	// reads for drainTime, and then stops after drainMax more bytes (the most that a pipe can hold) or
	// after a pause of drainStep without output.
	drainTime = time.Second
	drainStep = 50 * time.Millisecond
	drainMax  = 1 << 20
)

// A Process is one process in which the harness runs the user's command. The process is the leader
// of its own process group. Its standard output and standard error go to one pipe, so that the
// order of what it prints is kept.
type Process struct {
	pid  int
	cmd  *exec.Cmd
	kill func(pid int, sig syscall.Signal) error
	pipe *os.File

	output chan []byte
	free   chan []byte // chunks that can be used again

	// ended is closed when the process has ended. exited is closed when its orphans have ended too, or
	// when the harness has given them up. cmd.ProcessState, left and running are set before exited is
	// closed.
	ended, exited chan struct{}
	left, running []Orphan

	family *family
	hurry  chan struct{} // closed when orphans get SIGKILL at once after SIGTERM

	mu     sync.Mutex
	hasty  bool // hurry is closed
	reaped bool
}

func newProcess(cmd *exec.Cmd, pipe *os.File, s *Supervisor) *Process {
	p := &Process{
		cmd: cmd, kill: s.opts.Kill, pipe: pipe, family: s.newFamily(),
		output: make(chan []byte), free: make(chan []byte, 2),
		ended: make(chan struct{}), exited: make(chan struct{}), hurry: make(chan struct{}),
	}
	for range cap(p.free) {
		p.free <- make([]byte, chunkSize)
	}
	return p
}

// PID returns the process's PID.
func (p *Process) PID() int { return p.pid }

// Output returns the channel that yields the output of the process in chunks. The receiver returns
// each chunk with [Process.Release]. The channel is closed at the end of the output.
func (p *Process) Output() <-chan []byte { return p.output }

// Release gives a chunk that came from [Process.Output] back, so that its memory can be used again.
func (p *Process) Release(chunk []byte) { p.free <- chunk }

// Ended returns a channel that is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Exited returns a channel that is closed when the process and its orphans have ended, or when the
// harness has given up waiting for the orphans.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Members returns the PIDs of the process and its descendants. If they are many, the result may be
// up to searchMax old, because the search takes time.
func (p *Process) Members() []int { return p.family.members(p.pid) }

// MembersNow returns what Members returns, but always searches. The caller must limit how often.
func (p *Process) MembersNow() []int { return p.family.membersNow(p.pid) }

// Reap waits for ended processes that became children of the harness when their parent ended. Until
// then they stay in the kernel's process table.
func (p *Process) Reap() { p.family.reap() }

// wait returns when the process has ended and its orphans have ended or were given up.
func (p *Process) wait() {
	pid := p.cmd.Process.Pid
	leader, known := readProc(pid)
	for {
		// Waitid with WNOWAIT leaves the process a zombie. As long as the process is a zombie, no other
		// process group can get its number, so killGroup below cannot kill another group.
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	close(p.ended)
	if known { // else /proc is missing
		p.left, p.running = p.family.end(leader, p.hurry)
	}
	p.mu.Lock()
	killGroup(pid)
	children.Lock()
	_ = p.cmd.Wait() // an exit code or a signal is no error here
	delete(children.pids, pid)
	children.Unlock()
	p.reaped = true
	p.mu.Unlock()
	_ = p.pipe.SetReadDeadline(time.Now().Add(drainTime))
	close(p.exited)
}

// read sends the output of the process to p.output in chunks, until the output ends.
func (p *Process) read() {
	defer close(p.output)
	defer func() { _ = p.pipe.Close() }()
	left := -1 // bytes that are still read; -1 while there is no limit
	for left != 0 {
		chunk := <-p.free
		if left > 0 {
			_ = p.pipe.SetReadDeadline(time.Now().Add(drainStep))
		}
		n, err := p.pipe.Read(chunk[:chunkSize])
		if n > 0 {
			p.output <- chunk[:n]
		} else {
			p.free <- chunk
		}
		if left > 0 {
			left = max(0, left-n)
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && left < 0:
			// The harness may have read too slowly to reach the end in time. The pipe then still holds
			// output of the process.
			left = drainMax
		case err != nil:
			return
		}
	}
}
