package check

import (
	"fmt"
	"slices"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A batchFile identifies a file by its batch and its index in the batch, as timeline.File does.
type batchFile struct{ batch, index int }

// attempts counts, for files that the pipeline started several times, the attempts before the last
// one.
type attempts struct {
	// failed counts the attempts that failed. lost counts the attempts that ended only because the run
	// was interrupted.
	failed, lost map[batchFile]int
}

func attemptsOf(tl *timeline.Timeline, last []*timeline.File) attempts {
	a := attempts{map[batchFile]int{}, map[batchFile]int{}}
	if len(last) == len(tl.Files) {
		return a
	}
	counts := map[*timeline.File]bool{}
	for _, f := range last {
		counts[f] = true
	}
	for _, f := range tl.Files {
		switch at := (batchFile{f.Batch, f.Index}); {
		case counts[f] || f.Status == record.StatusOK:
		case wasInterrupted(f):
			a.lost[at]++
		default:
			a.failed[at]++
		}
	}
	return a
}

// wasInterrupted reports whether an interruption of the run ended the file.
func wasInterrupted(f *timeline.File) bool {
	return f.Status == record.StatusUnknown ||
		f.Status == record.StatusFailed && f.Error == record.Interrupted
}

// retried returns "2 files needed a retry" if two files of last ended ok after a failed attempt, or
// "" if there are no such files. The parameter last holds the last attempt at each file.
func (a attempts) retried(last []*timeline.File) string {
	n := 0
	for _, f := range last {
		if f.Status == record.StatusOK && a.failed[batchFile{f.Batch, f.Index}] > 0 {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return Plural(n, "file") + " needed a retry"
}

// interruptions is the subject of the finding on a run that was interrupted and resumed.
const interruptions = "interruptions"

// interruptions adds a finding if the run was interrupted and resumed. The finding passes, because
// the resumed run repeated the files whose results were lost.
func (j *Judge) interruptions() {
	f := Finding{Check: Completeness, Verdict: Pass, Subject: interruptions, Unit: Count, absent: true}
	var reasons []string // in the order of the log
	count := map[string]int{}
	n, cut := 0, int64(0)
	for _, run := range j.tl.Runs {
		for _, r := range run.Resumes {
			cut += r.Cut
		}
	}
	for _, workers := range j.batches() {
		// An interruption stops all workers, but workers that had finished are not resumed. So the worker
		// with the most resumes has seen every interruption.
		run := slices.MaxFunc(workers, func(a, b *timeline.Run) int {
			return len(a.Resumes) - len(b.Resumes)
		})
		for _, r := range run.Resumes {
			if n++; n == 1 {
				f.At = new(r.Pos)
			}
			if count[r.Reason]++; count[r.Reason] == 1 {
				reasons = append(reasons, r.Reason)
			}
		}
	}
	if n == 0 {
		return
	}
	f.Measured = new(float64(n))
	for i, reason := range reasons {
		if reason == record.FailFast {
			reasons[i] = byFailFast
		}
		if count[reason] > 1 {
			reasons[i] += fmt.Sprintf(" %d times", count[reason])
		}
	}
	f.Message = "the run was " + strings.Join(reasons, " and ") + ", and taken up again"
	if again := len(attemptsOf(j.tl, j.tl.LastAttempts()).lost); again == 1 {
		f.Message += "; 1 file was done again"
	} else if again > 1 {
		f.Message += fmt.Sprintf("; %d files were done again", again)
	}
	if cut > 0 {
		f.Message += fmt.Sprintf("; %s cut off the torn end of the log", bytesWere(cut))
	}
	j.add(f)
}

func bytesWere(n int64) string {
	if n == 1 {
		return "1 byte was"
	}
	return record.FormatBytes(n) + " were"
}

// cutShort returns the processes next to each interruption: the last process before it and the
// first process after it. The parameter all must be sorted by process.
func (j *Judge) cutShort(all []processValues) map[int]bool {
	cut := map[int]bool{}
	for _, run := range j.tl.Runs {
		for _, r := range run.Resumes {
			i, _ := slices.BinarySearchFunc(all, r.Process, func(p processValues, process int) int {
				return p.process - process
			})
			if i > 0 {
				cut[all[i-1].process] = true
			}
			if i < len(all) {
				cut[all[i].process] = true
			}
		}
	}
	return cut
}

// attemptNotes returns notes on retries and interruptions. The tables of a report show notes, but
// not the messages of findings that pass.
func (j *Judge) attemptNotes() []string {
	var notes []string
	last := j.tl.LastAttempts()
	if retried := attemptsOf(j.tl, last).retried(last); retried != "" {
		notes = append(notes, retried+": the last attempt counts")
	}
	for i := range j.findings {
		if f := &j.findings[i]; f.Subject == interruptions {
			notes = append(notes, f.Message)
		}
	}
	return notes
}

// unstarted counts the files of the batches that were never started.
type unstarted struct {
	files int // without those in byFailFast
	// byFailFast counts the files of runs that --fail-fast ended early: the harness meant not to start
	// them.
	byFailFast int
	// workers is the number of workers whose logs are missing. They may have started files that are
	// counted in files.
	workers int
}

// String returns the files that were never started, in words: "4 files never started, or started by
// a worker whose log is missing".
func (u unstarted) String() string {
	text := Plural(u.files, "file") + " never started"
	switch u.workers {
	case 0:
		return text
	case 1:
		return text + ", or started by a worker whose log is missing"
	}
	return fmt.Sprintf("%s, or started by %d workers whose logs are missing", text, u.workers)
}

// neverStarted counts the files of the batches without an attempt in known. The workers of a run
// divide its files among them, so a file counts as started if any worker started it.
func (j *Judge) neverStarted(known []*timeline.File) (u unstarted) {
	begun := map[int]int{} // batch -> number of its files in known
	for _, file := range known {
		if file.Index != 0 {
			begun[file.Batch]++
		}
	}
	for _, workers := range j.batches() {
		start := workers[0].Start
		never := max(0, start.Files-begun[workers[0].Batch])
		switch {
		case endedEarlyAll(workers):
			u.byFailFast += never
		case never > 0:
			u.files += never
			u.workers += max(0, start.Workers-len(workers))
		}
	}
	return u
}

// cutRuns returns why runs ended before all their files had. It leaves out runs that only
// --fail-fast ended. Without workers, each run resumes the one before, so only the last one counts.
func (j *Judge) cutRuns() []string {
	var cut []string
	for _, workers := range j.batches() {
		if !endedEarlyAll(workers) {
			cut = append(cut, cutOff(workers)...)
		}
	}
	ofWorkers := func(r timeline.Run) bool { return r.Start.Workers > 0 }
	if len(cut) > 1 && !slices.ContainsFunc(j.tl.Runs, ofWorkers) {
		cut = cut[len(cut)-1:]
	}
	return cut
}

// byFailFast says how a run ended, worded to follow "the run was".
const byFailFast = "ended early by --fail-fast"

// endedEarlyAll reports whether --fail-fast ended the run of these workers, and nothing else ended
// any of them. A worker that was done before is no exception.
func endedEarlyAll(workers []*timeline.Run) bool {
	early := false
	for _, run := range workers {
		early = early || endedEarly(run.End)
		if run.End == nil || run.End.Reason != "done" && !endedEarly(run.End) {
			return false
		}
	}
	return early
}

// batches returns the runs of the log grouped by batch, in the order of the logs. The logs of
// several workers are runs of the same batch.
func (j *Judge) batches() [][]*timeline.Run {
	var all [][]*timeline.Run
	place := map[int]int{}
	for i := range j.tl.Runs {
		run := &j.tl.Runs[i]
		at, known := place[run.Batch]
		if !known {
			at = len(all)
			place[run.Batch] = at
			all = append(all, nil)
		}
		all[at] = append(all[at], run)
	}
	return all
}

// cutOff returns why the run of a batch ended early, or which of its workers did so and why. It
// returns nil if none ended early.
func cutOff(workers []*timeline.Run) []string {
	ends := make([]string, len(workers))
	same := true
	for i, run := range workers {
		switch {
		case run.End == nil:
			ends[i] = "cut short"
		case endedEarly(run.End):
			ends[i] = byFailFast
		case run.End.Reason != "done":
			ends[i] = run.End.Reason
			if run.End.Error != "" {
				ends[i] += ": " + run.End.Error
			}
		}
		same = same && ends[i] == ends[0]
	}
	if same {
		if ends[0] == "" {
			return nil
		}
		return []string{"the run was " + ends[0]}
	}
	var said []string
	for i, run := range workers {
		if ends[i] != "" {
			said = append(said, fmt.Sprintf("the worker of GPU %d was %s", run.Start.GPU, ends[i]))
		}
	}
	return said
}
