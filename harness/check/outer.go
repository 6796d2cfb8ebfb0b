package check

import (
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// outerCleanups judges a lane's cleanups that no stage encloses.
func (j *Judge) outerCleanups(p *plan, lane *lanePlan, f *timeline.File) {
	l := lane.ledger
	birth, _ := l.get(&record.Checkpoint{Reading: l.birth})
	left, closed := birth, false // closed: left is what a recovery left
	stages := lane.stages
	j.finishers(lane, f)
	for i, n := range lane.cleanups {
		c := &f.Cleanups[n]
		for ; len(stages) > 0 && f.Stages[stages[0]].After < c.Before; stages = stages[1:] {
			if p.passed[stages[0]] {
				left, _ = l.get(&f.Checkpoints[f.Stages[stages[0]].After])
				closed = true
			}
		}
		if c.Stage >= 0 {
			continue
		}
		start := left
		if !closed && !j.grown(l, f, c, birth) {
			start = record.Size{}
		}
		r := &p.results[p.cleanupSlots[n]]
		j.ratio(r, l, f, c.Before, c.Before, c.After, start)
		r.Name = c.Name
		if f.Checkpoints[c.Before].Has(record.Holds) {
			continue
		}
		if r.Verdict != Pass && lane.finishers[i] > i {
			last := &f.Cleanups[lane.cleanups[lane.finishers[i]]]
			whole := Recovered{}
			if j.ratio(&whole, l, f, c.Before, c.Before, last.After, start); whole.Verdict != Fail {
				r.Verdict = Skipped
				r.Reason = "other objects lived on until " + last.Name
			}
		}
		if r.Verdict == Pass {
			left, _ = l.get(&f.Checkpoints[c.After])
			closed = true
		}
	}
}

// grown says that what the cleanup frees came after the process was born: the level rose above its first one, and does not
// fall below it. A model that was loaded before the first checkpoint is the cleanup's to free.
func (j *Judge) grown(l *ledger, f *timeline.File, c *timeline.Cleanup, birth record.Size) bool {
	top, _ := l.get(&f.Checkpoints[c.Before])
	bottom, _ := l.get(&f.Checkpoints[c.After])
	return top.Bytes-birth.Bytes > max(j.policy.Recovery.Floor.Bytes, top.Resolution+birth.Resolution) &&
		bottom.High()+j.policy.Recovery.Floor.Bytes >= birth.Low()
}

// finishers finds, for each of a lane's cleanups outside of stages, the later one, or itself, that leaves the least of those
// that follow it without anything being allocated in between.
func (j *Judge) finishers(lane *lanePlan, f *timeline.File) {
	l, of := lane.ledger, lane.finishers
	for i := len(of) - 1; i >= 0; i-- {
		of[i] = i
		if i+1 == len(of) {
			continue
		}
		c, next := &f.Cleanups[lane.cleanups[i]], &f.Cleanups[lane.cleanups[i+1]]
		if c.Stage >= 0 || next.Stage >= 0 {
			continue
		}
		after, ok := l.get(&f.Checkpoints[c.After])
		before, okNext := l.get(&f.Checkpoints[next.Before])
		if !ok || !okNext || before.Low()-after.High() > j.policy.Recovery.Floor.Bytes {
			continue
		}
		least, _ := l.get(&f.Checkpoints[f.Cleanups[lane.cleanups[of[i+1]]].After])
		if least.Bytes < after.Bytes {
			of[i] = of[i+1]
		}
	}
}
