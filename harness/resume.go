package harness

import (
	"cmp"
	"context"

	"vramsoak/harness/journal"
	"vramsoak/harness/queue"
	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
)

// reasonKilled is the reason in a resume line if the log has no run-end line before it: the harness
// was killed.
const reasonKilled = "killed"

// begin writes the run-start line of a new run, or the resume line of a run that is resumed. It
// returns ended if the run that was to be resumed is already done; it then writes nothing.
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

// runStart returns the run-start line, the first line of the log, without the id of the run.
func (c Config) runStart(head record.Header) record.RunStart {
	command := c.Shown
	if command == nil {
		command, _ = c.Secrets.Arguments(c.Command)
	}
	start := record.RunStart{
		Header: head, Files: len(c.Files), Feed: string(c.Feed),
		Command: supervise.CommandLine(command),
		Version: c.Version, Policy: c.Policy, Until: c.Until.Seconds(),
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

// readBack reads the log and marks in the batch which files have begun and how they ended. It cuts
// an incomplete end off the log and returns the number of bytes that it cut in torn.
func (r *run) readBack() (s journal.State, torn int64, err error) {
	return r.log.Resume(journal.Replay{
		Dialects: r.cfg.Dialects, Batch: r.batch, Extend: r.feeder.Extend,
		Ahead: max(1, r.cfg.workers)*queue.AheadMax + len(r.cfg.Files),
		Check: func(s journal.State) error {
			return s.Contradicts(r.cfg.logPath(), r.cfg.runStart(record.Header{}))
		},
	})
}

// resume continues the run from the state that readBack returned. It writes a resume line and ends
// the orphan processes of the earlier harness. If the run is already done, it returns ended and
// writes nothing.
func (r *run) resume(ctx context.Context, s journal.State, torn int64) (ended bool, err error) {
	resume := record.Resume{
		Header: r.log.Head(r.started), Index: 1, Cut: torn, Reason: reasonKilled,
	}
	if s.Start == nil { // it was killed before its first line
		r.log.Add(r.firstLine())
	} else {
		r.supervisor.SetRunID(cmp.Or(s.Start.ID, r.supervisor.RunID()))
		r.processes, r.restarts.n = s.Processes, s.Restarts
		r.out.NamesFiles, r.out.EndsFiles = s.NamesFiles, s.EndsFiles
		r.started = r.started.Add(-s.Spent)
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

// killEarlier ends the processes that an earlier harness of this run left running, and logs them as
// orphans.
func (r *run) killEarlier(ctx context.Context) error {
	orphans, err := supervise.FindOrphans(r.supervisor.RunID())
	if err != nil {
		return err
	}
	r.logOrphans(orphans, supervise.KillOrphans(ctx, orphans, r.cfg.Grace))
	return r.log.Flush()
}
