package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// notes returns facts that a reader of the report needs and that no finding states.
func (j *Judge) notes() []string {
	var notes []string
	for _, l := range j.lanes {
		if note := j.darkNote(l); note != "" {
			notes = append(notes, note)
		}
	}
	notes = append(append(notes, otherNotes(j.tl)...), j.attemptNotes()...)
	suggested := ""
	if j.tl.Failures == 0 { // otherwise it is in the advice
		suggested = j.suggested()
	}
	for _, note := range []string{j.printedNote(), suggested, j.earlyNote()} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	switch n := j.tl.Quoted; n {
	case 0:
	case 1:
		notes = append(notes, fmt.Sprintf("1 line in the harness's name was printed by the pipeline and "+
			"ignored: %s", j.tl.FirstQuoted))
	default:
		notes = append(notes, fmt.Sprintf("%d lines in the harness's name were printed by the "+
			"pipeline and ignored, first %s", n, j.tl.FirstQuoted))
	}
	return notes
}

// otherNotes returns notes on the memory that other processes held on the devices of the run.
// Such memory is never counted as the pipeline's.
func otherNotes(tl *timeline.Timeline) []string {
	type key struct{ run, device int }
	type others struct {
		low, high int64
		at        *record.Sample // the sample with the highest value
	}
	all := map[key]*others{}
	for i := range tl.Samples {
		s := &tl.Samples[i]
		if s.Source != record.SourceProcess || s.DeviceUsed == 0 { // older logs have no DeviceUsed
			continue
		}
		o := all[key{s.Run, s.Lane.Device}]
		if o == nil {
			o = &others{low: s.Others}
			all[key{s.Run, s.Lane.Device}] = o
		}
		o.low = min(o.low, s.Others)
		if s.Others > o.high {
			o.high, o.at = s.Others, s
		}
	}
	var notes []string
	keys := slices.SortedFunc(maps.Keys(all),
		func(a, b key) int { return cmp.Or(a.run-b.run, a.device-b.device) })
	for _, k := range keys {
		o := all[k]
		switch o.high {
		case 0:
		case o.low:
			notes = append(notes, fmt.Sprintf("other processes held %s of device %d all the while; it is "+
				"not counted as the pipeline's",
				record.FormatBytes(o.high), k.device))
		default:
			notes = append(notes, fmt.Sprintf("other processes' use of device %d changed while the run "+
				"went on: %s to %s, the most at %s (%s); it is not counted as the "+
				"pipeline's", k.device, record.FormatBytes(o.low),
				record.FormatBytes(o.high),
				o.at.FormatTime(), o.at.Pos))
		}
	}
	return notes
}

// memoryChecks lists the checks that need readings of memory.
var memoryChecks = []string{Recovery, Leak, Fragmentation, DarkGrowth, Peak}

// noReadings adds a finding if the log has no memory reading, and returns the gating checks that
// need one. The files and the failed allocations of such a log are judged as usual, but the log
// does not pass if a memory check gates, unless the driver's samples show whether the device used
// grows.
func (j *Judge) noReadings() []string {
	if j.tl.Checkpoints > 0 {
		return nil
	}
	var gating []string
	for _, check := range memoryChecks {
		if check == Peak && j.deciding.by != nil {
			continue // judged by a sample or an out-of-memory message
		}
		if slices.Contains(j.policy.Gate, check) {
			gating = append(gating, check)
		}
	}
	f := Finding{Check: Recovery, Verdict: Undecided, Subject: "memory readings", noData: true}
	what := memoryChecks
	if len(gating) > 0 {
		f.Check, what = gating[0], gating
	}
	if len(gating) == 0 || slices.ContainsFunc(j.findings, j.decidesAlone) {
		f.Verdict = Skipped // the finding would not change the verdict
	}
	f.Message = fmt.Sprintf("the log has no memory reading: %s are not judged; "+
		"print checkpoints before and after what is freed, see docs/reference/log-lines.md",
		strings.Join(what, ", "))
	j.add(f)
	return gating
}

// decidesAlone reports whether a finding decides the verdict by itself: it fails, or is of the
// device used, its check gates, and no waiver names it.
func (j *Judge) decidesAlone(f Finding) bool {
	named := func(w WaivePolicy) bool { return w.names(&f) }
	return (f.Verdict == Fail || f.Check == DeviceGrowth && f.Verdict != Skipped) &&
		slices.Contains(j.policy.Gate, f.Check) && !slices.ContainsFunc(j.policy.Waive, named)
}
