package check

import (
	"fmt"
	"slices"

	"vramsoak/parser"
)

// A Recovered is what one cleanup, or one stage that has cleanups, gave back in one file.
type Recovered struct {
	Name  string // "Whisper Cleanup"; of a stage "Transcription"
	Lane  parser.Lane
	Stage bool // a stage, not a cleanup
	File  *parser.File
	// Before and After are indices into File.Checkpoints: the level falls from the one to the other. For a stage Before is
	// its peak checkpoint.
	Before, After int

	// Verdict is Skipped where the log does not tell what was held; Reason then says why. Freed stands all the same, but
	// Share, Low, High, Held and Nothing are not to be shown.
	Verdict Verdict
	Reason  string

	Share     float64 // freed / held by the printed values; above 1 where it freed what was there before, too
	Low, High float64 // the least and the greatest Share that the printed digits allow; not set where Nothing
	Freed     int64   // bytes; negative where memory grew; 0 where the checkpoints have no reading
	Held      parser.Size
	// Nothing says that no more was held than the policy's floor or the resolution: there was nothing to free, which
	// passes with a Share of 1.
	Nothing bool
}

// recoveries judges each cleanup and each stage that has cleanups, file by file, in the order of the log: freed / held
// must reach the policy's share.
//
// What a cleanup holds is, in this order:
//
//   - what the pipeline says (holds=);
//   - for the last cleanup of a stage, everything above the level at the stage's start;
//   - for another cleanup inside a stage nothing is known, because other objects live on: it is shown, the stage is
//     judged;
//   - outside stages, everything above the level that the file's last complete recovery left; for the first, everything
//     above the level at which its process began, or all of it where the log begins with the cleanup itself. Where such
//     a cleanup leaves memory that the next one frees, or may have freed (a waveform goes, then the model), other
//     objects lived on, and it is shown only: the next one decides.
//
// A stage is judged the same way from its peak. A stage without a cleanup hands its memory on and is not judged.
func (j *judge) recoveries() []Recovered {
	var all []Recovered
	births := j.births()
	for i := range j.tl.Files {
		f := &j.tl.Files[i]
		begin := len(all)
		for lane, pairs := range pairsByLane(f) {
			all = append(all, j.outerCleanups(f, pairs, births[process{lane, f.Process}])...)
		}
		for _, c := range f.Cleanups {
			if c.Stage >= 0 {
				all = append(all, j.innerCleanup(f, c))
			}
		}
		for _, s := range f.Stages {
			if s.Cleanups > 0 {
				all = append(all, j.stage(f, s))
			}
		}
		// A stage comes after its cleanups.
		slices.SortFunc(all[begin:], func(a, b Recovered) int { return a.After - b.After })
	}
	return all
}

// A process is one process's ledger of one device.
type process struct {
	lane parser.Lane
	n    int // counts the processes from 0
}

// births are the levels at which the processes began: at the first checkpoint of each.
func (j *judge) births() map[process]parser.Size {
	births := map[process]parser.Size{}
	for lane, readings := range j.readings {
		for _, c := range readings {
			p := process{lane: lane}
			switch {
			case c.file != nil:
				p.n = c.file.Process
			case len(j.tl.Files) > 0 && c.Pos.Line < j.tl.Files[0].Pos.Line:
				p.n = j.tl.Files[0].Process
			default:
				continue
			}
			if _, known := births[p]; !known {
				births[p] = birth(c.Checkpoint)
			}
		}
	}
	return births
}

// birth is the level at which a process began whose first checkpoint is c: nothing, where that is a cleanup's already.
func birth(c *parser.Checkpoint) parser.Size {
	if c.OfCleanup() {
		return parser.Exact(0)
	}
	size, _ := level(c)
	return size
}

// pairs are a file's stages and cleanups in one lane, in the order of their Before.
type pairs struct {
	stages   []parser.Stage
	cleanups []parser.Cleanup
}

func pairsByLane(f *parser.File) map[parser.Lane]pairs {
	of := map[parser.Lane]pairs{}
	for _, s := range f.Stages {
		lane := f.Checkpoints[s.Before].Lane
		p := of[lane]
		p.stages = append(p.stages, s)
		of[lane] = p
	}
	for _, c := range f.Cleanups {
		lane := f.Checkpoints[c.Before].Lane
		p := of[lane]
		p.cleanups = append(p.cleanups, c)
		of[lane] = p
	}
	return of
}

