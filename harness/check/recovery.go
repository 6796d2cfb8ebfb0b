package check

import (
	"fmt"
	"slices"

	"vramsoak/parser"
)

// recovery judges each cleanup and each stage that has cleanups: freed / held must reach the policy's share.
//
// What a cleanup holds is, in this order:
//
//   - what the pipeline says (holds=);
//   - for the last cleanup of a stage, everything above the level at the stage's start;
//   - for another cleanup inside a stage nothing is known, because other objects live on: it is shown, the stage is
//     judged;
//   - outside stages, everything above the level that the file's last complete recovery left; for the first, everything
//     above the level at which its process began, or all of it where the log begins with the cleanup itself. Where such a cleanup leaves memory that the next one frees (a waveform goes, then the model), other objects lived
//     on, and it is shown only.
//
// A stage is judged the same way from its peak. A stage without a cleanup hands its memory on and is not judged.
func (j *judge) recovery(lane parser.Lane) {
	results := &tally{}
	births := j.births(lane)
	for i := range j.tl.Files {
		f := &j.tl.Files[i]
		j.outerCleanups(results, f, lane, births[f.Process])
		for _, c := range f.Cleanups {
			if c.Stage >= 0 && f.Checkpoints[c.Before].Lane == lane {
				results.add(c.Name, j.innerCleanup(f, c))
			}
		}
		for s := range f.Stages {
			if f.Checkpoints[f.Stages[s].Before].Lane == lane && hasCleanup(f, s) {
				results.add(f.Stages[s].Name, j.stage(f, f.Stages[s]))
			}
		}
	}
	// In the order of the log: a stage comes after its cleanups.
	slices.SortStableFunc(results.names, func(a, b string) int {
		return results.of[a][0].at.Line - results.of[b][0].at.Line
	})
	for _, name := range results.names {
		j.add(j.recoveryFinding(j.subject(name, lane), results.of[name]))
	}
	if len(results.names) == 0 {
		j.add(Finding{
			Check: Recovery, Verdict: Skipped, Subject: j.subject("cleanups", lane),
			Message: `no cleanup was logged; print a checkpoint "Before X Cleanup" and one "After X Cleanup"`,
		})
	}
}

// A recovered is one cleanup or stage in one file.
type recovered struct {
	verdict    Verdict
	file       *parser.File
	at         parser.Position
	share      float64 // freed / held, by the printed values
	low, high  float64 // what the printed digits allow
	freed      int64
	held       parser.Size
	nothing    bool   // held is under the floor
	skipReason string // why it is not judged
}

// tally groups the recoveries by name, in the order of their first appearance.
type tally struct {
	names []string
	of    map[string][]recovered
}

func (t *tally) add(name string, r recovered) {
	if t.of == nil {
		t.of = map[string][]recovered{}
	}
	if _, known := t.of[name]; !known {
		t.names = append(t.names, name)
	}
	t.of[name] = append(t.of[name], r)
}

func hasCleanup(f *parser.File, stage int) bool {
	for _, c := range f.Cleanups {
		if c.Stage == stage {
			return true
		}
	}
	return false
}

// births are the levels at which the processes began: at the first checkpoint of each, unless that is a cleanup's.
func (j *judge) births(lane parser.Lane) map[int]parser.Size {
	births := map[int]parser.Size{}
	for i := range j.tl.Outside {
		if c := &j.tl.Outside[i]; c.Lane == lane && len(j.tl.Files) > 0 && c.Pos.Line < j.tl.Files[0].Pos.Line {
			births[j.tl.Files[0].Process], _ = level(c)
			break
		}
	}
	for i := range j.tl.Files {
		f := &j.tl.Files[i]
		if _, known := births[f.Process]; known {
			continue
		}
		first := slices.IndexFunc(f.Checkpoints, func(c parser.Checkpoint) bool { return c.Lane == lane })
		if first < 0 {
			continue
		}
		births[f.Process] = parser.Exact(0)
		if !f.Checkpoints[first].OfCleanup() {
			births[f.Process], _ = level(&f.Checkpoints[first])
		}
	}
	return births
}

// outerCleanups judges the cleanups of a file that no stage encloses. left is the level at which its process began.
func (j *judge) outerCleanups(results *tally, f *parser.File, lane parser.Lane, left parser.Size) {
	stage := 0
	for i, c := range f.Cleanups {
		if f.Checkpoints[c.Before].Lane != lane {
			continue
		}
		for ; stage < len(f.Stages) && f.Stages[stage].After < c.Before; stage++ {
			s := f.Stages[stage]
			if f.Checkpoints[s.Before].Lane == lane && hasCleanup(f, stage) {
				left, _ = level(&f.Checkpoints[s.After])
			}
		}
		if c.Stage >= 0 {
			continue
		}
		r := j.ratio(f, c.Before, c.Before, c.After, left)
		if r.verdict != Pass && i+1 < len(f.Cleanups) && f.Cleanups[i+1].Before == c.After+1 && f.Cleanups[i+1].Stage < 0 {
			if whole := j.ratio(f, c.Before, c.Before, f.Cleanups[i+1].After, left); whole.verdict == Pass {
				r.verdict = Skipped
				r.skipReason = fmt.Sprintf("other objects lived on until %s", f.Cleanups[i+1].Name)
			}
		}
		if r.verdict == Pass {
			left, _ = level(&f.Checkpoints[c.After])
		}
		results.add(c.Name, r)
	}
}

