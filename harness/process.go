package harness

import (
	"context"
	"fmt"
	"time"

	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
)

// processAll starts one process after the other until all files are done. To all files belong the
// files that [Config].More returns and the failed files that are retried ([Config].RetryFailed).
// With FeedNone it starts one process.
func (r *run) processAll(ctx context.Context) (decision, error) {
	for {
		var files []int
		if !r.isInterrupted(ctx) {
			r.pause(ctx)
		}
		if !r.isInterrupted(ctx) {
			files = r.nextFiles(ctx)
		}
		switch {
		case r.isInterrupted(ctx):
			return decision{reason: ReasonInterrupted}, nil
		case len(files) == 0 && r.cfg.Feed != FeedNone:
			return r.over(), nil
		}
		d, err := r.processOne(ctx, files)
		if err != nil {
			return decision{reason: ReasonStopped}, err
		}
		if d.reason != "" {
			return d, nil
		}
		r.feeder.Return(r.restarts.pause > 0)
	}
}

// isInterrupted reports whether the run was interrupted. It sets r.interrupted if the context has
// ended.
func (r *run) isInterrupted(ctx context.Context) bool {
	r.interrupted = r.interrupted || ctx.Err() != nil
	return r.interrupted
}

// nextFiles returns the indices of the files of the next process, or none if the run is done or
// interrupted. If the queue of a worker is empty, nextFiles waits until other workers return files
// or finish.
func (r *run) nextFiles(ctx context.Context) []int {
	for {
		if r.endsEarly() {
			return nil
		}
		now := time.Now()
		files, later := r.feeder.Next(now)
		if len(files) > 0 || later == nil {
			return files
		}
		soaked := newAlarm(r.cfg.Until)
		if now.Sub(r.started) < r.cfg.Until {
			soaked.set(r.started)
		} else { // no limit, or it has passed and a file is still to be done
			soaked.stop()
		}
		select {
		case <-later:
		case <-soaked.rings:
		case <-ctx.Done():
			r.interrupted = true
		case <-r.kill:
			r.kill, r.interrupted = nil, true
		case e := <-r.endEarly:
			r.endRunEarly(e)
		}
		soaked.stop()
		if r.interrupted {
			return nil
		}
	}
}

// processOne starts a process, waits for its end, and logs how it ended. It returns the decision
// whether the run goes on.
func (r *run) processOne(ctx context.Context, files []int) (decision, error) {
	if err := r.log.Check(); err != nil {
		return decision{}, err
	}
	command, err := r.command(files)
	if err != nil {
		return decision{}, err
	}
	now := time.Now()
	p, err := r.supervisor.Start(command)
	if err != nil {
		return decision{}, fmt.Errorf("%w: %w; check the command after --", ErrNotStarted, err)
	}
	r.processes++
	r.out.NextProcess(files, now)
	left, ok := r.batch.Left(), r.batch.Counts()[record.StatusOK]
	end := r.supervise(ctx, p)

	now = end.At
	between := r.out.Between()
	r.out.Finish(end, r.cfg.Timeout, now)
	r.logOrphans(end.Left, end.Running)
	if end.Stuck {
		r.stuck[end.PID] = true
	}
	restarted := r.restarts.n
	d := r.decide(end, progress{
		between: between, began: r.batch.Left() < left, ok: r.batch.Counts()[record.StatusOK] > ok,
	})
	if !end.Stuck {
		exit := record.Exit{
			Header: r.log.Head(now), PID: end.PID, Code: end.Code, Signal: end.Signal,
			Reason: end.Reason(),
		}
		if exit.Reason == record.ExitByItself {
			exit.Error = end.Cause
		}
		if r.restarts.n > restarted {
			exit.Restarts = r.restarts.n
		}
		r.log.Add(exit)
	}
	if err := r.log.Flush(); err != nil {
		return decision{}, err
	}
	r.show(time.Now())
	return d, r.log.Check()
}

// logOrphans writes an orphan line to the log for each process in left. The parameter running holds
// those of them that still run after SIGKILL; logOrphans remembers their PIDs in r.stuck.
func (r *run) logOrphans(left, running []supervise.Orphan) {
	head := r.log.Head(time.Now())
	for _, o := range left {
		runs := false
		for _, other := range running {
			runs = runs || o.Same(other)
		}
		o.Command = r.cfg.Secrets.Text(o.Command)
		r.log.Add(o.Record(!runs, head))
		if runs {
			r.stuck[o.PID] = true
			r.cfg.Logger.Warn("a process that the pipeline left behind does not end, "+
				"not even after SIGKILL", "pid", o.PID, "command", o.Command)
		}
	}
}
