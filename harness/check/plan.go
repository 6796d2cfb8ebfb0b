package check

import (
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A plan lists the stages and cleanups of a file with their checkpoints, prepared for judging what
// they freed. Most files of a batch have the same checkpoints in the same order, so they share one
// plan.
type plan struct {
	run         int
	checkpoints int
	stages      []timeline.Stage
	cleanups    []timeline.Cleanup
	lanes       []lanePlan
	// stageSlots and cleanupSlots map a stage or cleanup to its index in results. results has the
	// order of the After checkpoints. A stage without a cleanup has the slot -1, because it is not
	// judged.
	stageSlots, cleanupSlots []int
	results                  []Recovered
	// opens and closes hold, for each checkpoint, the index of the stage that begins or ends there, or
	// -1.
	opens, closes []int
	laneOf        []int      // for each checkpoint, the index of its lane in lanes; -1 without a pair
	passed        []bool     // for each stage, whether it recovered
	peaks         []int      // for each stage, the checkpoint with its peak
	tops          []stageTop // for each stage
}

// A lanePlan is the part of a plan for one device, as one rank sees it.
type lanePlan struct {
	lane     *lane
	stages   []int // the stages that are judged, in the order of their Afters
	cleanups []int // in the order of their Befores
	// finishers holds, for each of cleanups, the index in cleanups of the one that completes it: see
	// Judge.finishers.
	finishers []int
	stack     []int // the stages that are open, innermost last
}

// fits reports whether the plan applies to the file. Files with the same checkpoints share the
// parser's lists of pairs, so fits compares only the addresses of these lists.
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
		tops: make([]stageTop, len(f.Stages)),
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
	// If a cleanup and its stage end at the same After, the cleanup comes first.
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

// stagePeaks sets p.peaks in one pass over the file's checkpoints. The stages on a device are
// nested, so the peak of an inner stage also counts for the outer stage.
func (p *plan) stagePeaks(f *timeline.File) {
	for s := range f.Stages {
		p.peaks[s], p.tops[s] = f.Stages[s].Before, stageTop{}
	}
	for i := range p.laneOf {
		if p.laneOf[i] < 0 {
			continue
		}
		lp := &p.lanes[p.laneOf[i]]
		if s := p.opens[i]; s >= 0 {
			// A peak that is printed here is of the work of the outer stage.
			p.raiseTop(lp, stageTop{peak: f.Checkpoints[i].Bytes(record.Peak)})
			lp.stack = append(lp.stack, s)
		}
		p.raise(lp, f, i)
		p.raiseTop(lp, topOf(&f.Checkpoints[i], p.opens[i] >= 0))
		if s := p.closes[i]; s >= 0 {
			lp.stack = lp.stack[:len(lp.stack)-1]
			p.raise(lp, f, p.peaks[s])
			p.raiseTop(lp, p.tops[s])
		}
	}
}

// noteStagePeaks adds the peaks of the file's stages to their columns.
func (p *plan) noteStagePeaks(f *timeline.File, n int32) {
	for s := range f.Stages {
		l := p.lanes[p.laneOf[f.Stages[s].Before]].lane
		peak, ok := l.get(&f.Checkpoints[p.peaks[s]])
		if !ok {
			continue
		}
		column := l.stagePeak(f.Stages[s].Name)
		column.peak.addLevel(l.level, n, peak)
		if start, ok := l.get(&f.Checkpoints[f.Stages[s].Before]); ok {
			column.took.addLevel(l.level, n, record.Size{
				Bytes: peak.Bytes - start.Bytes, Resolution: peak.Resolution + start.Resolution,
			})
			column.noteNeed(f, &f.Stages[s], start.Bytes, peak.Bytes-start.Bytes, p.tops[s])
		}
	}
}

// raise makes the checkpoint with index at the peak of the innermost open stage, if its level is
// higher than the peak so far.
func (p *plan) raise(lp *lanePlan, f *timeline.File, at int) {
	if len(lp.stack) == 0 {
		return
	}
	s := lp.stack[len(lp.stack)-1]
	size, ok := lp.lane.get(&f.Checkpoints[at])
	if most, _ := lp.lane.get(&f.Checkpoints[p.peaks[s]]); ok && size.Bytes > most.Bytes {
		p.peaks[s] = at
	}
}

// raiseTop raises the highest readings of the innermost open stage.
func (p *plan) raiseTop(lp *lanePlan, to stageTop) {
	if n := len(lp.stack); n > 0 {
		p.tops[lp.stack[n-1]].raise(to)
	}
}
