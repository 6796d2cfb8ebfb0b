package check

import (
	"fmt"
	"slices"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// completeness judges whether every file that was fed ended ok, every Before has its After, and
// the checkpoints are there that the policy expects.
func (j *Judge) completeness() {
	j.filesEnded()
	j.interruptions()
	j.processesEnded()
	j.crashed()
	j.leftBehind()
	j.pairsClosed()
	if len(j.policy.Expect.Checkpoints) > 0 {
		j.expected()
	}
}

func (j *Judge) filesEnded() {
	f := Finding{Check: Completeness, Subject: "files", Unit: Count, Limit: new(0.0)}
	// A file may be worked on again after a restart: its last end counts.
	known := slices.DeleteFunc(j.tl.LastAttempts(), func(f *timeline.File) bool {
		return !j.tells[f.Run]
	})
	attempts := attemptsOf(j.tl, j.tl.LastAttempts())
	fedAny := slices.ContainsFunc(j.tl.Runs,
		func(run timeline.Run) bool { return run.Start.Files > 0 })
	if len(known) == 0 && !fedAny {
		f.Verdict, f.Unit, f.Limit = Skipped, "", nil
		f.Message = "the log does not say how files ended; soak the pipeline, or print [pipeline] " +
			"file-start and file-end"
		j.add(f)
		return
	}
	bad := slices.DeleteFunc(slices.Clone(known),
		func(f *timeline.File) bool { return f.Status == record.StatusOK })
	missing, unsaid, cut := j.neverBegun(known)
	fed := len(known) + missing
	f.Measured = new(float64(len(bad) + missing))
	if len(bad)+missing == 0 { // nothing but the run's end is missing
		f.Measured = new(float64(len(cut)))
	}
	said := j.badFiles(bad, attempts, fed)
	if missing > 0 {
		said = append(said, Plural(missing, "file")+" never started"+unsaid)
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
		f.in(bad[0])
		f.At = new(bad[0].EndPos)
	}
	f.Message = fmt.Sprintf("%s; %d of %d files ended ok", strings.Join(said, ", "),
		len(known)-len(bad), fed)
	if len(bad) == fed && len(said) == 1+len(cut) && fed > 1 { // it says so already
		f.Message = strings.Join(said, ", ")
	}
	if retried := attempts.retried(known); retried != "" {
		f.Message += "; " + retried
	}
	j.add(f)
}

// filesNamed is how many files a message names.
const filesNamed = 5

// badFiles says how files ended that did not end well, one by one or all at once.
func (j *Judge) badFiles(bad []*timeline.File, attempts attempts, fed int) []string {
	if said := j.alike(bad, fed); said != "" {
		return []string{said}
	}
	if len(bad) == fed && fed > filesNamed {
		return []string{fmt.Sprintf("all %d files failed; the first: %s", fed,
			j.badFile(bad[0], attempts))}
	}
	var said []string
	for i, file := range bad {
		if i == filesNamed {
			said = append(said, fmt.Sprintf("and %d more", len(bad)-i))
			break
		}
		said = append(said, j.badFile(file, attempts))
	}
	return said
}

// badFile says how a file ended, where, and why.
func (j *Judge) badFile(file *timeline.File, attempts attempts) string {
	text := fileName(file) + " " + ended(file.Status)
	if n := len(file.OOMs); n > 0 && !file.OOMs[n-1].Fallback && file.Status == record.StatusCrashed &&
		file.OOMs[n-1].Pos.Line > j.files[j.indexOf(file)].work {
		text = fileName(file) + " ran out of memory and crashed"
	}
	if at := j.lastBegun(file); at != "" {
		text += fmt.Sprintf(", last at %q", at)
	}
	text += inBrackets(file.Error, fileHint(file))
	if n := attempts.failed[batchFile{file.Batch, file.Index}]; n > 0 {
		text += fmt.Sprintf(", as in %s before", Plural(n, "attempt"))
	}
	return text
}

// alike describes several files at once that ended in the same way for the same reason; else it
// returns "".
func (j *Judge) alike(bad []*timeline.File, fed int) string {
	if len(bad) < 2 || bad[0].Error == "" {
		return ""
	}
	for _, f := range bad {
		if f.Status != bad[0].Status || f.Error != bad[0].Error || f.Status == record.StatusTimeout ||
			f.Error == record.Interrupted {
			return ""
		}
	}
	var who string
	if len(bad) == fed {
		who = fmt.Sprintf("all %d files", fed)
		if fed == 2 {
			who = "both files"
		}
	} else {
		names := make([]string, 0, filesNamed)
		for _, f := range bad[:min(len(bad), filesNamed)] {
			names = append(names, fileName(f))
		}
		if more := len(bad) - filesNamed; more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		last := len(names) - 1
		who = strings.Join(names[:last], ", ") + " and " + names[last]
	}
	at := ""
	last := j.lastBegun(bad[0])
	elsewhere := func(f *timeline.File) bool { return j.lastBegun(f) != last }
	if last != "" && !slices.ContainsFunc(bad, elsewhere) {
		at = fmt.Sprintf(", last at %q", last)
	}
	return fmt.Sprintf("%s %s%s, each for the same reason%s", who, ended(bad[0].Status), at,
		inBrackets(bad[0].Error, fileHint(bad[0])))
}

// fileHint explains an unusual end of a file's process.
func fileHint(f *timeline.File) string {
	end, ok := record.ParseProcessEnd(f.Error)
	if !ok || end.Signal != "" && f.Status != record.StatusCrashed {
		return ""
	}
	return signalHint(end.Signal, end.Code)
}

// summarize returns what the report needs of a file's checkpoints.
func (j *Judge) summarize(f *timeline.File) summary {
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
		if s.work == 0 && worksOn(f, c) {
			s.work = c.Pos.Line
		}
		if !named.after {
			s.begun = c.Name
			break
		}
	}
	return s
}

