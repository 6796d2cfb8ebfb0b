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
	// After its process has ended, a pipe is read until it is empty. If something outside the
	// process's group still holds the pipe open, reading ends after drainTime, or else after
	// drainMax more bytes (the most that a pipe can hold) or a pause of drainStep.
	drainTime = time.Second
	drainStep = 50 * time.Millisecond
	drainMax  = 1 << 20
)

// A Process is one run of the command. It has a process group of its own, and one pipe for standard
// output and standard error, so that their order is kept.
type Process struct {
	pid  int
	cmd  *exec.Cmd
	kill func(pid int, sig syscall.Signal) error
	pipe *os.File

	output chan []byte
	free   chan []byte // chunks that were handed back

	// ended is closed when the process has ended. exited is closed when what it left behind has
	// ended too; cmd.ProcessState, left and running are set then.
	ended, exited chan struct{}
	left, running []Orphan

	family *family
	hurry  chan struct{} // closed when what can be killed is killed without grace

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

// PID returns the process's number.
func (p *Process) PID() int { return p.pid }

// Output yields what the process prints, in chunks that are handed back with [Process.Release]. It
// is closed at the end of the output.
func (p *Process) Output() <-chan []byte { return p.output }

// Release hands a chunk of the output back.
func (p *Process) Release(chunk []byte) { p.free <- chunk }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Exited is closed when the process and everything that it left behind have ended, or were given
// up.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Members returns the numbers of the process and of what it started, directly or not. In a large
// family they may be a moment old.
func (p *Process) Members() []int { return p.family.members(p.pid) }

// Reap waits for the children that have ended and that others left to the harness, so that they do
// not stay in the machine's process table.
func (p *Process) Reap() { p.family.reap() }

// wait returns when the process and its family have ended.
func (p *Process) wait() {
	pid := p.cmd.Process.Pid
	leader, known := readProc(pid)
	for {
		// The process stays a zombie for now. Its group's number can then not belong to another
		// group when the group is killed below.
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	close(p.ended)
	if known { // else there is no /proc to find them with
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

// read passes on what the process prints.
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
			// If the log was slower than the deadline, the pipe still holds what the process
			// printed.
			left = drainMax
		case err != nil:
			return
		}
	}
}
