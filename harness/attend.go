package harness

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vramsoak/parser"
)

const (
	// heartbeat is the time between two calls of Progress when nothing changes.
	heartbeat = time.Second
	// deathLimit is how many times the grace a process is waited for after SIGKILL. One that is
	// stuck in a driver is not ended by it, and the run must not hang with it.
	deathLimit = 6
)

// attend passes on what a process prints, samples it, and ends it where its time is up or the run's
// is. It returns when the process has ended and all that it printed is passed on.
func (r *run) attend(ctx context.Context, p *process) death {
	d := death{pid: p.pid}
	stop := make(chan struct{})
	defer close(stop)
	samples := r.sample(p, stop)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	limit := newAlarm(r.cfg.Timeout)
	defer limit.stop()
	soaked := newAlarm(r.cfg.Until)
	defer soaked.stop()
	soaked.set(r.started)

	// A channel that has said what it has to say is set to nil.
	output, ended, exited, done := p.output, p.ended, p.exited, ctx.Done()
	var toKill, toGiveUp <-chan time.Time
	end := func(sig syscall.Signal) {
		r.track.ending = true
		switch {
		case sig == unix.SIGKILL:
			toKill, toGiveUp = nil, time.After(deathLimit*r.cfg.Grace)
			p.hasten()
		case toKill == nil && toGiveUp == nil:
			toKill = time.After(r.cfg.Grace)
		}
		p.signal(sig)
	}
	interrupt := func(sig syscall.Signal) {
		if ended != nil { // else it had ended by itself
			d.interrupted = true
			end(sig)
		}
	}
	broken := false
	for output != nil || exited != nil {
		limit.set(r.track.turn)
		select {
		case chunk, ok := <-output:
			if !ok {
				output = nil
				break
			}
			r.take(chunk)
			p.free <- chunk
			if ended == nil {
				d.at = time.Now()
			}
		case <-ended:
			ended, toKill, toGiveUp = nil, nil, nil
			d.at = time.Now()
		case <-exited:
			exited = nil
		case s := <-samples:
			for _, sample := range s {
				r.log.sample(sample)
			}
			r.excess = r.excess.or(r.sampled(s))
		case <-limit.rings:
			if ended != nil && !r.track.ending {
				r.cfg.Logger.Warn("the process took too long and is ended", "pid", p.pid, "limit", r.cfg.Timeout)
				d.timeout, r.track.late = true, true
				end(unix.SIGTERM)
			}
		case <-done:
			done, r.interrupted = nil, true
			interrupt(unix.SIGTERM)
		case <-r.kill:
			r.kill, r.interrupted = nil, true
			interrupt(unix.SIGKILL)
			p.hasten() // what a process left behind that ended by itself
		case <-toKill:
			end(unix.SIGKILL)
		case <-toGiveUp:
			d.lost, d.at = true, time.Now()
			p.abandon()
			output, exited = nil, nil
		case <-soaked.rings:
		case now := <-beat.C:
			p.family.reap()
			if r.astray == nil && r.watch() != nil {
				r.cfg.Logger.Error("the run is ended", "error", r.astray)
				interrupt(unix.SIGTERM)
			}
			r.show(now)
		}
		if ended != nil && !r.track.ending && r.track.active == nil && r.over(time.Now()) {
			d.over = true
			end(unix.SIGTERM)
		}
		if r.excess.what != "" && ended != nil {
			switch {
			case !r.track.ending:
				r.cfg.Logger.Warn("the process is ended before the device is full", "pid", p.pid, "because", r.excess.what)
				d.overuse, r.track.late = r.excess.what, true
				end(unix.SIGTERM)
			case r.excess.far && d.overuse != "" && toGiveUp == nil:
				end(unix.SIGKILL)
			}
		}
		r.excess = overuse{}
		if r.log.flush() != nil && !broken {
			broken = true
			interrupt(unix.SIGTERM)
		}
		if r.track.changed {
			r.show(time.Now())
		}
	}
	r.pass(r.lines.rest(), true)
	if d.at.Before(r.track.turn) { // its last word began a file
		d.at = r.track.turn
	}

	if d.lost {
		return d
	}
	d.left, d.running = p.left, p.running
	switch status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); {
	case status.Signaled():
		d.code, d.signal = -1, signalName(status.Signal())
	default:
		d.code = status.ExitStatus()
	}
	if d.signal != "" || d.code != 0 {
		d.cause = r.cfg.Secrets.Text(r.tail.cause(r.track.active == nil, d.signal == ""))
	}
	return d
}

// signalName returns "SIGKILL", or "SIG36" for a real-time signal, which has no name.
func signalName(s syscall.Signal) string {
	return cmp.Or(unix.SignalName(s), fmt.Sprintf("SIG%d", int(s)))
}

// take passes on a chunk of what the process printed, as far as its lines are complete.
func (r *run) take(chunk []byte) {
	for p := range r.lines.cut(chunk) {
		r.pass(p, false)
	}
}

var segmentsPrefix = []byte(parser.SegmentsPrefix)

// pass writes a piece to the log between what the harness has to say before and after it. The
// process's last piece gets the newline that it may lack.
func (r *run) pass(p piece, last bool) {
	if p.look {
		file := r.track.active
		r.track.before(p.text, time.Now())
		if r.track.active != file {
			r.tail.begin()
		}
		if r.track.read {
			r.track.read = false
			r.excess = r.excess.or(r.logged(&r.track.reading, r.track.lane))
		}
	}
	if !bytes.HasPrefix(p.text, segmentsPrefix) { // no word on why a process ended, and longer than what is kept
		r.tail.add(p.text)
	}
	r.log.pass(p.text)
	if last {
		r.log.endLine()
	}
	if p.look {
		file := r.track.active
		if r.track.after(time.Now()); r.track.active != file {
			r.tail.end()
		}
	}
}

// An alarm rings when a time has passed since a turn.
type alarm struct {
	rings <-chan time.Time // nil where there is no limit
	timer *time.Timer
	limit time.Duration
	turn  time.Time
}

func newAlarm(limit time.Duration) *alarm {
	a := &alarm{limit: limit}
	if limit > 0 {
		a.timer = time.NewTimer(limit)
		a.rings = a.timer.C
	}
	return a
}

// set moves the alarm where the turn is a new one.
func (a *alarm) set(turn time.Time) {
	if a.timer != nil && !turn.Equal(a.turn) {
		a.turn = turn
		a.timer.Reset(time.Until(turn.Add(a.limit)))
	}
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
