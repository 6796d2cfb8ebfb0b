package harness

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	chunkSize = 64 << 10 // a pipe's capacity on Linux
	// After its process has ended, a pipe is read until it is empty. Where something that left the process's group still
	// holds it open, that ends after drainTime, or drainMax bytes (the most that a pipe can hold) and drainStep later.
	drainTime = time.Second
	drainStep = 50 * time.Millisecond
	drainMax  = 1 << 20
)

// A process is one run of the command: a process group of its own, with one pipe for standard output and standard error,
// so that their order is kept.
type process struct {
	pid  int
	cmd  *exec.Cmd
	kill func(pid int, sig syscall.Signal) error
	pipe *os.File

	// output yields what the process prints and is closed at its end; chunks go back through free.
	output chan []byte
	free   chan []byte
	// ended is closed when the process has ended; exited, when what it left behind is ended too, and cmd.ProcessState, left
	// and running are set.
	ended, exited chan struct{}
	// left are the processes that it left behind; running, those that could not be ended.
	left, running []Leftover

	family *family
	hurry  chan struct{} // closed when nothing is waited for any more that can be killed

	mu     sync.Mutex
	hasty  bool // hurry is closed
	reaped bool
}

// start starts a process. It is killed when the harness dies, even by SIGKILL; what it started itself is not.
func start(s spawn, family *family, kill func(int, syscall.Signal) error) (*process, error) {
	cmd := exec.Command(s.argv[0], s.argv[1:]...)
	cmd.Env = s.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	pipe, output, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = output.Close() }()
	cmd.Stdout, cmd.Stderr = output, output
	var paths *os.File
	if s.hasStdin {
		input, w, err := os.Pipe()
		if err != nil {
			_ = pipe.Close()
			return nil, err
		}
		defer func() { _ = input.Close() }()
		cmd.Stdin, paths = input, w
	}

	p := &process{
		cmd: cmd, kill: kill, pipe: pipe, family: family,
		output: make(chan []byte), free: make(chan []byte, 2),
		ended: make(chan struct{}), exited: make(chan struct{}), hurry: make(chan struct{}),
	}
	for range cap(p.free) {
		p.free <- make([]byte, chunkSize)
	}
	started := make(chan error)
	go func() {
		// The kernel sends Pdeathsig when the thread that started the process ends. This one lives as long as the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		children.Lock()
		err := cmd.Start()
		if err == nil {
			children.pids[cmd.Process.Pid] = true
		}
		children.Unlock()
		started <- err
		if err == nil {
			p.wait()
		}
	}()
	if err := <-started; err != nil {
		_ = pipe.Close()
		if paths != nil {
			_ = paths.Close()
		}
		return nil, err
	}
	p.pid = cmd.Process.Pid
	go p.read()
	if paths != nil {
		go func() {
			// A process that does not read its input to the end, or at all, fails this; its files tell how far it came.
			_, _ = io.WriteString(paths, s.stdin)
			_ = paths.Close()
		}()
		go func() {
			<-p.exited
			_ = paths.Close()
		}()
	}
	return p, nil
}

// wait ends when the process has, and leaves nothing of its family.
func (p *process) wait() {
	pid := p.cmd.Process.Pid
	leader, known := readProc(pid)
	for {
		// The process stays a zombie here, so that its group's number cannot have become another's when it is killed.
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	close(p.ended)
	if known { // else there is no /proc to find them by
		p.left, p.running = p.family.end(leader, p.hurry)
	}
	p.mu.Lock()
	_ = unix.Kill(-pid, unix.SIGKILL) // no such process: nothing was left
	children.Lock()
	_ = p.cmd.Wait() // an exit code or a signal is no error here
	delete(children.pids, pid)
	children.Unlock()
	p.reaped = true
	p.mu.Unlock()
	_ = p.pipe.SetReadDeadline(time.Now().Add(drainTime))
	close(p.exited)
}

// signal sends a signal to the process's group.
func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = p.kill(-p.pid, sig) // no such process: it has just ended
	}
}

// hasten has nothing more waited for that can be killed.
func (p *process) hasten() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.hasty {
		p.hasty = true
		close(p.hurry)
	}
}

// read passes on what the process prints.
func (p *process) read() {
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
			// What the process itself printed is in the pipe, if the log was slower than the deadline.
			left = drainMax
		case err != nil:
			return
		}
	}
}

// abandon lets go of a process that does not die.
func (p *process) abandon() {
	_ = p.pipe.Close()
	for chunk := range p.output {
		p.free <- chunk
	}
}
