package harness

import (
	"cmp"
	"context"

	"vramsoak/harness/journal"
	"vramsoak/harness/queue"
	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
)

// reasonKilled is the reason in the resume line if no run-end line comes before that line in the
// log. The earlier harness was killed then.
const reasonKilled = "killed"

// begin writes the run-start line of a new run, or the resume line of a run that is resumed. If a
// run that is to be resumed is already done, begin writes nothing and returns true in ended.
func (r *run) begin(ctx context.Context) (ended bool, err error) {
	if !r.cfg.Resume {
		r.log.Add(r.firstLine())
		return false, r.log.Flush()
	}
	s, torn, err := r.readBack()
	if err != nil {
		return false, err
	}
	return r.resume(ctx, s, torn)
}

// runStart returns the record of the run-start line, the first line of the log. It leaves out the
// id of the run.
func (c Config) runStart(head record.Header) record.RunStart {
	command := c.Shown
	if command == nil {
		command, _ = c.Secrets.Arguments(c.Command)
	}
	start := record.RunStart{
		Header: head, Files: len(c.Files), Feed: string(c.Feed),
		Command: supervise.CommandLine(command),
		Version: c.Version, Policy: c.Policy, Until: c.Until.Seconds(),
		FailFast: c.FailFast, Share: c.Share,
	}
	if c.Until > 0 {
		start.Files = 0
	}
	if c.gpu != nil {
		start.Workers, start.GPU = c.workers, *c.gpu
	}
	return start
}

func (r *run) firstLine() record.RunStart {
	start := r.cfg.runStart(r.log.Head(r.started))
	start.ID = r.supervisor.RunID()
	return start
}

// readBack reads the log, and marks in the batch which files have begun and how they ended. It cuts
// an incomplete end off the log, and returns in torn the number of bytes that it cut off.
func (r *run) readBack() (s journal.State, torn int64, err error) {
	return r.log.Resume(journal.Replay{
		Dialects: r.cfg.Dialects, Batch: r.batch, Extend: r.feeder.Extend,
		Ahead: max(1, r.cfg.workers)*queue.AheadMax + len(r.cfg.Files), Round: r.cfg.Round,
		Check: func(s journal.State) error {
			return s.Contradicts(r.cfg.logPath(), r.cfg.runStart(record.Header{}))
		},
	})
}

// resume continues the run from s and torn, which readBack returned. It writes a resume line to the
// log, and ends the processes that the earlier harness left running. If the run is already done,
// resume does neither and returns true in ended.
func (r *run) resume(ctx context.Context, s journal.State, torn int64) (ended bool, err error) {
	resume := record.Resume{
		Header: r.log.Head(r.started), Index: 1, Cut: torn, Reason: reasonKilled,
		Owner: r.cfg.Share.Owner, After: s.Sound,
	}
	if s.Start == nil { // it was killed before its first line
		r.log.Add(r.firstLine())
	} else {
		r.supervisor.SetRunID(cmp.Or(s.Start.ID, r.supervisor.RunID()))
		r.processes, r.restarts.n = s.Processes, s.Restarts
		r.out.NamesFiles, r.out.EndsFiles = s.NamesFiles, s.EndsFiles
		r.started = r.started.Add(-s.Spent)
		if r.sampler.Shared != nil {
			r.sampler.Shared.Since(s.Start.Time)
		}
		resume.Index = s.First
		if s.End != nil {
			resume.Reason = s.End.Reason
		}
	}
	if resume.Reason == ReasonDone {
		return true, nil
	}
	r.log.Add(resume)
	r.cfg.Logger.Info("the run goes on", "done", r.batch.Ended(), "left", r.batch.Left(),
		"cut", torn, "reason", resume.Reason)
	if err := r.log.Flush(); err != nil {
		return false, err
	}
	return false, r.killEarlier(ctx)
}

// killEarlier ends the processes that an earlier harness of this run left running. It writes an
// orphan line to the log for each.
func (r *run) killEarlier(ctx context.Context) error {
	orphans, err := supervise.FindOrphans(r.supervisor.RunID())
	if err != nil {
		return err
	}
	r.logOrphans(orphans, supervise.KillOrphans(ctx, orphans, r.cfg.Grace))
	return r.log.Flush()
}