// worksOn reports whether a checkpoint shows that the work went on after a failed allocation. It
// must be of the same device, or of one that had a checkpoint before. A device that only shows up
// afterwards tells nothing.
func worksOn(f *timeline.File, c *record.Checkpoint) bool {
	if len(f.OOMs) == 0 || c.Pos.Line < f.OOMs[0].Pos.Line {
		return true
	}
	for i := range f.OOMs {
		if f.OOMs[i].Lane.Device == c.Lane.Device {
			return true
		}
	}
	return slices.ContainsFunc(f.Checkpoints, func(other record.Checkpoint) bool {
		return other.Lane == c.Lane && other.Pos.Line < f.OOMs[0].Pos.Line
	})
}

// lastBegun returns the last checkpoint before a file's bad end, or "". Cleanups that a program
// makes when it fails, or is told to end, do not tell where it was.
func (j *Judge) lastBegun(f *timeline.File) string {
	s := &j.files[j.indexOf(f)]
	if f.Status == record.StatusCrashed || f.Status == record.StatusUnknown {
		return s.name
	}
	return s.begun
}

// indexOf returns the index of a file in the timeline.
func (j *Judge) indexOf(f *timeline.File) int { return slices.Index(j.tl.Files, f) }

// ended returns a status as a verb.
func ended(s record.Status) string {
	switch s {
	case record.StatusOK:
		return "ended ok"
	case record.StatusTimeout:
		return "hung and was ended after its timeout"
	case record.StatusOOM:
		return "ran out of memory"
	case record.StatusUnknown:
		return "has no end"
	}
	return string(s)
}

// pairsClosed looks for a Before without its After in files that did not end badly.
func (j *Judge) pairsClosed() {
	f := Finding{Check: Completeness, Subject: "checkpoint pairs", Unit: Count, Limit: new(0.0)}
	closed, open := j.closed, 0
	for _, b := range j.lostBefores() {
		file := b.file
		if file.Outside || !j.endedWell(file) {
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
	file    *timeline.File
	name    string
	lane    record.Lane
	cleanup bool
	pos     record.Position
}

// notePairs notes which pairs the file has, and what it lacks.
func (j *Judge) notePairs(f *timeline.File) {
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
		// Where the recurring checkpoints of one rank tell files apart, the other ranks may be behind.
		if c := &f.Checkpoints[n]; f.Supervised || c.Lane == f.Checkpoints[0].Lane {
			b := lostBefore{f, c.Name, c.Lane, c.InCleanup(), c.Pos}
			j.lost = append(j.lost, b)
			if _, known := j.firstLost[c.Lane]; b.cleanup && !known {
				j.firstLost[c.Lane] = b
			}
		}
	}
	for _, name := range j.policy.Expect.Checkpoints {
		if !slices.ContainsFunc(f.Checkpoints, func(c record.Checkpoint) bool { return c.Name == name }) {
			j.missing = append(j.missing, missingName{f, name})
		}
	}
}

// lostBefores returns the Befores that should have an After. A name that has none anywhere in its
// run opens no pair: "Before model setup" may just be a checkpoint.
func (j *Judge) lostBefores() []lostBefore {
	return slices.DeleteFunc(slices.Clone(j.lost), func(b lostBefore) bool {
		return !b.cleanup && !j.paired[pairName{b.file.Run, b.name}]
	})
}

// A missingName is a checkpoint that the policy expects and a file lacks.
type missingName struct {
	file *timeline.File
	name string
}

// expected judges whether each file that ended well has the policy's checkpoints.
func (j *Judge) expected() {
	f := Finding{
		Check: Completeness, Subject: "expected checkpoints", Unit: Count, Limit: new(0.0),
		Verdict: Skipped,
		Message: "no file ended well",
	}
	files, missing := 0, 0
	for i := range j.tl.Files {
		if j.endedWell(j.tl.Files[i]) {
			files++
		}
	}
	for _, m := range j.missing {
		file := m.file
		if !j.endedWell(file) {
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
		f.Message = fmt.Sprintf("all %d are in %s", len(j.policy.Expect.Checkpoints),
			ofFiles(files, files))
	}
	j.add(f)
}
