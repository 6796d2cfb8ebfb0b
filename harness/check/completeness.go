package check

import (
	"fmt"
	"slices"
	"strings"

	"vramsoak/parser"
)

// completeness demands that every file that was fed ended ok, that every Before has its After, and that the checkpoints
// that the policy expects are there.
func (j *Judge) completeness() {
	j.filesEnded()
	j.interruptions()
	j.processesEnded()
	j.leftBehind()
	j.pairsClosed()
	if len(j.policy.Expect.Checkpoints) > 0 {
		j.expected()
	}
}

func (j *Judge) filesEnded() {
	f := Finding{Check: Completeness, Subject: "files", Unit: Count, Limit: new(0.0)}
	// A file may be worked on again after a restart: its last end counts. A log that does not say how files ended has
	// nothing to say here.
	known := slices.DeleteFunc(j.tl.LastAttempts(), func(f *parser.File) bool {
		return !j.tells[f.Run]
	})
	attempts := attemptsOf(j.tl, j.tl.LastAttempts())
	fedAny := slices.ContainsFunc(j.tl.Runs, func(run parser.Run) bool { return run.Start.Files > 0 })
	if len(known) == 0 && !fedAny {
		f.Verdict, f.Unit, f.Limit = Skipped, "", nil
		f.Message = "the log does not say how files ended; soak the pipeline, or print [pipeline] file-start and file-end"
		j.add(f)
		return
	}
	bad := slices.DeleteFunc(slices.Clone(known), func(f *parser.File) bool { return f.Status == parser.StatusOK })
	missing, unsaid, cut := j.neverBegun(known)
	fed := len(known) + missing
	f.Measured = new(float64(len(bad) + missing))
	if len(bad)+missing == 0 { // nothing but the run's end is missing
		f.Measured = new(float64(len(cut)))
	}
	const named = 5
	var said []string
	for i, file := range bad {
		if i == named {
			said = append(said, fmt.Sprintf("and %d more", len(bad)-i))
			break
		}
		text := fmt.Sprintf("%s %s", fileName(file), ended(file.Status))
		if at := j.lastBegun(file); at != "" {
			text += fmt.Sprintf(", last at %q", at)
		}
		if file.Error != "" {
			text += " (" + file.Error + ")"
		}
		if n := attempts.failed[batchPlace{file.Batch, file.Index}]; n > 0 {
			text += fmt.Sprintf(", as in %s before", Plural(n, "attempt"))
		}
		said = append(said, text)
	}
	if missing > 0 {
		said = append(said, Plural(missing, "file")+" never begun"+unsaid)
	}
	said = append(said, cut...)
	if len(said) == 0 {
		f.Verdict = Pass
		f.Message = fmt.Sprintf("all %d files ended ok", fed)
		if fed == 1 {
			f.Message = "the file ended ok"
		}
		if retried := attempts.retried(known); retried != "" {
			f.Message += "; " + retried
		}
		j.add(f)
		return
	}
	f.Verdict = Fail
	if len(bad) > 0 {
		f.File, f.At = bad[0].Index, new(bad[0].EndPos)
	}
	f.Message = fmt.Sprintf("%s; %d of %d files ended ok", strings.Join(said, ", "), len(known)-len(bad), fed)
	if len(bad) == fed && fed > named {
		f.Message = fmt.Sprintf("%d of %d files failed; the first: %s", fed, fed, strings.Join(append(said[:1], cut...), ", "))
	}
	if retried := attempts.retried(known); retried != "" {
		f.Message += "; " + retried
	}
	j.add(f)
}

// summarize keeps of a file's checkpoints what the report needs.
func (j *Judge) summarize(f *parser.File) summary {
	var s summary
	if n := len(f.Checkpoints); n > 0 {
		s.name = f.Checkpoints[n-1].Name
	}
	for i := range slices.Backward(f.Checkpoints) {
		c := &f.Checkpoints[i]
		named := j.naming(c)
		if named.cleanup {
			continue
		}
		if s.work == 0 {
			s.work = c.Pos.Line
		}
		if !named.after {
			s.begun = c.Name
			break
		}
	}
	return s
}