// outerCleanups judges the cleanups that no stage encloses. left is the level at which their process began.
func (j *judge) outerCleanups(f *parser.File, p pairs, left parser.Size) []Recovered {
	var all []Recovered
	stages := p.stages
	for i, c := range p.cleanups {
		for ; len(stages) > 0 && stages[0].After < c.Before; stages = stages[1:] {
			if stages[0].Cleanups > 0 && j.stage(f, stages[0]).Verdict == Pass {
				left, _ = level(&f.Checkpoints[stages[0].After])
			}
		}
		if c.Stage >= 0 {
			continue
		}
		r := j.ratio(f, c.Before, c.Before, c.After, left)
		r.Name = c.Name
		if _, said := f.Checkpoints[c.Before].Get(parser.Holds); !said && r.Verdict != Pass && i+1 < len(p.cleanups) && follows(p.cleanups[i+1], c) {
			if whole := j.ratio(f, c.Before, c.Before, p.cleanups[i+1].After, left); whole.Verdict != Fail {
				r.Verdict = Skipped
				r.Reason = fmt.Sprintf("other objects lived on until %s", p.cleanups[i+1].Name)
			}
		}
		if r.Verdict == Pass {
			left, _ = level(&f.Checkpoints[c.After])
		}
		all = append(all, r)
	}
	return all
}

// follows says that next is outside stages too and nothing is logged between the two.
func follows(next, c parser.Cleanup) bool { return next.Stage < 0 && next.Before == c.After+1 }

// innerCleanup judges a cleanup inside a stage.
func (j *judge) innerCleanup(f *parser.File, c parser.Cleanup) Recovered {
	if _, said := f.Checkpoints[c.Before].Get(parser.Holds); !said && !c.Last {
		r := j.ratio(f, c.Before, c.Before, c.After, parser.Exact(0))
		r.Name, r.Verdict = c.Name, Skipped
		r.Reason = "other objects of the stage live on; print holds=BYTES at its Before to have it judged"
		return r
	}
	start, _ := level(&f.Checkpoints[f.Stages[c.Stage].Before])
	r := j.ratio(f, c.Before, c.Before, c.After, start)
	r.Name = c.Name
	return r
}

// stage judges a stage from the largest level within it.
func (j *judge) stage(f *parser.File, s parser.Stage) Recovered {
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
	r := j.ratio(f, s.Before, peak, s.After, start)
	r.Name, r.Stage = s.Name, true
	return r
}

// ratio is freed / held where the level goes from the checkpoint high to the checkpoint low, and start is what was there
// before. A holds= at the checkpoint first is what is held, whatever start is.
func (j *judge) ratio(f *parser.File, first, high, low int, start parser.Size) Recovered {
	r := Recovered{Lane: f.Checkpoints[first].Lane, File: f, Before: high, After: low}
	top, hasTop := level(&f.Checkpoints[high])
	bottom, hasBottom := level(&f.Checkpoints[low])
	if !hasTop || !hasBottom {
		r.Verdict, r.Reason = Skipped, "its checkpoints have no allocated, used or reserved reading"
		return r
	}
	r.Freed = top.Bytes - bottom.Bytes
	holds, said := f.Checkpoints[first].Get(parser.Holds)
	if said {
		r.Held = holds
	} else {
		r.Held = parser.Size{Bytes: top.Bytes - start.Bytes, Resolution: top.Resolution + start.Resolution}
	}
	floor := max(j.policy.Recovery.Floor.Bytes, r.Held.Resolution)
	if r.Held.Bytes <= floor {
		r.Verdict, r.Nothing, r.Share = Pass, true, 1
		return r
	}
	r.Share = float64(r.Freed) / float64(r.Held.Bytes)
	if said {
		freed := parser.Size{Bytes: r.Freed, Resolution: top.Resolution + bottom.Resolution}
		r.Low = float64(freed.Bytes-freed.Resolution) / float64(holds.High())
		r.High = float64(freed.Bytes+freed.Resolution) / float64(holds.Low())
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
