package harness

import (
	"context"
	"time"

	"vramsoak/harness/sample"
	"vramsoak/harness/supervise"
)

// heartbeat is how often Config.Progress is called while nothing changes.
const heartbeat = time.Second

// A supervision watches one process from its start to its end.
type supervision struct {
	*run
	p      *supervise.Process
	killer *supervise.Killer
	ended  <-chan struct{} // nil when the process has ended
	end    supervise.End
}

// supervise writes the output of a process to the log and samples its memory. It ends the process
// when a file takes longer than the timeout, when the time to soak is over, or when the run is
// interrupted. It returns when the process has ended and all of its output is in the log.
func (r *run) supervise(ctx context.Context, p *supervise.Process) supervise.End {
	w := &supervision{
		run: r, p: p, killer: p.Killer(), ended: p.Ended(),
		end: supervise.End{PID: p.PID()},
	}
	w.loop(ctx)
	r.out.Rest()
	if w.end.At.Before(r.out.Since()) { // the last line of the process began a file
		w.end.At = r.out.Since()
	}
	if w.end.Stuck {
		return w.end
	}
	p.Complete(&w.end)
	w.interruptedToo(ctx)
	if w.end.Signal != "" || w.end.Code != 0 {
		cause := r.out.Tail.Cause(r.out.Between(), w.end.Signal == "")
		w.end.Cause = r.cfg.Secrets.Text(cause)
	}
	return w.end
}

func (w *supervision) loop(ctx context.Context) {
	stop := make(chan struct{})
	defer close(stop)
	for len(w.fileEnds) > 0 { // of the process before
		<-w.fileEnds
	}
	moments := w.sampler.Watch(w.p, w.fileEnds, stop)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	limit := newAlarm(w.cfg.Timeout)
	defer limit.stop()
	soaked := newAlarm(w.cfg.Until)
	defer soaked.stop()
	soaked.set(w.started)

	// A channel that is closed is set to nil, so that select no longer chooses it.
	output, exited, done := w.p.Output(), w.p.Exited(), ctx.Done()
	broken := false
	for output != nil || exited != nil {
		limit.set(w.out.Since())
		select {
		case chunk, ok := <-output:
			if !ok {
				output = nil
				break
			}
			w.out.Take(chunk)
			w.p.Release(chunk)
			w.look()
			if w.ended == nil {
				w.end.At = time.Now()
			}
		case <-w.ended:
			w.ended = nil
			w.killer.Stop()
			w.end.At = time.Now()
		case <-exited:
			exited = nil
		case now := <-moments:
			w.read(now)
		case <-limit.rings:
			w.timeout()
		case <-done:
			done, w.interrupted = nil, true
			w.interrupt(w.terminate)
		case <-w.kill:
			w.kill, w.interrupted = nil, true
			w.interrupt(w.killNow)
			w.p.Hurry() // its orphans too, if the process has ended
		case e := <-w.endEarly:
			w.endRunEarly(e)
		case <-w.killer.GraceOver:
			w.killNow()
		case <-w.killer.Stuck:
			w.end.Stuck, w.end.At = true, time.Now()
			w.p.Abandon()
			output, exited = nil, nil
		case <-soaked.rings: // endAfterFile compares the time
		case now := <-beat.C:
			w.p.Reap()
			w.checkLog()
			w.show(now)
		}
		w.endAfterFile()
		w.endOveruse()
		if w.log.Flush() != nil && !broken {
			broken = true
			w.interrupt(w.terminate)
		}
		if w.out.Changed {
			w.show(time.Now())
		}
	}
}

// terminate asks the process to end.
func (w *supervision) terminate() {
	w.out.Stop()
	w.killer.Terminate()
}

// killNow kills the process.
func (w *supervision) killNow() {
	w.out.Stop()
	w.killer.Kill()
}

// interrupt calls the function end, which ends the process, and notes that the run was interrupted.
// It does nothing if the process has already ended.
func (w *supervision) interrupt(end func()) {
	if w.ended != nil {
		w.end.Interrupted = true
		end()
	}
}

// spread is how long after the pipeline the harness may get its signal, if somebody signals both.
const spread = time.Second

// interruptedToo notes that the run was interrupted if the process ended by a signal that the
// harness gets as well. Schedulers signal every process of a task in no particular order.
func (w *supervision) interruptedToo(ctx context.Context) {
	if w.end.Interrupted || w.out.Stopping() || !w.end.AskedToEnd() {
		return
	}
	select {
	case <-ctx.Done():
		w.end.Interrupted, w.interrupted = true, true
	case <-time.After(spread):
	}
}

// read logs what the sampler read, and compares samples with Config.MaxDeviceUsed.
func (w *supervision) read(now sample.Moment) {
	if now.Limits != nil {
		w.log.AddReading(*now.Limits)
	}
	for _, s := range now.Samples {
		w.log.AddReading(s)
		w.levels.sample(&s)
	}
	if now.Holding != nil {
		w.log.AddReading(*now.Holding)
	}
	w.overuse = w.overuse.Worse(w.guard.Samples(now.Samples))
}

// look logs what the processes hold if the pipeline's last line is a checkpoint.
func (w *supervision) look() {
	if !w.out.AtCheckpoint || w.ended == nil {
		return
	}
	w.out.AtCheckpoint = false
	if h, ok := w.sampler.AtCheckpoint(w.p); ok {
		w.log.AddReading(h)
	}
}

// timeout ends a process that took longer than Config.Timeout for a file, or for the wait before
// the file.
func (w *supervision) timeout() {
	if w.ended == nil || w.out.Stopping() {
		return
	}
	w.warn("the process took too long and is ended", "limit", w.cfg.Timeout)
	w.end.Timeout = true
	w.out.IgnoreEnd()
	w.terminate()
}

// warn warns the user of the process, and names the file that it works on.
func (w *supervision) warn(message string, facts ...any) {
	if path := w.out.Path(); path != "" {
		facts = append([]any{"file", path}, facts...)
	}
	w.cfg.Logger.Warn(message, append(facts, "pid", w.p.PID())...)
}

// checkLog ends the process if somebody removed, replaced or cut the log, because what the harness
// writes would be lost.
func (w *supervision) checkLog() {
	if w.log.Moved() == nil && w.log.Check() != nil {
		w.cfg.Logger.Error("the run is ended", "error", w.log.Moved())
		w.interrupt(w.terminate)
	}
}

// endAfterFile ends the process if no file is being worked on and the run is to end: the time to
// soak is over, or the run ends early.
func (w *supervision) endAfterFile() {
	if w.ended != nil && !w.out.Stopping() && w.out.Between() && w.feeder.SoakOver(time.Now()) {
		w.end.SoakOver, w.end.FailFast = true, w.endsEarly()
		w.terminate()
	}
}

// endOveruse asks the process to end (SIGTERM) if more of a device is in use than
// Config.MaxDeviceUsed. If the overuse is severe after that, endOveruse kills the process
// (SIGKILL).
func (w *supervision) endOveruse() {
	if w.overuse.Text != "" && w.ended != nil {
		switch {
		case !w.out.Stopping():
			w.warn("the process is ended before the device is full", "because", w.overuse.Text)
			w.end.Overuse = w.overuse.Text
			w.out.IgnoreEnd()
			w.terminate()
		case w.overuse.Severe && w.end.Overuse != "" && !w.killer.Killed():
			w.killNow()
		}
	}
	w.overuse = sample.Overuse{}
}
