package harness

import (
	"fmt"
	"strings"

	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
)

// A decision says whether the run ends now that a process has ended, and why. If reason is "", the
// run goes on with the next process.
type decision struct {
	reason string
	what   string // what happened
	tail   string // the last lines that the process printed; "" if they do not explain what happened
	cause  string // the line in which the process printed why it ended
}

// diagnostic returns what happened, followed by the last lines that the process printed.
func (d decision) diagnostic() string {
	if d.tail == "" {
		return d.what
	}
	return d.what + "; its last lines:\n" + d.tail
}

// inOneLine returns what happened in one line. The printed cause follows in parentheses, in place
// of the process's last lines.
func (d decision) inOneLine() string {
	line, _, _ := strings.Cut(d.what, "\n")
	if line != "" && d.cause != "" {
		line += " (" + d.cause + ")"
	}
	return line
}

// stopped returns the decision to end the run after this process. The text what says, after "the
// process", what happened.
func (r *run) stopped(end supervise.End, what string) decision {
	return decision{
		reason: ReasonStopped, what: fmt.Sprintf("the process (pid %d) %s", end.PID, what),
		tail: r.out.Tail.Lines(), cause: end.Cause,
	}
}

// progress says what happened to the files of a process that has ended.
type progress struct {
	between bool // the process ended when it worked on no file
	began   bool // at least one file began
	ok      bool // at least one file ended with status ok
}

// decide returns the decision whether the run goes on, after a process ended as end says. The
// parameter did says what happened to the files of the process.
func (r *run) decide(end supervise.End, did progress) decision {
	switch {
	case end.Stuck:
		return r.stopped(end, "did not end after SIGKILL: it is stuck in the kernel, "+
			"mostly in a device driver; see its state in /proc, "+
			"the machine may have to be restarted")
	case end.Interrupted:
		return decision{reason: ReasonInterrupted}
	case end.SoakOver:
		return r.over()
	case r.cfg.Feed == FeedProcess:
		return r.decideFilePerProcess(end, did)
	case r.cfg.Feed == FeedNone:
		return r.decideOwnFiles(end)
	}
	return r.decideManyFiles(end, did)
}

// decideFilePerProcess returns the decision of [run.decide] in a run with FeedProcess, in which
// each process works on one file. A process that failed counts as a crash, unless no file waits
// after it.
func (r *run) decideFilePerProcess(end supervise.End, did progress) decision {
	switch {
	case !end.Timeout && !end.Failed() || r.feeder.Empty():
		return decision{}
	case r.cfg.OnCrash == CrashStop:
		return r.stopped(end, end.String()+", and on-crash is stop")
	}
	return r.restart(end, did.ok)
}

// decideOwnFiles returns the decision of [run.decide] in a run with FeedNone. Such a run has only
// one process, which finds its files by itself. So the decision is always to end the run.
func (r *run) decideOwnFiles(end supervise.End) decision {
	switch {
	case end.Timeout:
		what := fmt.Sprintf("began no new file within %v and was ended", r.cfg.Timeout)
		return r.stopped(end, what)
	case end.Signal != "" || end.Overuse != "", end.Failed() && r.batch.Len() == 0:
		return r.stopped(end, end.String())
	}
	return decision{reason: ReasonDone}
}

// decideManyFiles returns the decision of [run.decide] in a run with FeedList or FeedStdin, in
// which a process gets many files of the batch.
func (r *run) decideManyFiles(end supervise.End, did progress) decision {
	failed := end.Timeout || end.Failed()
	_, unfinished := r.batch.Next(r.out.Given())
	switch {
	case !unfinished: // a failing exit code after all files is no crash
		return decision{}
	case !did.began && end.Timeout:
		return r.stopped(end, fmt.Sprintf("began no file within %v and was ended; "+
			"raise the timeout if it takes longer to load", r.cfg.Timeout))
	case !did.began && failed:
		return r.stopped(end, end.String()+" before it began a file")
	case !did.began:
		return r.stopped(end, fmt.Sprintf("exited with code 0, but no file was seen to begin; "+
			"have it read its files from %s and print a line %q for each",
			r.source(), fileStartLine))
	case !failed && !r.out.NamesFiles && !r.out.EndsFiles:
		// The process may have skipped a file, and its checkpoints do not show which file. The harness
		// would then give a new process the wrong files.
		return r.stopped(end, fmt.Sprintf("exited with code 0, but its checkpoints show "+
			"%d of %d files, and not which; have it print a line %q for each",
			r.out.Begun(), len(r.out.Given()), fileStartLine))
	case r.cfg.OnCrash == CrashStop && failed:
		return r.stopped(end, end.String()+", and on-crash is stop")
	}
	what := "the process ended before its files were done"
	switch {
	case end.Failed() && r.out.RanOut:
		what = "the process ran out of memory"
	case did.between:
		what = "the process ended between files"
	}
	if failed {
		if d := r.restart(end, did.ok); d.reason != "" {
			return d
		}
	}
	how := end.String()
	if end.Cause != "" {
		how += ": " + end.Cause
	}
	facts := []any{"end", how, "remaining", r.batch.Left()}
	if !did.between { // the file in work ended with the process
		facts = append([]any{"file", r.last.Path}, facts...)
	}
	r.cfg.Logger.Warn(what+"; the remaining files go to a new one", facts...)
	return decision{}
}

const fileStartLine = record.ProtocolPrefix + " file-start path=..."

// source returns, for a message, where a process finds the names of its files.
func (r *run) source() string {
	if r.cfg.Feed == FeedStdin {
		return "standard input"
	}
	return "the list"
}
