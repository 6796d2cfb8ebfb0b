package check

import (
	"fmt"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// pairsClosed judges whether every Before has its After, in the files that ended well.
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

// A pairName is the name of a Before checkpoint, and the run in which it occurs.
type pairName struct {
	run  int
	name string
}

// A lostBefore is a Before checkpoint without its After.
type lostBefore struct {
	file    *timeline.File
	name    string
	lane    record.Lane
	cleanup bool
	pos     record.Position
}

// notePairs records which pairs of Before and After the file has, which Befores have no After, and
// which checkpoints that the policy expects are missing.
func (j *Judge) notePairs(f *timeline.File) {
	if !f.Outside {
		j.closed += len(f.Stages) + len(f.Cleanups)
	}
	if !j.plan.fits(f) { // else an earlier file had the same pairs
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
		// If files are separated by the recurring checkpoints of one rank, other ranks may lag behind.
		// The Befores of such ranks do not count. Such files have no path.
		if c := &f.Checkpoints[n]; f.Supervised && f.Path != "" || c.Lane == f.Checkpoints[0].Lane {
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

// lostBefores returns the Befores that should have an After and have none. If a name has no After
// anywhere in its run, it is no pair: "Before model setup" may just be a checkpoint.
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

// expected judges whether each file that ended well has the checkpoints that the policy expects.
func (j *Judge) expected() {
	f := Finding{
		Check: Completeness, Subject: "expected checkpoints", Unit: Count, Limit: new(0.0),
		Verdict: Skipped,
		Message: "no file ended ok",
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
