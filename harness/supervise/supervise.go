package supervise

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vramsoak/pipeline/meter"
)

// These environment variables identify the processes of a run. The processes that the harness
// starts get them, and all their descendants inherit them.
const (
	// EnvRun holds the id of the run. The run-start line of the log holds the same id.
	EnvRun = "VRAMSOAK_RUN"
	// EnvHarness identifies the harness that started the process: it holds the harness's PID and start
	// time.
	EnvHarness = "VRAMSOAK_HARNESS"
)

// NewRunID returns a random id for a run: 16 hexadecimal digits.
func NewRunID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%x", b)
}

// Options say how a [Supervisor] ends processes.
type Options struct {
	Grace time.Duration // between SIGTERM and SIGKILL
	// SelfExit is how long the descendants of an ended process may take to exit by themselves; 0 means
	// defaultSelfExit, or the grace if the grace is shorter.
	SelfExit time.Duration
	// Reap makes the harness the parent of orphans: descendants of a process that outlive their
	// parent. The harness then waits for every child of this program that ends, so set Reap only in a
	// program that starts no other processes during a run.
	Reap bool
	// Sole is set if this program supervises no other run at the same time.
	Sole bool
	// Kill sends a signal; nil means unix.Kill. A test replaces Kill by a function that does not end
	// the process.
	Kill func(pid int, sig syscall.Signal) error
}

// defaultSelfExit is how long the descendants of an ended process may take to exit by themselves
// before they count as orphans. A helper process exits soon after the pipe to its parent was
// closed.
const defaultSelfExit = time.Second

// A Supervisor starts the processes of one run.
type Supervisor struct {
	run       string
	opts      Options
	reaper    bool // orphans become children of this process
	sole      bool // every child that this package did not start belongs to the pipeline
	strangers *strangers
}

// New returns the supervisor of the run with this id.
func New(run string, opts Options) *Supervisor {
	if opts.SelfExit == 0 {
		opts.SelfExit = min(defaultSelfExit, opts.Grace)
	}
	if opts.Kill == nil {
		opts.Kill = unix.Kill
	}
	s := &Supervisor{run: run, opts: opts, strangers: &strangers{}}
	// This program may already have children when the run begins: children that its PID started before
	// exec replaced the program. Then not every child belongs to the run.
	sole := opts.Reap && opts.Sole && len(meter.Children(os.Getpid())) == 0
	s.reaper = opts.Reap && becomeReaper()
	s.sole = sole && s.reaper
	return s
}

// RunID returns the run's id.
func (s *Supervisor) RunID() string { return s.run }

// SetRunID changes the run's id. A run that is resumed keeps the id that it began with.
func (s *Supervisor) SetRunID(run string) { s.run = run }

// A Command holds the arguments, the environment and the standard input of a process to start.
type Command struct {
	Argv []string
	Env  []string // all variables but EnvRun and EnvHarness, which Start adds
	// Stdin is the text that the process can read from standard input if HasStdin is set. Otherwise
	// standard input is /dev/null.
	Stdin    string
	HasStdin bool
}

// Start starts a process. When the harness dies, even by SIGKILL, the kernel kills the process, but
// not the descendants of the process; see [FindOrphans].
func (s *Supervisor) Start(c Command) (*Process, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env = append(c.Env, runMarks(s.run)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	pipe, output, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = output.Close() }()
	cmd.Stdout, cmd.Stderr = output, output
	var stdin *os.File
	if c.HasStdin {
		input, w, err := os.Pipe()
		if err != nil {
			_ = pipe.Close()
			return nil, err
		}
		defer func() { _ = input.Close() }()
		cmd.Stdin, stdin = input, w
	}

	p := newProcess(cmd, pipe, s)
	if err := p.start(); err != nil {
		_ = pipe.Close()
		if stdin != nil {
			_ = stdin.Close()
		}
		return nil, err
	}
	go p.read()
	if stdin != nil {
		go func() {
			// The write fails if the process does not read its input to the end. That is no error here: the
			// log shows which files the process has begun.
			_, _ = io.WriteString(stdin, c.Stdin)
			_ = stdin.Close()
		}()
		go func() {
			<-p.exited
			_ = stdin.Close()
		}()
	}
	return p, nil
}

// start starts the command. Its own goroutine, locked to a thread, waits for the end of the
// process.
func (p *Process) start() error {
	started := make(chan error)
	go func() {
		// The kernel sends Pdeathsig to the process when the thread that started it ends. So this thread
		// must live as long as the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		children.Lock()
		err := p.cmd.Start()
		if err == nil {
			children.pids[p.cmd.Process.Pid] = true
		}
		children.Unlock()
		started <- err
		if err == nil {
			p.wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	p.pid = p.cmd.Process.Pid
	return nil
}

// runMarks returns the environment entries that identify the processes of a run.
func runMarks(run string) []string {
	self, _ := readProc(os.Getpid())
	return []string{EnvRun + "=" + run, EnvHarness + "=" + harnessMark(self)}
}

func harnessMark(p proc) string { return fmt.Sprintf("%d-%d", p.pid, p.born) }
