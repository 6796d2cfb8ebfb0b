package validation

import (
	"cmp"
	"slices"

	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

// An assessment sums up how much of the card's memory a simulation needed.
type assessment struct {
	Result
	Stages []StageNeed // in the order of the scenario
	// Fragmentation is reserved - allocated memory at the end of each file, in bytes.
	Fragmentation []int64
}

// assess sums up the outcome of a simulation. If the batch uses a larger share of the card than
// limit, the answer is tight.
func assess(s *scenario.Scenario, o *simulator.Outcome, limit float64) assessment {
	a := assessment{Result: Result{Files: o.Files, Failed: o.Failed, Speed: o.AudioHoursPerHour()}}
	for i := range o.Stages {
		st := &o.Stages[i]
		n := StageNeed{
			Stage: st.Stage, Reached: st.Reached, File: st.File, Allocated: st.Allocated,
			Reserved: st.Reserved, Used: st.Used,
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
	// A file in which a stage was given up counts as failed too.
	for i, f := range o.PerFile {
		if f.Failed || f.Skipped > 0 {
			a.FirstFailed = cmp.Or(a.FirstFailed, i+1)
		}
		if f.Skipped > 0 && !f.Failed {
			a.Failed++
		}
	}
	// An allocation may also fail before the first file.
	if f := o.FirstFailure; f != nil && (!f.Recovered || o.Skipped > 0) {
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

// Highest returns the stage that needs most memory.
func (a assessment) Highest() StageNeed {
	if len(a.Stages) == 0 {
		return StageNeed{}
	}
	return slices.MaxFunc(a.Stages, func(x, y StageNeed) int { return cmp.Compare(x.Need, y.Need) })
}

// Sample returns some of the batch's files. The search tries each change on this sample before it
// simulates the change over all files. If a file failed, the sample has the files up to that file
// and some more. If a check failed, the sample has enough files for the check to decide. Otherwise
// it has, for each stage, the file in which the stage needed most memory.
func (a assessment) Sample(files int) []Files {
	const judged = 60 // files: enough for check to find a leak
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

// perFile returns by how much the values grow per file: the slope of a straight line through them
// by least squares. There is one value for each file.
func perFile(values []int64) float64 {
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
