package harness

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"vramsoak/parser"
)

// The environment variables by which the processes of a run are known: those that the harness starts, and whatever they
// start.
const (
	// EnvRun is the run's id, which is in the log's first line.
	EnvRun = "VRAMSOAK_RUN"
	// EnvHarness is the harness that started the process: its number, and its start in clock ticks since the machine's.
	EnvHarness = "VRAMSOAK_HARNESS"
)

const (
	// lookAgain is the time between two looks at processes that are to end.
	lookAgain = 20 * time.Millisecond
	// killTime is how long processes are waited for after SIGKILL. One that is stuck in a driver does not end.
	killTime = 2 * time.Second
)

// A Leftover is a process that has outlived the one that the harness started, or the harness itself.
type Leftover struct {
	PID     int
	Run     string // id of the run that it is of
	Command string // its command line, shortened
	RSS     int64  // resident bytes

	proc proc
}

// orphan is the log's word on it.
func (l Leftover) orphan(ended bool, head parser.Header) parser.Orphan {
	return parser.Orphan{Header: head, PID: l.PID, Command: l.Command, RSS: l.RSS, Ended: ended}
}

// newRunID is an id that no other run has.
func newRunID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%x", b)
}

// marks are the entries of the environment by which the processes of a run are known.
func marks(run string) []string {
	self, _ := readProc(os.Getpid())
	return []string{EnvRun + "=" + run, EnvHarness + "=" + harnessMark(self)}
}

func harnessMark(p proc) string { return fmt.Sprintf("%d-%d", p.pid, p.born) }

// Leftovers are the processes that a harness left behind which is gone: those of the run of this id, or of any run where it
// is "". They are of this user and this PID namespace. Processes of a harness that is at work are none, nor is the process
// that asks, nor what it runs in.
func Leftovers(run string) ([]Leftover, error) {
	all, err := procs()
	if err != nil {
		return nil, fmt.Errorf("looking for processes of an earlier run: %w", err)
	}
	living := map[string]bool{} // harnesses
	byPID := map[int]proc{}
	for _, p := range all {
		living[harnessMark(p)] = p.state != 'Z'
		byPID[p.pid] = p
	}
	for p, ok := byPID[os.Getpid()]; ok; p, ok = byPID[p.parent] {
		delete(byPID, p.pid)
	}
	var left []Leftover
	for _, p := range all {
		if _, ok := byPID[p.pid]; !ok || p.state == 'Z' || !p.ours() {
			continue
		}
		mark, _ := p.environ(EnvRun, EnvHarness)
		if mark[0] != "" && (run == "" || run == mark[0]) && !living[mark[1]] {
			left = append(left, p.leftover(mark[0]))
		}
	}
	return left, nil
}

// Sweep ends processes: it asks them to (SIGTERM) and, after the grace or when the context ends, ends them (SIGKILL). It
// returns those that still run then, as a process does that is stuck in a driver.
func Sweep(ctx context.Context, left []Leftover, grace time.Duration) (running []Leftover) {
	return end(left, grace, ctx.Done())
}

// end is Sweep, without grace from when hurry is closed.
func end(left []Leftover, grace time.Duration, hurry <-chan struct{}) (running []Leftover) {
	running = slices.Clone(left)
	wait := func(limit time.Duration, hurry <-chan struct{}) {
		tick := time.NewTicker(lookAgain)
		defer tick.Stop()
		over := time.After(limit)
		for {
			running = slices.DeleteFunc(running, func(l Leftover) bool { return !l.proc.runs() })
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
	}{{unix.SIGTERM, grace, hurry}, {unix.SIGKILL, killTime, nil}} {
		for _, l := range running {
			l.proc.signal(step.sig)
		}
		wait(step.limit, step.hurry)
	}
	return running
}

// sweep ends what an earlier harness left of the run, and writes it to the log.
func (r *run) sweep(ctx context.Context) error {
	left, err := Leftovers(r.id)
	if err != nil {
		return err
	}
	r.orphans(left, Sweep(ctx, left, r.cfg.Grace))
	return r.log.flush()
}

// orphans writes to the log which processes were left behind, and which of them still run.
func (r *run) orphans(left, running []Leftover) {
	head := r.log.head(time.Now())
	for _, l := range left {
		runs := slices.ContainsFunc(running, func(other Leftover) bool { return other.proc == l.proc })
		l.Command = r.cfg.Secrets.Text(l.Command)
		r.log.own(l.orphan(!runs, head))
		if runs {
			r.stuck[l.PID] = true
			r.cfg.Logger.Warn("a process that the pipeline left behind does not end, not even after SIGKILL",
				"pid", l.PID, "command", l.Command)
		}
	}
}
