package harness

import (
	"cmp"
	"context"

	"vramsoak/harness/journal"
	"vramsoak/harness/queue"
	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
)

// reasonKilled is the reason in the log if a part of a run has no last line.
const reasonKilled = "killed"

// begin writes the first line of the run, or of the part of it that follows. ended says that the
// run that is resumed was already done.
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

// runStart returns the log's first line, without the run's id.
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

// readBack brings the batch to where the log left it, and cuts off the log's torn end, of so many
// bytes.
func (r *run) readBack() (s journal.State, torn int64, err error) {
	return r.log.Resume(journal.Replay{
		Dialects: r.cfg.Dialects, Batch: r.batch, Extend: r.feeder.Extend,
		Ahead: max(1, r.cfg.workers)*queue.AheadMax + len(r.cfg.Files),
		Check: func(s journal.State) error {
			return s.Contradicts(r.cfg.logPath(), r.cfg.runStart(record.Header{}))
		},
	})
}

// resume begins the part of the run that follows what the log says.
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

// killEarlier ends what an earlier harness left of the run, and writes that to the log.
func (r *run) killEarlier(ctx context.Context) error {
	orphans, err := supervise.FindOrphans(r.supervisor.RunID())
	if err != nil {
		return err
	}
	r.logOrphans(orphans, supervise.KillOrphans(ctx, orphans, r.cfg.Grace))
	return r.log.Flush()
}
