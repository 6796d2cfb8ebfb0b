package harness

import (
	"context"
	"fmt"
	"time"

	"vramsoak/harness/supervise"
)

// backOffMax is the longest wait that doubling after a crash can reach. If Config.BackOff is
// longer, it does not change.
const backOffMax = 5 * time.Minute

// restarts counts the crashes after which the harness started another process, and holds the wait
// before the next process.
type restarts struct {
	max    int // 0 is no limit
	n      int
	first  time.Duration
	streak int           // crashes since a file ended well
	pause  time.Duration // before the next process
}

// crash counts a crash and reports whether the harness may start another process. Set ok if at
// least one file ended with status ok in the process that crashed: the wait before the next process
// is then the first one again.
func (r *restarts) crash(ok bool) bool {
	if r.max > 0 && r.n >= r.max {
		return false
	}
	r.n++
	if ok {
		r.streak = 0
	}
	r.pause = r.first
	for range r.streak {
		if r.pause >= backOffMax {
			break
		}
		r.pause = min(2*r.pause, backOffMax)
	}
	r.streak++
	return true
}

// restart returns the decision after a crash: the run goes on, or it stops because it has already
// survived Config.MaxRestarts crashes.
func (r *run) restart(end supervise.End, ok bool) decision {
	if !r.restarts.crash(ok) {
		what := fmt.Sprintf("%s, and it was restarted %d times already, which is the most",
			end, r.restarts.n)
		return r.stopped(end, what)
	}
	return decision{}
}

// pause waits before the next process starts, for the time that the last crash set, or until the
// run is interrupted.
func (r *run) pause(ctx context.Context) {
	if r.restarts.pause <= 0 {
		return
	}
	r.cfg.Logger.Warn("waiting before the next process", "back_off", r.restarts.pause)
	timer := time.NewTimer(r.restarts.pause)
	defer timer.Stop()
	r.restarts.pause = 0
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-r.kill:
		r.kill, r.interrupted = nil, true
	case e := <-r.endEarly:
		r.endRunEarly(e)
	}
}
