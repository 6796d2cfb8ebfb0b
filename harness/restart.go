package harness

import (
	"context"
	"fmt"
	"time"

	"vramsoak/harness/supervise"
)

// backOffMax is the longest time between a crash and the next process, unless Config.BackOff is
// longer.
const backOffMax = 5 * time.Minute

// restarts counts the processes that follow a crash.
type restarts struct {
	max    int // 0 is no limit
	n      int
	first  time.Duration
	streak int           // crashes since a file ended well
	pause  time.Duration // before the next process
}

// crash counts a crash and reports whether another process may follow. ok says that files ended
// well in the process that crashed.
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

// restart is the decision after a crash.
func (r *run) restart(end supervise.End, ok bool) decision {
	if !r.restarts.crash(ok) {
		what := fmt.Sprintf("%s, and it was restarted %d times already, which is the most",
			end, r.restarts.n)
		return r.stopped(end, what)
	}
	return decision{}
}

// pause waits out the back-off. The end of the run ends it.
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
