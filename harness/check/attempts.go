package check

import (
	"fmt"
	"slices"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A batchPlace is a file's in a batch, see parser.File.
type batchPlace struct{ batch, index int }

// attempts are what became of the files that were begun several times.
type attempts struct {
	// failed is how often a file ended otherwise than well before its last attempt; lost, how often what was done of it did
	// not count, because the run was interrupted.
	failed, lost map[batchPlace]int
}

func attemptsOf(tl *timeline.Timeline, last []*timeline.File) attempts {
	a := attempts{map[batchPlace]int{}, map[batchPlace]int{}}
	if len(last) == len(tl.Files) {
		return a
	}
	counts := map[*timeline.File]bool{}
	for _, f := range last {
		counts[f] = true
	}
	for _, f := range tl.Files {
		switch at := (batchPlace{f.Batch, f.Index}); {
		case counts[f] || f.Status == record.StatusOK:
		case wasInterrupted(f):
			a.lost[at]++
		default:
			a.failed[at]++
		}
	}
	return a
}

// wasInterrupted says that the end of the run, not of the work, ended the file.
func wasInterrupted(f *timeline.File) bool {
	return f.Status == record.StatusUnknown || f.Status == record.StatusFailed && f.Error == record.Interrupted
}

// retried says how many files ended well after they had not, "" where none did.
func (a attempts) retried(last []*timeline.File) string {
	n := 0
	for _, f := range last {
		if f.Status == record.StatusOK && a.failed[batchPlace{f.Batch, f.Index}] > 0 {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return Plural(n, "file") + " needed a retry"
}

// interruptions is the subject of a finding.
const interruptions = "interruptions"

// interruptions reports where the run was taken up again. It is no failure: what was lost was done again.
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
		// An interruption is all workers'; one that was done by then was not taken up again.
		run := slices.MaxFunc(workers, func(a, b *timeline.Run) int { return len(a.Resumes) - len(b.Resumes) })
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

// cutShort are the processes that the run's interruptions ended or followed, of those that are given in order.
func (j *Judge) cutShort(all []processValues) map[int]bool {
	cut := map[int]bool{}
	for _, run := range j.tl.Runs {
		for _, r := range run.Resumes {
			i, _ := slices.BinarySearchFunc(all, r.Process, func(p processValues, process int) int { return p.process - process })
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

// attemptNotes tell what a table without messages does not show of a run that passes.
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

// neverBegun is how many files of the batches have no attempt among those that are known, with a remark on logs that may have
// them, and why the runs that did not come to their end did not. The workers of a run share its files: one that another
// worker did is not missing.
func (j *Judge) neverBegun(known []*timeline.File) (missing int, remark string, cut []string) {
	begun := map[int]int{} // batch -> files of it
	for _, file := range known {
		if file.Index != 0 {
			begun[file.Batch]++
		}
	}
	absent := 0 // workers
	for _, workers := range j.batches() {
		start := workers[0].Start
		never := max(0, start.Files-begun[workers[0].Batch])
		if missing += never; never > 0 {
			absent += max(0, start.Workers-len(workers))
		}
		cut = append(cut, cutOff(workers)...)
	}
	if absent == 1 {
		remark = ", or by a worker whose log is not here"
	} else if absent > 1 {
		remark = fmt.Sprintf(", or by %d workers whose logs are not here", absent)
	}
	if len(cut) > 1 && !slices.ContainsFunc(j.tl.Runs, func(r timeline.Run) bool { return r.Start.Workers > 0 }) {
		cut = cut[len(cut)-1:]
	}
	return missing, remark, cut
}

// batches are the runs, those of one batch together, in the order of the logs.
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

// cutOff says why the run of a batch, or its workers, did not come to their end.
func cutOff(workers []*timeline.Run) []string {
	ends := make([]string, len(workers))
	same := true
	for i, run := range workers {
		switch {
		case run.End == nil:
			ends[i] = "cut short"
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