// innerCleanup judges a cleanup inside a stage.
func (j *judge) innerCleanup(f *parser.File, c parser.Cleanup) recovered {
	if _, said := f.Checkpoints[c.Before].Get(parser.Holds); !said && !c.Last {
		r := j.ratio(f, c.Before, c.Before, c.After, parser.Exact(0))
		r.verdict = Skipped
		r.skipReason = "other objects of the stage live on; print holds=BYTES at its Before to have it judged"
		return r
	}
	start, _ := level(&f.Checkpoints[f.Stages[c.Stage].Before])
	return j.ratio(f, c.Before, c.Before, c.After, start)
}

// stage judges a stage from the largest level within it.
func (j *judge) stage(f *parser.File, s parser.Stage) recovered {
	peak := s.Before
	var most parser.Size
	for i := s.Before; i <= s.After; i++ {
		if f.Checkpoints[i].Lane != f.Checkpoints[s.Before].Lane {
			continue
		}
		if size, ok := level(&f.Checkpoints[i]); ok && size.Bytes > most.Bytes {
			peak, most = i, size
		}
	}
	start, _ := level(&f.Checkpoints[s.Before])
	return j.ratio(f, s.Before, peak, s.After, start)
}

// ratio is freed / held where the level goes from the checkpoint high to the checkpoint low, and start is what was there
// before. A holds= at the checkpoint first is what is held, whatever start is.
func (j *judge) ratio(f *parser.File, first, high, low int, start parser.Size) recovered {
	r := recovered{file: f, at: f.Checkpoints[low].Pos}
	top, hasTop := level(&f.Checkpoints[high])
	bottom, hasBottom := level(&f.Checkpoints[low])
	if !hasTop || !hasBottom {
		r.verdict, r.skipReason = Skipped, "its checkpoints have no allocated, used or reserved reading"
		return r
	}
	r.freed = top.Bytes - bottom.Bytes
	holds, said := f.Checkpoints[first].Get(parser.Holds)
	if said {
		r.held = holds
	} else {
		r.held = parser.Size{Bytes: top.Bytes - start.Bytes, Resolution: top.Resolution + start.Resolution}
	}
	floor := max(j.policy.Recovery.Floor.Bytes, r.held.Resolution)
	if r.held.Bytes <= floor {
		r.verdict, r.nothing, r.share = Pass, true, 1
		return r
	}
	r.share = float64(r.freed) / float64(r.held.Bytes)
	if said {
		freed := parser.Size{Bytes: r.freed, Resolution: top.Resolution + bottom.Resolution}
		r.low = float64(freed.Bytes-freed.Resolution) / float64(holds.High())
		r.high = float64(freed.Bytes+freed.Resolution) / float64(holds.Low())
	} else {
		r.low, r.high = shareBounds(top, bottom, start)
	}
	minimum := float64(j.policy.Recovery.Min)
	switch {
	case r.low >= minimum:
		r.verdict = Pass
	case r.high < minimum:
		r.verdict = Fail
	default:
		r.verdict = Undecided
	}
	return r
}

// shareBounds are the least and the greatest (top - bottom) / (top - start) over the intervals of the three. For top >
// start it falls with bottom, grows with start, and is monotonic in top, so the extremes lie in corners.
func shareBounds(top, bottom, start parser.Size) (low, high float64) {
	share := func(t, b, s int64) float64 { return float64(t-b) / float64(max(1, t-s)) }
	low = min(share(top.Low(), bottom.High(), start.Low()), share(top.High(), bottom.High(), start.Low()))
	high = max(share(top.Low(), bottom.Low(), start.High()), share(top.High(), bottom.Low(), start.High()))
	return low, high
}

// recoveryFinding sums up one cleanup or stage over the files.
func (j *judge) recoveryFinding(subject string, all []recovered) Finding {
	count := map[Verdict]int{}
	decided := map[Verdict]*recovered{} // the first that fails; else the one with the least share
	for i := range all {
		r := &all[i]
		count[r.verdict]++
		if d := decided[r.verdict]; d == nil || r.verdict != Fail && !r.nothing && (d.nothing || r.share < d.share) {
			decided[r.verdict] = r
		}
	}
	f := Finding{Check: Recovery, Subject: subject, Unit: Ratio, Limit: value(float64(j.policy.Recovery.Min))}
	for _, v := range []Verdict{Fail, Undecided, Pass, Skipped} {
		if count[v] > 0 {
			f.Verdict = v
			break
		}
	}
	r := decided[f.Verdict]
	f.File, f.At, f.Measured = r.file.Index, at(r.at), value(r.share)
	where := fileName(r.file)
	switch {
	case f.Verdict == Skipped:
		f.Measured, f.Limit, f.Unit = nil, nil, ""
		f.Message = fmt.Sprintf("freed %s in %s, not judged: %s", parser.FormatBytes(r.freed), where, r.skipReason)
	case f.Verdict == Fail:
		f.Message = fmt.Sprintf("freed %s of %s (%s) in %s; under %s in %s", parser.FormatBytes(r.freed), r.held,
			percent(r.share), where, percent(float64(j.policy.Recovery.Min)), ofFiles(count[Fail], len(all)))
	case f.Verdict == Undecided:
		f.Message = fmt.Sprintf("the printed digits allow %s to %s of %s in %s; log exact bytes to decide it",
			percent(r.low), percent(r.high), r.held, where)
	case r.nothing:
		f.Measured = nil
		f.Message = fmt.Sprintf("nothing to free: it held %s or less in %s", parser.FormatBytes(max(
			j.policy.Recovery.Floor.Bytes, r.held.Resolution)), ofFiles(len(all), len(all)))
	default:
		f.Message = fmt.Sprintf("freed %s of %s or better in %s", percent(r.share), r.held, ofFiles(count[Pass], len(all)))
	}
	return f
}

func ofFiles(n, all int) string {
	switch {
	case all == 1:
		return "1 file"
	case n == all:
		return fmt.Sprintf("all %d files", all)
	}
	return fmt.Sprintf("%d of %d files", n, all)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
