package validation

import (
	"cmp"
	"slices"

	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

// An Assessment is what a simulation says about the card.
type Assessment struct {
	Result
	Stages []StageNeed // in the order of the scenario
	// Fragmentation is what the allocator held and had not handed out, at the end of each file.
	Fragmentation []int64
}

// Assess sums an outcome up. Above the limit, a share of the card, it is tight.
func Assess(s *scenario.Scenario, o *simulator.Outcome, limit float64) Assessment {
	a := Assessment{Result: Result{Files: o.Files, Failed: o.Failed, Speed: o.AudioHoursPerHour()}}
	for i := range o.Stages {
		st := &o.Stages[i]
		n := StageNeed{
			Stage: st.Stage, Reached: st.Reached, File: st.File, Allocated: st.Allocated, Reserved: st.Reserved, Used: st.Used,
			Parts: partsOf(st.Parts),
		}
		for _, p := range st.Parts {
			if p.Kind == simulator.Cache {
				n.Cache += p.Bytes
			} else {
				n.Need += p.Bytes
			}
		}
		if of := s.Stage(st.Stage); of != nil {
			n.Measured = of.Footprint != nil
		}
		n.Share = float64(n.Need) / float64(s.GPU.Total)
		a.Stages = append(a.Stages, n)
		if n.Need > a.Need {
			a.Need, a.Share = n.Need, n.Share
		}
	}
	for i := range o.PerFile {
		a.Fragmentation = append(a.Fragmentation, o.PerFile[i].Fragmentation())
	}
	// A file without one of its stages is not done.
	for i, f := range o.PerFile {
		if f.Failed || f.Skipped > 0 {
			a.FirstFailed = cmp.Or(a.FirstFailed, i+1)
		}
		if f.Skipped > 0 && !f.Failed {
			a.Failed++
		}
	}
	if f := o.FirstFailure; f != nil && (!f.Recovered || o.Skipped > 0) { // before the first file, too
		a.FirstFailed = cmp.Or(a.FirstFailed, max(1, f.File))
	}
	switch {
	case a.FirstFailed > 0:
		a.Answer = DoesNotFit
	case a.Share > limit:
		a.Answer = Tight
	}
	return a
}

// Highest is the stage that needs most.
func (a Assessment) Highest() StageNeed {
	if len(a.Stages) == 0 {
		return StageNeed{}
	}
	return slices.MaxFunc(a.Stages, func(x, y StageNeed) int { return cmp.Compare(x.Need, y.Need) })
}

// Sample are the files that a change must stand before it is simulated over all: where a file failed, those up to it and some
// more; where a check fails, so many that it can tell; else the files in which stages needed most.
func (a Assessment) Sample(files int) []Files {
	const judged = 60 // files; a leak needs some, see vramsoak check
	switch {
	case a.FirstFailed > 0:
		return until(a.FirstFailed, files)
	case a.Answer == Fails:
		return []Files{{1, min(files, judged)}}
	}
	var out []Files
	for _, st := range a.Stages {
		if f := (Files{max(1, st.File), 1}); !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// PerFile is the slope of a straight line through values, one a file: the least squares.
func PerFile(values []int64) float64 {
	n := float64(len(values))
	var sumX, sumY, sumXY, sumXX float64
	for i, v := range values {
		x, y := float64(i), float64(v)
		sumX, sumY, sumXY, sumXX = sumX+x, sumY+y, sumXY+x*y, sumXX+x*x
	}
	if n < 2 {
		return 0
	}
	return (n*sumXY - sumX*sumY) / (n*sumXX - sumX*sumX)
}
