package check

import (
	"fmt"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// These are subjects of [CleanStart] findings.
const (
	startSubject = "device before the run"
	againSubject = "device before the run went on"
	endSubject   = "device after the run"
)

// cleanStart judges whether the devices were idle when a run began, and idle again after the run's
// last process ended. It adds no finding if the harness did not read the devices, as on a machine
// without a GPU.
func (j *Judge) cleanStart() {
	var before []*record.Idle
	several := false
	for i := range j.tl.Idles {
		several = several || j.tl.Idles[i].Lane != j.tl.Idles[0].Lane
	}
	subject := func(s string, i *record.Idle) string {
		if several {
			return fmt.Sprintf("%s (GPU %d)", s, i.GPU)
		}
		return s
	}
	for n := range j.tl.Idles {
		i := &j.tl.Idles[n]
		if i.Phase == record.PhaseBefore {
			if j.refused(n) {
				continue
			}
			what := startSubject
			if slices.ContainsFunc(before, func(b *record.Idle) bool {
				return b.Run == i.Run && b.Lane == i.Lane
			}) {
				what = againSubject
			}
			before = append(before, i)
			j.add(j.startFinding(i, subject(what, i)))
			continue
		}
		// The device must return to the level that it had when the run first began, even if the run was
		// resumed since then.
		for _, b := range before {
			if b.Run == i.Run && b.Lane == i.Lane {
				j.add(j.endFinding(b, i, subject(endSubject, i)))
				break
			}
		}
	}
}

// refused reports whether the harness refused to begin after reading n of the devices. It did so if
// no file and no sample follow before the next reading, which the resumed run took.
func (j *Judge) refused(n int) bool {
	i := &j.tl.Idles[n]
	for k := range j.tl.Idles[n+1:] {
		next := &j.tl.Idles[n+1+k]
		if next.Run == i.Run && next.Lane == i.Lane && next.Phase == record.PhaseBefore {
			within := func(run, line int) bool {
				return run == i.Run && line > i.Pos.Line && line < next.Pos.Line
			}
			begun := func(f *timeline.File) bool { return within(f.Run, f.Pos.Line) }
			sampled := func(s record.Sample) bool { return within(s.Run, s.Pos.Line) }
			return !slices.ContainsFunc(j.tl.Files, begun) && !slices.ContainsFunc(j.tl.Samples, sampled)
		}
	}
	return false
}

func (j *Judge) startFinding(i *record.Idle, subject string) Finding {
	limit := j.policy.CleanStart.MaxUsed.Bytes
	used := i.Bytes(record.Used)
	f := Finding{
		Check: CleanStart, Verdict: Pass, Subject: subject, Measured: new(float64(used)),
		Limit: new(float64(limit)), Unit: Bytes,
		At: &i.Pos,
	}
	f.Message = fmt.Sprintf("%s of %s in use%s", record.FormatBytes(used),
		record.FormatBytes(i.Bytes(record.Total)),
		record.HeldBy(i.Holders))
	if used > limit {
		f.Verdict = Fail
	}
	if !i.Settled {
		if f.Verdict == Pass { // the movement fails the check, not the size, so no limit is shown
			f.Limit = nil
		}
		f.Verdict = Fail
		f.Message += "; it still changed when the run began: memory that other processes take or free " +
			"is in the run's figures"
	}
	return f
}

// endFinding returns the finding that compares the use of the device before and after the run.
// Memory of other programs is subtracted as far as the driver lists their processes.
func (j *Judge) endFinding(before, after *record.Idle, subject string) Finding {
	limit := j.policy.CleanStart.MaxLeft.Bytes
	left := j.own(after) - j.own(before)
	f := Finding{
		Check: CleanStart, Verdict: Pass, Subject: subject, Measured: new(float64(left)),
		Limit: new(float64(limit)), Unit: Bytes,
		At: &after.Pos,
	}
	what := "back at its idle level"
	if left > limit {
		f.Verdict = Fail
		what = "not back at its idle level"
	}
	f.Message = fmt.Sprintf("%s: %s in use, and %s before the run%s", what,
		record.FormatBytes(after.Bytes(record.Used)),
		record.FormatBytes(before.Bytes(record.Used)), record.HeldBy(after.Holders))
	if f.Verdict == Fail && !after.Settled {
		f.Verdict = Undecided
		f.Message += "; it still changed when the harness stopped waiting: a longer --settle-limit " +
			"would decide it"
	}
	return f
}

// own returns the device memory in use, in bytes, without the memory of other programs. The memory
// of a process that the run started and could not end counts as the run's own.
func (j *Judge) own(i *record.Idle) int64 {
	used := i.Bytes(record.Used)
	for k := range i.Holders {
		if h := &i.Holders[k]; !h.Ours && !j.stuck(i.Run, h.PID) {
			used -= h.Bytes(record.Used)
		}
	}
	return max(0, used)
}

// stuck reports whether the process with this PID is an orphan process that the run could not end.
func (j *Judge) stuck(run, pid int) bool {
	return slices.ContainsFunc(j.tl.Orphans, func(o record.Orphan) bool {
		return o.Run == run && o.PID == pid && !o.Ended
	})
}
