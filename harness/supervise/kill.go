package supervise

import (
	"context"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// giveUpAfter is how many times the grace a process is waited for after SIGKILL. SIGKILL does
	// not end a process that is stuck in a driver, and the run must not hang with it.
	giveUpAfter = 6
	// checkEvery is the time between two looks at processes that are to end.
	checkEvery = 20 * time.Millisecond
	// killWait is how long orphans are waited for after SIGKILL.
	killWait = 2 * time.Second
)

// A Killer ends a process step by step: SIGTERM; SIGKILL when the grace is over; and after that it
// gives the process up. Its caller waits on the channels and takes the steps.
type Killer struct {
	process *Process
	grace   time.Duration
	// GraceOver yields when the time between SIGTERM and SIGKILL is over.
	GraceOver <-chan time.Time
	// Stuck yields when the process still runs long after SIGKILL.
	Stuck <-chan time.Time
}

// Killer returns the one that ends this process.
func (p *Process) Killer() *Killer { return &Killer{process: p, grace: p.family.opts.Grace} }

// Terminate sends SIGTERM and starts the grace.
func (k *Killer) Terminate() {
	if k.GraceOver == nil && k.Stuck == nil {
		k.GraceOver = time.After(k.grace)
	}
	k.process.signal(unix.SIGTERM)
}

// Kill sends SIGKILL, also to everything that the process leaves behind.
func (k *Killer) Kill() {
	k.GraceOver, k.Stuck = nil, time.After(giveUpAfter*k.grace)
	k.process.Hurry()
	k.process.signal(unix.SIGKILL)
}

// Killed reports whether SIGKILL was sent and the process has not ended yet.
func (k *Killer) Killed() bool { return k.Stuck != nil }

// Stop is called when the process has ended: nothing more is to be done.
func (k *Killer) Stop() { k.GraceOver, k.Stuck = nil, nil }

// signal sends a signal to the process's group.
func (p *Process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = p.kill(-p.pid, sig) // an error means that it has just ended
	}
}

// killGroup kills what is left of a process group whose leader has ended.
func killGroup(leader int) {
	_ = unix.Kill(-leader, unix.SIGKILL) // an error means that nothing was left
}

// Hurry has everything that the process leaves behind killed without grace.
func (p *Process) Hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.hasty {
		p.hasty = true
		close(p.hurry)
	}
}

// Abandon gives up a process that does not end, and discards what it still prints.
func (p *Process) Abandon() {
	_ = p.pipe.Close()
	for chunk := range p.output {
		p.free <- chunk
	}
}

// KillOrphans ends processes that a run left behind: it sends SIGTERM and, after the grace or when
// the context ends, SIGKILL. It returns those that still run then, because they are stuck in a
// driver.
func KillOrphans(ctx context.Context, orphans []Orphan, grace time.Duration) (running []Orphan) {
	return killOrphans(orphans, grace, ctx.Done())
}

// killOrphans is [KillOrphans] with a channel that ends the grace when it is closed.
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

// signal sends a signal to this very process. A process that has ended, or that the harness may not
// signal, receives none.
func (p proc) signal(sig unix.Signal) {
	// The descriptor is opened before the start time is compared, so that it cannot refer to a
	// later process with the same number.
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
