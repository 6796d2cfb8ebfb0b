package check

import (
	"fmt"

	"vramsoak/parser/record"
)

// leftBehind judges orphan processes: children that outlived the process that the harness had
// started. Their memory is not freed, and it adds up from process to process.
//
//   - An orphan that cannot be ended fails the check.
//   - An orphan of a process that exited by itself fails the check: the pipeline should end its own
//     children.
//   - Orphans of a process that crashed, or that the harness ended, are only mentioned.
func (j *Judge) leftBehind() {
	if len(j.tl.Orphans) == 0 {
		return
	}
	orderly := map[int]*record.Exit{}
	for i := range j.tl.Exits {
		if e := &j.tl.Exits[i]; e.Signal == "" && e.Reason == record.ExitByItself {
			orderly[e.Process] = e
		}
	}
	bad, running := 0, 0
	var first, stuck *record.Orphan
	for i := range j.tl.Orphans {
		o := &j.tl.Orphans[i]
		if !o.Ended {
			if running++; running == 1 {
				stuck = o
			}
		}
		if orderly[o.Process] != nil {
			if bad++; bad == 1 {
				first = o
			}
		}
	}
	f := Finding{
		Check: Completeness, Verdict: Fail, Subject: "processes left behind", Unit: Count,
		Limit:    new(0.0),
		Measured: new(float64(max(bad, running))),
	}
	switch {
	case running > 0:
		f.At = new(stuck.Pos)
		f.Message = fmt.Sprintf("%s %s not end, not even after SIGKILL, and the device lacks the "+
			"memory that it holds; see its state in /proc: the machine may need a restart",
			orphans(stuck, running), map[bool]string{true: "does", false: "do"}[running == 1])
	case bad > 0:
		f.At = new(first.Pos)
		f.Message = fmt.Sprintf("%s outlived process %d, and %s ended; let the pipeline end the "+
			"processes that it starts, or they keep their memory", orphans(first, bad),
			orderly[first.Process].PID, map[bool]string{true: "was", false: "were"}[bad == 1])
	default:
		f.Verdict = Pass
		f.Message = fmt.Sprintf("%d, of processes that crashed or were ended; they were ended too",
			len(j.tl.Orphans))
	}
	j.add(f)
}

// orphans returns so many orphan processes as messages name them. The first of them is o.
func orphans(o *record.Orphan, many int) string {
	name := fmt.Sprintf("process %d (%s; %s resident)", o.PID, o.Command, record.FormatBytes(o.RSS))
	if many > 1 {
		name += fmt.Sprintf(" and %d more", many-1)
	}
	return name
}
