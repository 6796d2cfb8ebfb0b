package harness

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"vramsoak/parser"
)

// reasonKilled is the reason of a part of a run that has no last line.
const reasonKilled = "killed"

// runStart is the log's first line.
func (c Config) runStart(head parser.Header) parser.RunStart {
	start := parser.RunStart{
		Header: head, Files: len(c.Files), Feed: string(c.Feed), Command: commandLine(c.shown()),
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

// shown returns the command as the log has it.
func (c Config) shown() []string {
	if c.Shown != nil {
		return c.Shown
	}
	masked, _ := c.Secrets.Arguments(c.Command)
	return masked
}

// begin writes the first line of the run, or of the part of it that follows. ended says that the run has come to its end
// before.
func (r *run) begin(ctx context.Context) (ended bool, err error) {
	if !r.cfg.Resume {
		r.log.own(r.firstLine())
		return false, r.log.flush()
	}
	p, cut, err := r.takeUp()
	if err != nil {
		return false, err
	}
	return r.goOn(ctx, p, cut)
}

func (r *run) firstLine() parser.RunStart {
	start := r.cfg.runStart(r.log.head(r.started))
	start.ID = r.id
	return start
}

// goOn begins the part of the run that follows what is past.
func (r *run) goOn(ctx context.Context, p past, cut int64) (ended bool, err error) {
	resume := parser.Resume{Header: r.log.head(r.started), Index: 1, Cut: cut, Reason: reasonKilled}
	if p.start == nil { // it was killed before its first line
		r.log.own(r.firstLine())
	} else {
		r.id = cmp.Or(p.start.ID, r.id)
		r.processes, r.restarts.n, r.track.names, r.track.ends = p.processes, p.restarts, p.names, p.ends
		r.started = r.started.Add(-p.spent)
		resume.Index = p.first
		if p.end != nil {
			resume.Reason = p.end.Reason
		}
	}
	if resume.Reason == ReasonDone {
		return true, nil
	}
	r.log.own(resume)
	r.cfg.Logger.Info("the run goes on", "done", r.batch.ended(), "left", r.batch.left, "cut", cut, "reason", resume.Reason)
	if err := r.log.flush(); err != nil {
		return false, err
	}
	return false, r.sweep(ctx)
}

// takeUp brings the batch to where the log left it, and cuts off the log's torn end.
func (r *run) takeUp() (p past, torn int64, err error) {
	file := r.log.file
	info, err := file.Stat()
	if err != nil {
		return p, 0, fmt.Errorf("reading the log: %w", err)
	}
	size, err := soundLength(file, info.Size(), r.cfg.Dialects)
	if err != nil {
		return p, 0, err
	}
	p, err = readPast(io.NewSectionReader(file, 0, size), r.cfg, r.batch, r.extend)
	if err != nil {
		return p, 0, err
	}
	if p.start != nil {
		if err := p.contradicts(r.cfg); err != nil {
			return p, 0, err
		}
	}
	return p, info.Size() - size, cut(file, info.Size(), size)
}

// cut shortens the log to what counts. A log that is whole is left alone.
func cut(file *os.File, found, size int64) error {
	if found == size {
		return nil
	}
	if err := file.Truncate(size); err != nil {
		return fmt.Errorf("cutting the torn end off the log: %w", err)
	}
	return nil
}
