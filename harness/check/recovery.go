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
//     above the level at which its process began, or all of it where the log begins with the cleanup itself or the level
//     has not risen since. Where such a cleanup leaves memory that the next ones free, or may have freed (a waveform
//     goes, then the model), other objects lived on, and it is shown only: the next ones decide.
//
// A stage is judged the same way from its peak. A stage without a cleanup hands its memory on and is not judged.
func (j *judge) recoveries() []Recovered {
	var all []Recovered
	births := j.births()
	for _, files := range [][]parser.File{j.tl.Files, j.tl.Outside} {
		for i := range files {
			all = append(all, j.recoveriesOf(&files[i], births)...)
		}
	}
	return all
}

func (j *judge) recoveriesOf(f *parser.File, births map[process]parser.Size) []Recovered {
	var all []Recovered
	peaks := j.stagePeaks(f)
	for s, stage := range f.Stages {
		if stage.Cleanups > 0 {
			all = append(all, j.stage(f, stage, peaks[s]))
		}
	}
	passed := map[int]bool{} // by the stage's After
	for _, r := range all {
		passed[r.After] = r.Verdict == Pass && !r.Nothing
	}
	for lane, p := range pairsByLane(f) {
		all = append(all, j.outerCleanups(f, p, births[process{lane, f.Process}], passed)...)
	}
	for _, c := range f.Cleanups {
		if c.Stage >= 0 {
			all = append(all, j.innerCleanup(f, c))
		}
	}
	// A stage comes after its cleanups.
	slices.SortFunc(all, func(a, b Recovered) int { return a.After - b.After })
	return all
}

// innerCleanup judges a cleanup inside a stage.
func (j *judge) innerCleanup(f *parser.File, c parser.Cleanup) Recovered {
	start, hasStart := j.level(f, &f.Checkpoints[f.Stages[c.Stage].Before])
	r := j.ratio(f, c.Before, c.Before, c.After, start)
	r.Name = c.Name
	if _, said := f.Checkpoints[c.Before].Get(parser.Holds); said || r.Verdict == Skipped {
		return r
	}
	switch {
	case !c.Last:
		r.Verdict = Skipped
		r.Reason = "other objects of the stage live on; print holds=BYTES at its Before to have it judged"
	case !hasStart:
		r.Verdict, r.Reason = Skipped, "the stage's Before has no such reading"
	}
	return r
}

// stage judges a stage from its peak, the index of the checkpoint with the largest level within it.
func (j *judge) stage(f *parser.File, s parser.Stage, peak int) Recovered {
	start, hasStart := j.level(f, &f.Checkpoints[s.Before])
	r := j.ratio(f, s.Before, peak, s.After, start)
	r.Name, r.Stage = s.Name, true
	if !hasStart && r.Verdict != Skipped {
		r.Verdict, r.Reason = Skipped, "its Before has no such reading"
	}
	return r
}

// stagePeaks are the peaks of a file's stages, in one pass: stages of a lane nest, and what an inner one reaches the outer
// one does too.
func (j *judge) stagePeaks(f *parser.File) []int {
	peaks := make([]int, len(f.Stages))
	if len(peaks) == 0 {
		return peaks
	}
	opens, closes := map[int]int{}, map[int]int{} // checkpoint -> stage
	for s, stage := range f.Stages {
		opens[stage.Before], closes[stage.After] = s, s
		peaks[s] = stage.Before
	}
	open := map[parser.Lane][]int{}
	raise := func(lane parser.Lane, at int) {
		if stack := open[lane]; len(stack) > 0 {
			s := stack[len(stack)-1]
			size, ok := j.level(f, &f.Checkpoints[at])
			if most, _ := j.level(f, &f.Checkpoints[peaks[s]]); ok && size.Bytes > most.Bytes {
				peaks[s] = at
			}
		}
	}
	for i := range f.Checkpoints {
		lane := f.Checkpoints[i].Lane
		if s, ok := opens[i]; ok {
			open[lane] = append(open[lane], s)
		}
		raise(lane, i)
		if s, ok := closes[i]; ok {
			open[lane] = open[lane][:len(open[lane])-1]
			raise(lane, peaks[s])
		}
	}
	return peaks
}

// ratio is freed / held where the level goes from the checkpoint high to the checkpoint low, and start is what was there
// before. A holds= at the checkpoint first is what is held, whatever start is.
func (j *judge) ratio(f *parser.File, first, high, low int, start parser.Size) Recovered {
	r := Recovered{Lane: f.Checkpoints[first].Lane, File: f, Before: high, After: low}
	top, hasTop := j.level(f, &f.Checkpoints[high])
	bottom, hasBottom := j.level(f, &f.Checkpoints[low])
	if !hasTop || !hasBottom {
		r.Verdict, r.Reason = Skipped, fmt.Sprintf("its checkpoints do not both have %s", j.levels[ledger{f.Run, r.Lane}])
		return r
	}
	r.Freed = top.Bytes - bottom.Bytes
	holds, said := f.Checkpoints[first].Get(parser.Holds)
	if said {
		r.Held = holds
	} else {
		r.Held = parser.Size{Bytes: top.Bytes - start.Bytes, Resolution: top.Resolution + start.Resolution}
	}
	floor := j.policy.Recovery.Floor.Bytes
	if r.Held.Bytes <= max(floor, r.Held.Resolution) {
		r.Verdict, r.Nothing, r.Share = Pass, true, 1
		if bottom.Low()-top.High() > floor { // it took memory
			r.Verdict, r.Nothing, r.Share = Fail, false, 0
		}
		return r
	}
	r.Share = float64(r.Freed) / float64(r.Held.Bytes)
	if said {
		freed := parser.Size{Bytes: r.Freed, Resolution: top.Resolution + bottom.Resolution}
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
