package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vramsoak/parser"
)

// BackOffMax is the longest time between a crash and the process after it, but for a first one that is longer.
const BackOffMax = 5 * time.Minute

// validateRestarts names the mistakes in what follows a crash or a file's bad end.
func (c Config) validateRestarts() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, n := range []struct {
		name  string
		value int
	}{{"restarts", c.MaxRestarts}, {"retries of a failed file", c.RetryFailed}} {
		if n.value < 0 {
			wrong("expected a number of %s of 0 or more, found %d", n.name, n.value)
		}
	}
	restarts := c.MaxRestarts > 0 || c.BackOff > 0
	if restarts && c.OnCrash == CrashStop {
		wrong("on-crash stop ends the run at the first crash, so that there are no restarts to limit or to delay; leave one of them out")
	}
	if (restarts || c.RetryFailed > 0) && c.Feed == FeedNone {
		wrong("cannot start anew a command that takes no files: it would begin with its first one")
	}
	if c.Until > 0 {
		switch {
		case c.Feed == FeedNone:
			wrong("cannot soak until a time with a command that takes no files: it ends when it likes")
		case c.RetryFailed > 0:
			wrong("a soak by time does each file again in every round; leave out the retries of failed files")
		}
	}
	if c.Resume && c.Feed == FeedNone {
		wrong("cannot resume a command that takes no files: it would begin with its first one; start a new run")
	}
	return errors.Join(errs...)
}

// restarts are the processes that a crash made necessary.
type restarts struct {
	max    int // 0 is no limit
	n      int
	first  time.Duration
	streak int           // crashes since a file ended well
	pause  time.Duration // before the next process
}

// crash counts a crash. progress says that files ended well in the process. It is false where the limit is reached.
func (r *restarts) crash(progress bool) bool {
	if r.max > 0 && r.n >= r.max {
		return false
	}
	r.n++
	if progress {
		r.streak = 0
	}
	r.pause = r.first
	for range r.streak {
		if r.pause >= BackOffMax {
			break
		}
		r.pause = min(2*r.pause, BackOffMax)
	}
	r.streak++
	return true
}

// restart says whether a process may follow one that crashed.
func (r *run) restart(d death, progress bool) verdict {
	if !r.restarts.crash(progress) {
		return r.stopped(d, fmt.Sprintf("%s, and it was restarted %d times already, which is the most", d, r.restarts.n))
	}
	return verdict{}
}

// rest waits out the back-off. The end of the run ends it.
func (r *run) rest(ctx context.Context) {
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

// again has the files that did not end well begin once more, up to n times each, and says how many there are.
func (b *batch) again(n int) int {
	count := 0
	for i, times := range b.bad {
		if s := b.status[i]; b.begun[i] && times <= n && s != parser.StatusOK && s != parser.StatusUnknown {
			b.unbegin(i)
			count++
		}
	}
	return count
}