// lastBegun is the last checkpoint before a file's bad end, "" where it has none. The cleanups that a program makes when
// it fails or is told to end say nothing on where it was.
func (j *Judge) lastBegun(f *parser.File) string {
	i := 0
	for j.tl.Files[i] != f {
		i++
	}
	s := &j.files[i]
	if f.Status == parser.StatusCrashed || f.Status == parser.StatusUnknown {
		return s.name
	}
	return s.begun
}

// processesEnded looks for processes that did not end well though all of their files did: one that dies between files, or
// hangs when it is done. A process that fails because a file failed is the file's finding, and that the run's end ended one
// is the run's.
func (j *Judge) processesEnded() {
	if len(j.tl.Exits) == 0 {
		return // a log without the harness's lines, or a run that was cut short before the first
	}
	explained := map[int]bool{}
	interrupted := map[int]bool{}
	for _, run := range j.tl.Runs {
		interrupted[run.Number] = run.End != nil && run.End.Reason == parser.Interrupted
	}
	for i := range j.tl.Files {
		if f := j.tl.Files[i]; f.Status != parser.StatusOK || interrupted[f.Run] {
			explained[f.Process] = true
		}
	}
	f := Finding{Check: Completeness, Verdict: Pass, Subject: "processes", Unit: Count, Limit: new(0.0)}
	bad := 0
	for i := range j.tl.Exits {
		e := &j.tl.Exits[i]
		// One that is told to end because it hung, or used too much, did so, also where it then exits in good order.
		told := e.Reason == parser.ExitTimeout || e.Reason == parser.ExitOveruse
		if e.Code == 0 && e.Signal == "" && !told || explained[e.Process] ||
			e.Reason == parser.ExitInterrupted || e.Reason == parser.ExitUntil {
			continue
		}
		if bad++; bad > 1 {
			continue
		}
		f.Verdict, f.At = Fail, new(e.Pos)
		f.Message = exited(e) + ", though each of its files ended ok"
	}
	f.Measured = new(float64(bad))
	switch {
	case bad > 1:
		f.Message += fmt.Sprintf("; so did %d more", bad-1)
	case bad == 0:
		processes := "1 process"
		if n := len(j.tl.Exits); n > 1 {
			processes = fmt.Sprintf("%d processes", n)
		}
		f.Message = processes + " ended well, or for a file's reason"
	}
	j.add(f)
}

// exited says how a process ended.
func exited(e *parser.Exit) string {
	how := fmt.Sprintf("exited with code %d", e.Code)
	if e.Signal != "" {
		how = "was ended by " + e.Signal
	}
	switch e.Reason {
	case parser.ExitTimeout:
		how = "hung and " + how
	case parser.ExitOveruse:
		how = "used more of the device than the run allowed, and " + how
	}
	return fmt.Sprintf("process %d %s", e.PID, how)
}

// ended is a status as a verb.
func ended(s parser.Status) string {
	switch s {
	case parser.StatusOK:
		return "ended ok"
	case parser.StatusTimeout:
		return "hung and was ended after its timeout"
	case parser.StatusOOM:
		return "ran out of memory"
	case parser.StatusUnknown:
		return "has no end"
	}
	return string(s)
}

