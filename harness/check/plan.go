package check

import (
	"slices"

	"vramsoak/parser/timeline"
)

// A plan says how to judge the recoveries of files that have the same checkpoints in the same
// order. Most files of a batch have.
type plan struct {
	run         int
	checkpoints int
	stages      []timeline.Stage
	cleanups    []timeline.Cleanup
	lanes       []lanePlan
	// slots are the places in results of a stage and of a cleanup, in the order of their Afters; -1
	// for a stage that has no cleanup and is not judged.
	stageSlots, cleanupSlots []int
	results                  []Recovered
	// opens and closes are the stage that begins, or ends, at a checkpoint; -1 for none.
	opens, closes []int
	laneOf        []int  // of each checkpoint, in lanes; -1 where no pair is in its lane
	passed        []bool // stages that recovered
	peaks         []int  // of the stages
}

// A lanePlan is the part of a plan that is in one lane.
type lanePlan struct {
	lane     *lane
	stages   []int // judged, in the order of their Afters
	cleanups []int // in the order of their Befores
	// finishers are places in cleanups: see Judge.finishers.
	finishers []int
	stack     []int // of open stages
}

// fits reports whether the plan is one for the file. The parser gives files with the same
// checkpoints the same pairs.
func (p *plan) fits(f *timeline.File) bool {
	return p.run == f.Run && p.checkpoints == len(f.Checkpoints) && same(p.stages, f.Stages) &&
		same(p.cleanups, f.Cleanups)
}

func same[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

func (j *Judge) planFor(f *timeline.File) *plan {
	p := &j.plan
	if p.fits(f) {
		return p
	}
	*p = plan{
		run: f.Run, checkpoints: len(f.Checkpoints), stages: f.Stages, cleanups: f.Cleanups,
		passed: make([]bool, len(f.Stages)), peaks: make([]int, len(f.Stages)),
	}
	lanes := map[*lane]int{}
	planOf := func(at int) *lanePlan {
		l := j.byLane[f.Checkpoints[at].Lane]
		i, known := lanes[l]
		if !known {
			i = len(p.lanes)
			lanes[l] = i
			p.lanes = append(p.lanes, lanePlan{lane: l})
		}
		return &p.lanes[i]
	}
	if len(f.Stages) > 0 {
		p.opens = slices.Repeat([]int{-1}, len(f.Checkpoints))
		p.closes = slices.Clone(p.opens)
	}
	type result struct{ after, stage, cleanup int }
	var order []result
	p.stageSlots = slices.Repeat([]int{-1}, len(f.Stages))
	for s, stage := range f.Stages {
		p.opens[stage.Before], p.closes[stage.After] = s, s
		l := planOf(stage.Before)
		if stage.Cleanups > 0 {
			order = append(order, result{stage.After, s, -1})
			l.stages = append(l.stages, s)
		}
	}
	p.cleanupSlots = make([]int, len(f.Cleanups))
	for c, cleanup := range f.Cleanups {
		order = append(order, result{cleanup.After, -1, c})
		l := planOf(cleanup.Before)
		l.cleanups = append(l.cleanups, c)
	}
	if len(f.Stages) > 0 {
		p.laneOf = make([]int, len(f.Checkpoints))
		for i := range f.Checkpoints {
			n, known := lanes[j.byLane[f.Checkpoints[i].Lane]]
			if !known {
				n = -1
			}
			p.laneOf[i] = n
		}
	}
	for i := range p.lanes {
		slices.SortFunc(p.lanes[i].stages, func(a, b int) int {
			return f.Stages[a].After - f.Stages[b].After
		})
		p.lanes[i].finishers = make([]int, len(p.lanes[i].cleanups))
	}
	// A stage comes after its cleanups.
	slices.SortFunc(order, func(a, b result) int { return a.after - b.after })
	p.results = make([]Recovered, len(order))
	for slot, r := range order {
		name, at := "", 0
		if r.stage >= 0 {
			p.stageSlots[r.stage] = slot
			name, at = f.Stages[r.stage].Name, f.Stages[r.stage].Before
		} else {
			p.cleanupSlots[r.cleanup] = slot
			name, at = f.Cleanups[r.cleanup].Name, f.Cleanups[r.cleanup].Before
		}
		p.results[slot] = Recovered{sum: j.byLane[f.Checkpoints[at].Lane].sum(name)}
	}
	return p
}
