package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"vramsoak/harness/shape"
	"vramsoak/parser/record"
)

// drift judges how much the peaks of stages and the recoveries on a device change over the run.
func (j *Judge) drift(l *lane) {
	d := drift{finding: Finding{
		Check: Drift, Verdict: Skipped, Subject: j.subject("stages and recoveries", l.id),
	}}
	floor := j.policy.Recovery.Floor.Bytes
	d.finding.Message = fmt.Sprintf("no file that ended ok has a stage that takes more than %s, "+
		"or a cleanup that had anything to free", record.FormatBytes(floor))
	for _, p := range l.stagePeaks {
		if len(p.took.values) == 0 || shape.Median(p.took.values) <= float64(floor) {
			continue // changes of so small an amount are noise
		}
		j.addFailed(j.change(&d, series{
			check: Drift, subject: j.subject("memory of "+p.name, l.id), unit: Bytes, stage: p.name,
		}, &p.took))
	}
	for _, s := range l.sums {
		j.addFailed(j.change(&d, series{
			check: Drift, subject: j.subject(RecoveryOf+s.name, l.id), unit: Ratio, falls: true,
			stage: s.name,
		}, &s.shares))
	}
	j.addDrift(&d)
}

func (j *Judge) addFailed(w *worstProcess) {
	if w != nil {
		j.add(w.finding)
	}
}

// A drift collects the series of a device that do not fail. They get one finding together.
type drift struct {
	finding Finding
	series  int // number of series that do not fail
	failed  bool
	unsure  []string // subjects of undecided series
	once    string   // message part on files that are slower from one file on
	nothing []string // subjects of series that are too small to judge a change
	longest int      // number of files in the longest of the series that are too short
}

// change judges how much the values of a column change over a run, relative to their median. It
// returns the worst process if it fails; the caller gives it a finding of its own. If none fails,
// change adds the column to d and returns nil.
func (j *Judge) change(d *drift, s series, c *column) *worstProcess {
	all := j.processes(c)
	if len(all) == 0 {
		return nil
	}
	longest := slices.MaxFunc(all, func(a, b processValues) int { return len(a.files) - len(b.files) })
	most, level := float64(j.policy.Drift.MaxChange), math.Abs(shape.Median(longest.values))
	s.limit = most * level / float64(longest.span())
	enough := len(longest.files)-j.policy.Leak.WarmUp >= j.policy.Leak.MinFiles
	if enough && (level == 0 || s.unit == Ratio && level < most) { // noise looks like a change
		d.nothing = append(d.nothing, s.subject)
		return nil
	}
	w := j.worst(&s, all)
	if w.of == nil {
		if w.longest >= d.longest {
			d.longest, d.finding.Message = w.longest, w.finding.Message
		}
		return nil
	}
	switch w.finding.Verdict {
	case Fail:
		d.failed = true
		w.finding.Stage = s.stage
		return &w
	case Undecided:
		d.unsure = append(d.unsure, s.subject)
		d.series++
	default:
		d.series++
		// Files that take longer from one file on, but not longer and longer, do not grow. The message
		// mentions them all the same, because the allocator may be under pressure.
		if r := &w.result; s.check == Throughput && r.Shape != shape.Sawtooth && r.Size > most*level {
			d.once = j.besides(&s, w.of, r)
		}
	}
	return nil
}

// addDrift adds the one finding on all series of d, which do not fail.
func (j *Judge) addDrift(d *drift) {
	f := &d.finding
	change := percent(float64(j.policy.Drift.MaxChange))
	switch {
	case d.series == 0 && d.failed:
		return // the series that fails has its own finding
	case d.series == 0 && d.longest == 0 && len(d.nothing) > 0:
		f.Message = "too small in most files to judge a change: " +
			strings.Join(d.nothing, ", ")
	case d.series == 0:
	case len(d.unsure) == 0:
		f.Verdict = Pass
		f.Message = fmt.Sprintf("of %d series, none got worse by more than %s over the run",
			d.series, change)
		f.Message += d.once
	default:
		f.Verdict = Undecided
		f.Message = fmt.Sprintf("noise or printed digits may hide a change of %s over the "+
			"run: %s", change, strings.Join(d.unsure, ", "))
	}
	j.add(*f)
}
