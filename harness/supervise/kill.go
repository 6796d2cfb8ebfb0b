package supervise

import (
	"context"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// giveUpAfter times Options.Grace is how long the harness waits for a process after SIGKILL. A
	// process that is stuck in a driver does not end by SIGKILL, and the run must not wait for it
	// forever.
	giveUpAfter = 6
	// checkEvery is how often the harness looks whether the orphans have ended.
	checkEvery = 20 * time.Millisecond
	// killWait is how long the harness waits for orphans after SIGKILL.
	killWait = 2 * time.Second
)

// A Killer ends a process in steps. It sends SIGTERM, and SIGKILL after the grace, the time that
// the process has to end by itself. If the process still runs long after SIGKILL, the Killer says
// that the process is stuck. The caller waits on the channels GraceOver and Stuck, and calls Kill
// when GraceOver yields.
type Killer struct {
	process *Process
	grace   time.Duration
	// GraceOver yields when the time between SIGTERM and SIGKILL is over.
	GraceOver <-chan time.Time
	// Stuck yields when the process still runs long after SIGKILL.
	Stuck <-chan time.Time
}

// Killer returns the Killer of this process.
func (p *Process) Killer() *Killer { return &Killer{process: p, grace: p.family.opts.Grace} }

// Terminate sends SIGTERM, and starts the time after which GraceOver yields.
func (k *Killer) Terminate() {
	if k.GraceOver == nil && k.Stuck == nil {
		k.GraceOver = time.After(k.grace)
	}
	k.process.signal(unix.SIGTERM)
}

// Kill sends SIGKILL to the process group. When the process has ended, its orphans get SIGKILL at
// once after SIGTERM.
func (k *Killer) Kill() {
	k.GraceOver, k.Stuck = nil, time.After(giveUpAfter*k.grace)
	k.process.Hurry()
	k.process.signal(unix.SIGKILL)
}

// Killed reports whether the process got SIGKILL and has not ended yet.
func (k *Killer) Killed() bool { return k.Stuck != nil }

// Stop stops the timers. The caller calls Stop when the process has ended.
func (k *Killer) Stop() { k.GraceOver, k.Stuck = nil, nil }

// signal sends a signal to the process's group.
func (p *Process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = p.kill(-p.pid, sig) // an error means that it has just ended
	}
}

// killGroup kills the remaining processes of a group whose leader has ended.
func killGroup(leader int) {
	_ = unix.Kill(-leader, unix.SIGKILL) // an error means that nothing was left
}

// Hurry makes the harness send SIGKILL to the orphans of the process at once after SIGTERM.
func (p *Process) Hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.hasty {
		p.hasty = true
		close(p.hurry)
	}
}

// Abandon stops reading the output of a process that does not end even after SIGKILL. It discards
// the output that was read and not used yet.
func (p *Process) Abandon() {
	_ = p.pipe.Close()
	for chunk := range p.output {
		p.free <- chunk
	}
}

// KillOrphans sends SIGTERM to the orphans. After the time grace, or when the context has ended, it
// sends SIGKILL to those that still run. It returns the orphans that still run after SIGKILL,
// because they are stuck in a driver.
func KillOrphans(ctx context.Context, orphans []Orphan, grace time.Duration) (running []Orphan) {
	return killOrphans(orphans, grace, ctx.Done())
}

// killOrphans does what [KillOrphans] does, but sends SIGKILL early when the channel hurry is
// closed.
func killOrphans(orphans []Orphan, grace time.Duration, hurry <-chan struct{}) (running []Orphan) {
	running = slices.Clone(orphans)
	wait := func(limit time.Duration, hurry <-chan struct{}) {
		tick := time.NewTicker(checkEvery)
		defer tick.Stop()
		over := time.After(limit)
		for {
			running = slices.DeleteFunc(running, func(o Orphan) bool { return !o.proc.runs() })
			if len(running) == 0 {
				return
			}
			select {
			case <-tick.C:
			case <-over:
				return
			case <-hurry:
				return
			}
		}
	}
	for _, step := range []struct {
		sig   unix.Signal
		limit time.Duration
		hurry <-chan struct{}
	}{{unix.SIGTERM, grace, hurry}, {unix.SIGKILL, killWait, nil}} {
		for _, o := range running {
			o.proc.signal(step.sig)
		}
		wait(step.limit, step.hurry)
	}
	return running
}

// signal sends a signal to this process, and never to a later process with the same PID. It does
// nothing if the process has ended or if the harness may not signal it.
func (p proc) signal(sig unix.Signal) {
	// The descriptor is opened before p.runs compares the start time, so that the descriptor cannot
	// refer to a later process with the same PID.
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
	}
	if !p.runs() {
		return
	}
	if err != nil || unix.PidfdSendSignal(fd, sig, nil, 0) == unix.ENOSYS { // a kernel before 5.3
		_ = unix.Kill(p.pid, sig)
	}
}
