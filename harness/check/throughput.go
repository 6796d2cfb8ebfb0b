package check

import (
	"fmt"
	"math"

	"vramsoak/harness/shape"
	"vramsoak/parser/timeline"
)

// throughput judges whether files take longer: either longer and longer, or longer from one file on
// to the end.
func (j *Judge) throughput() {
	d := drift{finding: Finding{
		Check: Throughput, Verdict: Skipped, Subject: Throughput,
		Message: "no file that ended ok has a duration",
	}}
	var files []int32 // indices of the files that ended well
	for i, f := range j.tl.Files {
		if j.endedWell(f) {
			files = append(files, int32(i))
		}
	}
	speed, ok := j.speed(files)
	if !ok {
		j.addDrift(&d)
		return
	}
	d.finding.Subject = speed.Name
	c := column{}
	for i, v := range speed.Values {
		if !math.IsNaN(v) {
			c.files, c.values = append(c.files, files[i]), append(c.values, v)
		}
	}
	s := series{check: Throughput, subject: speed.Name, unit: speed.Unit, falls: speed.HigherIsBetter}
	trend := j.change(&d, s, &c)
	slow, found := j.slowdown(&c, &speed, trend != nil)
	if !found {
		j.addFailed(trend)
		j.addDrift(&d)
		return
	}
	f := Finding{
		Check: Throughput, Verdict: Fail, Subject: speed.Name, Measured: new(slow.more),
		Limit: new(float64(j.policy.Drift.MaxChange)), Unit: Ratio, Message: slow.text,
	}
	if trend != nil {
		f = trend.finding
		f.Message = s.grows(&trend.result) + "; " + slow.text
	}
	f.in(slow.file) // shows better than the trend's fit where the change began
	f.At = new(slow.file.EndPos)
	j.add(f)
	for i := range j.trends {
		if t := &j.trends[i]; t.Finding.Check == Throughput {
			t.Finding = f
		}
	}
}

// A slowdown says from which file on the files take longer, up to the end of a run.
type slowdown struct {
	file *timeline.File // the first slow file
	more float64        // extra time, relative to the files before
	text string
}

// slowdown returns the largest slowdown in any run of the log, and whether there is one. The
// parameter trend says whether the times were already found to grow from file to file. If so, a
// slowdown counts even if it could be chance by itself: it only shows where the growth began. A run
// may have had several processes. Their files are judged together, because a new process does not
// change how long a file takes.
func (j *Judge) slowdown(c *column, speed *Metric, trend bool) (worst slowdown, found bool) {
	type of struct{ run, batch int }
	runs := map[of]*column{}
	var order []of
	for i, n := range c.files {
		run := of{j.tl.Files[n].Run, j.tl.Files[n].Batch}
		if runs[run] == nil {
			runs[run], order = &column{}, append(order, run)
		}
		runs[run].add(n, c.values[i], 0)
	}
	for _, run := range order {
		c := runs[run]
		skip := min(j.policy.Leak.WarmUp, len(c.files))
		s, slow := j.slowRun(c.files[skip:], c.values[skip:], speed, trend)
		if slow && (!found || s.more > worst.more) {
			worst, found = s, true
		}
	}
	return worst, found
}

// slowRun returns the slowdown in the times of one run's files, if there is one. It compares the
// logarithms of the times, because long times vary more than short ones.
func (j *Judge) slowRun(files []int32, values []float64, speed *Metric, trend bool) (
	s slowdown, slow bool,
) {
	if len(files) < j.policy.Leak.MinFiles {
		return s, false
	}
	took, logs := make([]float64, len(values)), make([]float64, len(values))
	for i, v := range values {
		took[i] = max(v, 1e-9)
		if speed.HigherIsBetter {
			took[i] = 1 / took[i]
		}
		logs[i] = math.Log(took[i])
	}
	shift, _ := shape.Shifted(logs)
	s.more = math.Exp(shift.After-shift.Before) - 1
	if !trend && !(shift.Sure && s.more > float64(j.policy.Drift.MaxChange)) {
		return s, false
	}
	first := shape.Began(took)
	s.file = j.tl.Files[files[first]]
	split := max(first, 1)
	before, after := shape.Median(took[:split]), shape.Median(took[split:])
	s.more = after/before - 1
	end := shape.Median(took[len(took)-min(shape.LeastFiles, len(took)-split):])
	at := func(took float64) string {
		if speed.HigherIsBetter {
			return Quantity(1/took, speed.Unit)
		}
		return Quantity(took, speed.Unit) + " a file"
	}
	where := "before it"
	if first == 0 {
		where = "for it"
	}
	s.text = fmt.Sprintf("files take longer from %s to the end (medians: %s %s, %s after it, "+
		"%s in the last files); %.2f times as long at the end",
		fileName(s.file), at(before), where, at(after), at(end), end/before)
	if !speed.HigherIsBetter {
		s.text += "; the log does not give the lengths of files: longer files look the same"
	}
	return s, true
}
