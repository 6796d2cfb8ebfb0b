package check

import (
	"fmt"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A place is where in a file something happened.
type place struct {
	stage string // the innermost stage or cleanup that was open, or ""
	after string // name of the last checkpoint before, or "" if there was none
}

// String returns the place for a message, behind the name of a file: ", in Transcription",
// `, last at "Model Load"`, or "" if the log does not show it.
func (p place) String() string {
	switch {
	case p.stage != "":
		return ", in " + p.stage
	case p.after != "":
		return fmt.Sprintf(", last at %q", p.after)
	}
	return ""
}

// placeBefore returns the place of a line of the log in the file f. A checkpoint on this line does
// not count, because what it shows happened before it. If the file has checkpoints of the lane
// `of`, those of other devices and ranks do not count either.
func (j *Judge) placeBefore(f *timeline.File, of record.Lane, line int) (p place) {
	ofLane := false
	for i := range f.Checkpoints {
		ofLane = ofLane || f.Checkpoints[i].Lane == of
	}
	counts := func(c *record.Checkpoint) bool {
		return !c.Sampled && (!ofLane || c.Lane == of)
	}
	last := -1
	for i := range f.Checkpoints {
		if c := &f.Checkpoints[i]; c.Pos.Line < line && counts(c) {
			last, p.after = i, c.Name
		}
	}
	begun := -1 // the checkpoint at which the innermost stage began
	open := func(name string, before int) {
		if c := &f.Checkpoints[before]; before > begun && c.Pos.Line < line && counts(c) {
			begun, p.stage = before, name
		}
	}
	for _, s := range f.Stages {
		if f.Checkpoints[s.After].Pos.Line >= line {
			open(s.Name, s.Before)
		}
	}
	for _, c := range f.Cleanups {
		if f.Checkpoints[c.After].Pos.Line >= line {
			open(c.Name, c.Before)
		}
	}
	for _, n := range f.Unpaired {
		// A stage that fails has no After. "Before model setup" may have none anywhere, and then it
		// begins a stage only if nothing followed it.
		c := &f.Checkpoints[n]
		if name, begins, _ := c.Pair(); begins && (n == last || j.paired[pairName{f.Run, c.Name}]) {
			open(name, n)
		}
	}
	return p
}
