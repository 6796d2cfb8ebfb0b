package harness

import (
	"context"
	"fmt"
	"time"

	"vramsoak/harness/supervise"
)

// backOffMax bounds the wait that doubles after each crash. A longer Config.BackOff is kept as it
// is.
const backOffMax = 5 * time.Minute

// restarts counts the crashes that were followed by another process, and holds the back-off.
type restarts struct {
	max    int // 0 is no limit
	n      int
	first  time.Duration
	streak int           // crashes since a file ended well
	pause  time.Duration // before the next process
}

// crash counts a crash and reports whether the harness may start another process. Set ok if at
// least one file ended with status ok in the process that crashed: the back-off then starts anew.
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

// restart returns the decision after a crash: the run goes on, or it stops at Config.MaxRestarts.
func (r *run) restart(end supervise.End, ok bool) decision {
	if !r.restarts.crash(ok) {
		what := fmt.Sprintf("%s, and it was restarted %d times already, which is the most",
			end, r.restarts.n)
		return r.stopped(end, what)
	}
	return decision{}
}

// pause waits for the back-off, or until the run is interrupted.
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
	}
}
