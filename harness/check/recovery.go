package check

import (
	"fmt"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A Recovered says how much memory one cleanup, or one stage with cleanups, freed in one file.
type Recovered struct {
	Name  string // "Whisper Cleanup", or for a stage "Transcription"
	Lane  record.Lane
	Stage bool // true for a stage
	File  *timeline.File
	// Before and After are the indices in File.Checkpoints of the two checkpoints between which the
	// level falls. For a stage, Before is the checkpoint with the highest level in the stage.
	Before, After int

	// Verdict is Skipped if the log does not show how much was held; Reason then says why. Freed is
	// valid even then, but Share, Low, High, Held and Nothing must not be shown.
	Verdict Verdict
	Reason  string

	// Share is the ratio of Freed to Held, computed from the printed values. It is above 1 if the
	// cleanup also freed memory that was allocated before the stage or the process began.
	Share float64
	// Low and High are the least and the greatest Share that the printed digits allow. They are not
	// set if Nothing is set.
	Low, High float64
	// OfAll is the ratio of Freed to all that was allocated before: (before - after) / before. Many
	// people compute a recovery this way. It is 0 if nothing was allocated.
	OfAll float64
	Freed int64 // bytes; negative if memory grew; 0 without readings
	Held  record.Size
	// Nothing is set if there was nothing to free, because what was held is at most the policy's
	// floor, or at most the resolution of the digits. The recovery then passes with a Share of 1.
	Nothing bool

	// left is how many bytes an earlier failed cleanup left, which Held does not count.
	left  int64
	sum   *recoverySum
	n     int32 // the file's index in Timeline.Files
	first int   // index of the first checkpoint of the cleanup or stage
	level record.Quantity
}

// recoveriesOf judges each cleanup of a file, and each stage with cleanups: the ratio of the memory
// that it freed to the memory that it held must reach the policy's minimum. The result has the
// order of the After checkpoints and is valid until the next file.
//
// The freed memory is the fall of the level over the cleanup. The held memory is given by the first
// of these rules that applies:
//
//   - The pipeline prints it (holds=).
//   - The last cleanup of a stage held everything above the level at the stage's start.
//   - What an earlier cleanup inside a stage held is unknown, because other objects of the stage
//     live on. The cleanup is shown, and the stage is judged.
//   - A cleanup outside stages held everything above the level that the file's last complete
//     recovery left.
//   - If no recovery came before, such a cleanup held everything above the level at which the
//     process began. If the log begins with the cleanup itself, or the level has not risen since
//     the process began, the cleanup held all memory.
//   - Memory that an earlier failed cleanup or stage of the file left is not counted: see
//     setsAside.
//
// A cleanup outside stages may leave memory that the next cleanups free: the first deletes the
// waveform, the next the model. Then the first is only shown, and the next ones are judged.
//
// A stage is judged by the same rules from its highest level on. A stage without a cleanup hands
// its memory on to the next stage and is not judged.
func (j *Judge) recoveriesOf(f *timeline.File, n int32) []Recovered {
	if len(f.Cleanups)+len(f.Stages) == 0 {
		return nil
	}
	p := j.planFor(f)
	p.stagePeaks(f)
	if !f.Outside {
		p.noteStagePeaks(f, n)
	}
	for i := range p.lanes {
		lp := &p.lanes[i]
		for _, s := range lp.stages {
			r := &p.results[p.stageSlots[s]]
			j.stage(r, lp.lane, f, s, p.peaks[s])
			p.passed[s] = r.Verdict == Pass && !r.Nothing
		}
		j.outerCleanups(p, lp, f)
		for _, c := range lp.cleanups {
			if cleanup := &f.Cleanups[c]; cleanup.Stage >= 0 {
				j.innerCleanup(&p.results[p.cleanupSlots[c]], lp.lane, f, cleanup)
			}
		}
	}
	for i := range p.results {
		p.results[i].n = n
	}
	return p.results
}

// innerCleanup sets r to the judgement of a cleanup inside a stage.
func (j *Judge) innerCleanup(r *Recovered, l *lane, f *timeline.File, c *timeline.Cleanup) {
	start, hasStart := l.get(&f.Checkpoints[f.Stages[c.Stage].Before])
	j.ratio(r, l, f, c.Before, c.Before, c.After, start)
	r.Name = c.Name
	switch {
	case f.Checkpoints[c.Before].Has(record.Holds) || r.Verdict == Skipped:
	case !c.Last:
		r.Verdict = Skipped
		r.Reason = "other objects of the stage live on; " +
			"print holds=BYTES at its Before to let it be judged"
	case !hasStart:
		r.Verdict, r.Reason = Skipped, "the stage's Before has no such reading"
	}
}

// stage sets r to the judgement of stage s of a file. The parameter peak is the index of the
// checkpoint with the stage's highest level.
func (j *Judge) stage(r *Recovered, l *lane, f *timeline.File, s, peak int) {
	stage := &f.Stages[s]
	start, hasStart := l.get(&f.Checkpoints[stage.Before])
	j.ratio(r, l, f, stage.Before, peak, stage.After, start)
	r.Name, r.Stage = stage.Name, true
	if !hasStart && r.Verdict != Skipped {
		r.Verdict, r.Reason = Skipped, "its Before has no such reading"
	}
}

// ratio sets r to the ratio of freed to held memory, and its verdict. The parameters first, high
// and low are indices of checkpoints. Freed is the fall of the level from high to low. Held is the
// level at high minus start or, if the checkpoint first prints holds=, that value.
func (j *Judge) ratio(
	r *Recovered, l *lane, f *timeline.File,
	first, high, low int, start record.Size,
) {
	*r = Recovered{
		Lane: l.id, File: f, Before: high, After: low, sum: r.sum, first: first, level: l.level,
	}
	top, hasTop := l.get(&f.Checkpoints[high])
	bottom, hasBottom := l.get(&f.Checkpoints[low])
	if !hasTop || !hasBottom {
		r.Verdict, r.Reason = Skipped, fmt.Sprintf("its checkpoints do not both have %s", l.level)
		return
	}
	r.Freed = top.Bytes - bottom.Bytes
	r.OfAll = ratioOf(r.Freed, top.Bytes)
	holds, said := f.Checkpoints[first].Get(record.Holds)
	if said {
		r.Held = holds
	} else {
		r.Held = record.Size{Bytes: top.Bytes - start.Bytes, Resolution: top.Resolution +
			start.Resolution}
	}
	floor := j.policy.Recovery.Floor.Bytes
	if r.Held.Bytes <= max(floor, r.Held.Resolution) {
		r.Verdict, r.Nothing, r.Share = Pass, true, 1
		if bottom.Low()-top.High() > floor { // the cleanup allocated memory
			r.Verdict, r.Nothing, r.Share = Fail, false, 0
		}
		return
	}
	r.Share = float64(r.Freed) / float64(r.Held.Bytes)
	if said {
		freed := record.Size{Bytes: r.Freed, Resolution: top.Resolution + bottom.Resolution}
		r.Low = float64(freed.Bytes-freed.Resolution) / float64(holds.High())
		r.High = float64(freed.Bytes+freed.Resolution) / float64(max(1, holds.Low()))
	} else {
		r.Low, r.High = shareBounds(top, bottom, start)
	}
	minimum := float64(j.policy.Recovery.Min)
	switch {
	case r.Low >= minimum:
		r.Verdict = Pass
	case r.High < minimum:
		r.Verdict = Fail
	default:
		r.Verdict = Undecided
	}
}

// shareBounds returns the least and the greatest value of (top - bottom) / (top - start) for all
// values that the printed digits of the three sizes allow. If top is above start, the ratio falls
// when bottom rises, rises when start rises, and either rises or falls throughout with top. So its
// extremes are at the ends of the ranges.
func shareBounds(top, bottom, start record.Size) (low, high float64) {
	share := func(t, b, s int64) float64 { return float64(t-b) / float64(max(1, t-s)) }
	low = min(share(top.Low(), bottom.High(), start.Low()), share(top.High(), bottom.High(),
		start.Low()))
	high = max(share(top.Low(), bottom.Low(), start.High()), share(top.High(), bottom.Low(),
		start.High()))
	return low, high
}

// outerCleanups judges the cleanups on a device that are in no stage.
func (j *Judge) outerCleanups(p *plan, lp *lanePlan, f *timeline.File) {
	l := lp.lane
	birth, _ := l.get(&record.Checkpoint{Reading: l.atBirth})
	left, closed := birth, false // closed is set if left is the level after a recovery
	var kept keptLevel
	stages := lp.stages
	j.finishers(lp, f)
	for i, n := range lp.cleanups {
		c := &f.Cleanups[n]
		for ; len(stages) > 0 && f.Stages[stages[0]].After < c.Before; stages = stages[1:] {
			after := f.Stages[stages[0]].After
			if p.passed[stages[0]] {
				left, _ = l.get(&f.Checkpoints[after])
				closed = true
			}
			if p.results[p.stageSlots[stages[0]]].Verdict == Fail {
				kept.failed(l, f, after)
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
		earlier := int64(0) // left by failed cleanups
		if level := kept.before(l, f, c.Before); j.setsAside(l, f, c, level, start) {
			earlier, start = level.Bytes-start.Bytes, level
		}
		j.ratio(r, l, f, c.Before, c.Before, c.After, start)
		r.Name, r.left = c.Name, earlier
		if f.Checkpoints[c.Before].Has(record.Holds) {
			r.left = 0
			if r.Verdict == Fail {
				kept.failed(l, f, c.After)
			}
			continue
		}
		if r.Verdict != Pass && lp.finishers[i] > i {
			last := &f.Cleanups[lp.cleanups[lp.finishers[i]]]
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
		if r.Verdict == Fail {
			kept.failed(l, f, c.After)
		}
	}
}

// setsAside reports whether a cleanup is judged without the memory that earlier failed cleanups of
// the file left, which ends at the level kept. If nothing was allocated since, the cleanup is there
// to free that memory too.
func (j *Judge) setsAside(l *lane, f *timeline.File, c *timeline.Cleanup, kept, start record.Size,
) bool {
	top, ok := l.get(&f.Checkpoints[c.Before])
	floor := max(j.policy.Recovery.Floor.Bytes, top.Resolution+kept.Resolution)
	return ok && kept.Bytes > start.Bytes && top.Bytes-kept.Bytes > floor
}

// grown reports whether the memory that the cleanup frees was allocated after the process's first
// checkpoint: the level rose above the level at that checkpoint, and does not fall below it. If a
// model was loaded before the first checkpoint, grown is false, and all memory counts as held.
func (j *Judge) grown(l *lane, f *timeline.File, c *timeline.Cleanup, birth record.Size) bool {
	top, _ := l.get(&f.Checkpoints[c.Before])
	bottom, _ := l.get(&f.Checkpoints[c.After])
	return top.Bytes-birth.Bytes > max(j.policy.Recovery.Floor.Bytes,
		top.Resolution+birth.Resolution) &&
		bottom.High()+j.policy.Recovery.Floor.Bytes >= birth.Low()
}

// finishers sets lp.finishers: for each cleanup on a device outside of stages, the cleanup that
// completes it. That is the cleanup itself or, if nothing is allocated in between, the later one
// that leaves the least.
func (j *Judge) finishers(lp *lanePlan, f *timeline.File) {
	l, of := lp.lane, lp.finishers
	for i := len(of) - 1; i >= 0; i-- {
		of[i] = i
		if i+1 == len(of) {
			continue
		}
		c, next := &f.Cleanups[lp.cleanups[i]], &f.Cleanups[lp.cleanups[i+1]]
		if c.Stage >= 0 || next.Stage >= 0 {
			continue
		}
		after, ok := l.get(&f.Checkpoints[c.After])
		before, okNext := l.get(&f.Checkpoints[next.Before])
		if !ok || !okNext || before.Low()-after.High() > j.policy.Recovery.Floor.Bytes {
			continue
		}
		least, _ := l.get(&f.Checkpoints[f.Cleanups[lp.cleanups[of[i+1]]].After])
		if least.Bytes < after.Bytes {
			of[i] = of[i+1]
		}
	}
}