// pairsClosed looks for a Before without its After in files that did not end badly.
func (j *Judge) pairsClosed() {
	f := Finding{Check: Completeness, Subject: "checkpoint pairs", Unit: Count, Limit: new(0.0)}
	closed, open := j.closed, 0
	for _, b := range j.lostBefores() {
		file := j.file(b.file)
		if b.file.outside || !j.sound(file) {
			continue
		}
		open++
		if open == 1 {
			f.File, f.At = file.Index, new(b.pos)
			f.Message = fmt.Sprintf("%q in %s has no After", b.name, fileName(file))
		}
	}
	switch {
	case open > 0:
		f.Verdict, f.Measured = Fail, new(float64(open))
		if open > 1 {
			f.Message += fmt.Sprintf(", and %d more", open-1)
		}
	case closed == 0:
		f.Verdict, f.Unit, f.Limit = Skipped, "", nil
		f.Message = "no Before/After pair was logged"
	default:
		f.Verdict, f.Measured = Pass, new(0.0)
		f.Message = Plural(closed, "pair") + " closed"
	}
	j.add(f)
}

// A pairName is the name of a Before in a run.
type pairName struct {
	run  int
	name string
}

// A lostBefore is a Before without its After.
type lostBefore struct {
	file    fileRef
	name    string
	lane    parser.Lane
	cleanup bool
	pos     parser.Position
}

// complete notes which pairs the file has, and what it lacks.
func (j *Judge) complete(f *parser.File, ref fileRef) {
	if !f.Outside {
		j.closed += len(f.Stages) + len(f.Cleanups)
	}
	if !j.plan.fits(f) { // else they are noted already
		for _, s := range f.Stages {
			j.paired[pairName{f.Run, f.Checkpoints[s.Before].Name}] = true
		}
		for _, c := range f.Cleanups {
			j.paired[pairName{f.Run, f.Checkpoints[c.Before].Name}] = true
		}
	}
	if f.Outside {
		return
	}
	for _, n := range f.Unpaired {
		// Where files are told by the recurring checkpoints of one rank, the others may be behind.
		if c := &f.Checkpoints[n]; f.Supervised || c.Lane == f.Checkpoints[0].Lane {
			j.lost = append(j.lost, lostBefore{ref, c.Name, c.Lane, c.OfCleanup(), c.Pos})
		}
	}
	for _, name := range j.policy.Expect.Checkpoints {
		if !slices.ContainsFunc(f.Checkpoints, func(c parser.Checkpoint) bool { return c.Name == name }) {
			j.missing = append(j.missing, missingName{ref, name})
		}
	}
}

// lostBefores are the Befores that should have an After. A name that has none anywhere in its run opens no pair: "Before
// model setup" may just be a checkpoint.
func (j *Judge) lostBefores() []lostBefore {
	return slices.DeleteFunc(slices.Clone(j.lost), func(b lostBefore) bool {
		return !b.cleanup && !j.paired[pairName{j.file(b.file).Run, b.name}]
	})
}

// A missingName is a checkpoint that the policy expects and a file lacks.
type missingName struct {
	file fileRef
	name string
}

// expected demands the policy's checkpoints of every file that did not end badly.
func (j *Judge) expected() {
	f := Finding{
		Check: Completeness, Subject: "expected checkpoints", Unit: Count, Limit: new(0.0), Verdict: Skipped,
		Message: "no file ended well",
	}
	files, missing := 0, 0
	for i := range j.tl.Files {
		if j.sound(j.tl.Files[i]) {
			files++
		}
	}
	for _, m := range j.missing {
		file := j.file(m.file)
		if !j.sound(file) {
			continue
		}
		missing++
		if missing == 1 {
			f.File, f.At = file.Index, new(file.EndPos)
			f.Message = fmt.Sprintf("%s lacks %q, which the policy expects", fileName(file), m.name)
		}
	}
	switch {
	case missing > 0:
		f.Verdict, f.Measured = Fail, new(float64(missing))
		if missing > 1 {
			f.Message += fmt.Sprintf(", and %d more are missing", missing-1)
		}
	case files > 0:
		f.Verdict, f.Measured = Pass, new(0.0)
		f.Message = fmt.Sprintf("all %d are in %s", len(j.policy.Expect.Checkpoints), ofFiles(files, files))
	}
	j.add(f)
}
