package check

import (
	"fmt"
	"slices"
	"strings"

	"vramsoak/parser"
)

// completeness demands that every file that was fed ended ok, that every Before has its After, and that the checkpoints
// that the policy expects are there.
func (j *judge) completeness() {
	j.filesEnded()
	j.pairsClosed()
	if len(j.policy.Expect.Checkpoints) > 0 {
		j.expected()
	}
}

func (j *judge) filesEnded() {
	f := Finding{Check: Completeness, Subject: "files", Unit: Count, Limit: new(0.0)}
	if !slices.ContainsFunc(j.tl.Files, func(f parser.File) bool { return f.Status != parser.StatusUnknown }) && !j.tl.Supervised {
		f.Verdict, f.Unit, f.Limit = Skipped, "", nil
		f.Message = "the log does not say how files ended; soak the pipeline, or print [pipeline] file-start and file-end"
		j.add(f)
		return
	}
	// A file may be worked on again after a restart: its last end counts.
	last := map[int]*parser.File{}
	for i := range j.tl.Files {
		last[j.tl.Files[i].Index] = &j.tl.Files[i]
	}
	var bad []*parser.File
	for _, file := range last {
		if file.Status != parser.StatusOK {
			bad = append(bad, file)
		}
	}
	slices.SortFunc(bad, func(a, b *parser.File) int { return a.Index - b.Index })
	fed, cut := len(last), ""
	for _, run := range j.tl.Runs {
		fed = max(fed, run.Start.Files)
	}
	if n := len(j.tl.Runs); n > 0 {
		switch end := j.tl.Runs[n-1].End; {
		case end == nil:
			cut = "the run was cut short"
		case end.Reason != "done":
			cut = "the run was " + end.Reason
		}
	}
	missing := fed - len(last)
	f.Measured = new(float64(len(bad) + missing))
	var said []string
	for i, file := range bad {
		if i == 5 {
			said = append(said, fmt.Sprintf("and %d more", len(bad)-i))
			break
		}
		text := fmt.Sprintf("%s %s", fileName(file), ended(file.Status))
		if n := len(file.Checkpoints); n > 0 && file.Status != parser.StatusOOM {
			text += fmt.Sprintf(", last at %q", file.Checkpoints[n-1].Name)
		}
		if file.Error != "" {
			text += " (" + file.Error + ")"
		}
		said = append(said, text)
	}
	if missing > 0 {
		said = append(said, fmt.Sprintf("%s never begun", plural(missing, "file")))
	}
	if cut != "" {
		said = append(said, cut)
	}
	if len(said) == 0 {
		f.Verdict = Pass
		f.Message = fmt.Sprintf("all %d files ended ok", fed)
		if fed == 1 {
			f.Message = "the file ended ok"
		}
		j.add(f)
		return
	}
	f.Verdict = Fail
	if len(bad) > 0 {
		f.File, f.At = bad[0].Index, new(bad[0].EndPos)
	}
	f.Message = fmt.Sprintf("%s; %d of %d files ended ok", strings.Join(said, ", "), len(last)-len(bad), fed)
	j.add(f)
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

// pairsClosed looks for a Before without its After in files that did not end badly. A name that has no After anywhere
// opens no pair: "Before model setup" may just be a checkpoint.
func (j *judge) pairsClosed() {
	f := Finding{Check: Completeness, Subject: "checkpoint pairs", Unit: Count, Limit: new(0.0)}
	pairs := map[string]bool{}
	closed := 0
	for i := range j.tl.Files {
		file := &j.tl.Files[i]
		for _, s := range file.Stages {
			pairs[file.Checkpoints[s.Before].Name] = true
		}
		for _, c := range file.Cleanups {
			pairs[file.Checkpoints[c.Before].Name] = true
		}
		closed += len(file.Stages) + len(file.Cleanups)
	}
	open := 0
	for i := range j.tl.Files {
		file := &j.tl.Files[i]
		if !j.sound(file) {
			continue
		}
		for _, n := range file.Unpaired {
			c := &file.Checkpoints[n]
			if !pairs[c.Name] && !c.OfCleanup() {
				continue
			}
			open++
			if open == 1 {
				f.File, f.At = file.Index, new(c.Pos)
				f.Message = fmt.Sprintf("%q in %s has no After", c.Name, fileName(file))
			}
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
		f.Message = fmt.Sprintf("%s closed", plural(closed, "pair"))
	}
	j.add(f)
}

// expected demands the policy's checkpoints of every file that did not end badly.
func (j *judge) expected() {
	f := Finding{
		Check: Completeness, Subject: "expected checkpoints", Unit: Count, Limit: new(0.0), Verdict: Skipped,
		Message: "no file ended well",
	}
	files, missing := 0, 0
	for i := range j.tl.Files {
		file := &j.tl.Files[i]
		if !j.sound(file) {
			continue
		}
		files++
		for _, name := range j.policy.Expect.Checkpoints {
			if slices.ContainsFunc(file.Checkpoints, func(c parser.Checkpoint) bool { return c.Name == name }) {
				continue
			}
			missing++
			if missing == 1 {
				f.File, f.At = file.Index, new(file.EndPos)
				f.Message = fmt.Sprintf("%s lacks %q, which the policy expects", fileName(file), name)
			}
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
