package check

import (
	"fmt"
	"slices"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// completeness judges whether every file of the batch ended ok, every Before has its After, and
// every checkpoint that the policy expects is there.
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

// Files is the subject of the finding that every file ended ok.
const Files = "files"

// filesEnded judges whether every file of the batch ended ok.
func (j *Judge) filesEnded() {
	f := Finding{Check: Completeness, Subject: Files, Unit: Count, Limit: new(0.0)}
	// A file may be tried several times; its last attempt counts.
	known := slices.DeleteFunc(j.tl.LastAttempts(), func(f *timeline.File) bool {
		return !j.tells[f.Batch]
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
	never, cut := j.neverStarted(known), j.cutRuns()
	fed := len(known) + never.files + never.byFailFast
	f.Measured = new(float64(len(bad) + never.files))
	if len(bad)+never.files == 0 { // all files ended ok; only the end of the run may be missing
		f.Measured = new(float64(len(cut)))
	}
	said := j.badFiles(bad, attempts, fed)
	if never.files > 0 {
		said = append(said, never.String())
	}
	if never.byFailFast > 0 {
		said = append(said, fmt.Sprintf("%s never started, because --fail-fast ended the run early",
			Plural(never.byFailFast, "file")))
	}
	said = append(said, cut...)
	if len(said) == 1 && never.byFailFast > 0 {
		f.Verdict = Undecided
		f.Message = fmt.Sprintf("%s; all %d others ended ok", said[0], len(known))
		if len(known) == 1 {
			f.Message = said[0] + "; the other one ended ok"
		}
		j.add(f)
		return
	}
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
	f.causeInput = &causeInput{outOfMemory: len(bad) > 0 && len(cut) == 0 &&
		!slices.ContainsFunc(bad, func(f *timeline.File) bool { return !j.ranOut(f) })}
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

// badFiles returns the parts of a message on the files that did not end ok, one part per file or
// one for all. The parameter fed is the number of files in the batch.
func (j *Judge) badFiles(bad []*timeline.File, attempts attempts, fed int) []string {
	if said := j.alike(bad, fed); said != "" {
		return []string{said}
	}
	if len(bad) == fed && fed > filesNamed {
		return []string{fmt.Sprintf("all %d files failed; the first: %s", fed,
			j.badFile(bad[0], attempts))}
	}
	var how []string               // the ways in which files ended, in order
	names := map[string][]string{} // the files that ended in each way
	for _, file := range bad[:min(len(bad), filesNamed)] {
		way := j.badEnd(file, attempts)
		if names[way] == nil {
			how = append(how, way)
		}
		names[way] = append(names[way], fileName(file))
	}
	var said []string
	for _, way := range how {
		said = append(said, listed(names[way])+" "+way)
	}
	if more := len(bad) - filesNamed; more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	return said
}

// badFile returns, for a message, how a file ended, at which checkpoint, and why.
func (j *Judge) badFile(file *timeline.File, attempts attempts) string {
	return fileName(file) + " " + j.badEnd(file, attempts)
}

// badEnd is [Judge.badFile] without the file's name.
func (j *Judge) badEnd(file *timeline.File, attempts attempts) string {
	text := ended(file.Status)
	if file.Status == record.StatusCrashed && j.ranOut(file) {
		text = "ran out of memory and crashed"
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

// ranOut reports whether a file did not end ok because memory ran out: the pipeline says so, or no
// work follows the failed allocation.
func (j *Judge) ranOut(file *timeline.File) bool {
	n := len(file.OOMs)
	return file.Status == record.StatusOOM || n > 0 && !file.OOMs[n-1].Fallback &&
		file.OOMs[n-1].Pos.Line > j.files[j.indexOf(file)].work
}

// alike returns one message part for several files that all ended in the same way for the same
// reason, or "" if they did not.
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
		who = listed(names)
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

// fileHint returns an explanation of an unusual signal or exit code of a file's process, or "".
func fileHint(f *timeline.File) string {
	end, ok := record.ParseProcessEnd(f.Error)
	if !ok || end.Signal != "" && f.Status != record.StatusCrashed {
		return ""
	}
	return signalHint(end.Signal, end.Code)
}

// summarize returns what the report needs to know of a file's checkpoints.
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

// worksOn reports whether a checkpoint shows that the work went on after a failed allocation. The
// checkpoint must be of the device of a failed allocation, or of a device that had a checkpoint
// before. The first checkpoint of another device proves nothing.
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

// lastBegun returns the name of the last checkpoint before the bad end of a file, or "". A program
// that fails, or is asked to end, may clean up. Checkpoints of such a cleanup do not show where the
// program was, so lastBegun leaves them out, unless the file crashed or has no end.
func (j *Judge) lastBegun(f *timeline.File) string {
	s := &j.files[j.indexOf(f)]
	if f.Status == record.StatusCrashed || f.Status == record.StatusUnknown {
		return s.name
	}
	return s.begun
}

// indexOf returns the index of a file in the timeline.
func (j *Judge) indexOf(f *timeline.File) int { return slices.Index(j.tl.Files, f) }

// ended returns how a file ended in words: "ran out of memory".
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

// crashed adds a finding if the log, or the lines of one of its processes, end in a crash. The log
// does not show whether all work was done before the crash, so the finding is undecided and never
// fails. It leaves out crashes that other findings explain, because memory ran out or because a
// file has no end.
func (j *Judge) crashed() {
	cut := map[int]bool{} // processes with a file that did not end ok
	for _, f := range j.tl.Files {
		if j.tells[f.Batch] && f.Status != record.StatusOK {
			cut[f.Process] = true
		}
	}
	crashes := slices.DeleteFunc(slices.Clone(j.tl.Crashes), func(c timeline.CrashEnd) bool {
		return cut[c.Process] || j.starved(c.Process) != nil
	})
	if len(crashes) == 0 {
		return
	}
	first := crashes[0]
	said := fmt.Sprintf("the log ends in a crash (%s)", first.First.Text)
	if name := first.First.Writer; name != "" {
		said = fmt.Sprintf("%s crashed (%s)", name, first.First.Text)
	}
	if first.Last.Text != first.First.Text {
		said += fmt.Sprintf(", with the last words %q in line %d", first.Last.Text,
			first.Last.Line().Line)
	}
	if n := len(crashes); n > 1 {
		said += "; in all " + processes(n) + " crashed"
	}
	j.add(Finding{
		Check: Completeness, Verdict: Undecided, Subject: "end of the log", Unit: Count,
		Measured: new(float64(len(crashes))), Limit: new(0.0), At: new(first.First.Line()),
		Message: said + ": nothing after it shows that the work went on; soak the pipeline to know " +
			"how its process ends",
	})
}
