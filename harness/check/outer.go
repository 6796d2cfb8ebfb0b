package check

import (
	"slices"

	"vramsoak/parser"
)

// A process is one process's ledger of one device.
type process struct {
	lane parser.Lane
	n    int // as in parser.File
}

// births are the levels at which the processes began: at the first checkpoint of each, or nothing, where that closes
// something already. Lines of one process are of one log.
func (j *judge) births() map[process]parser.Size {
	births := map[process]parser.Size{}
	line := map[process]int{}
	for lane, readings := range j.readings {
		for _, c := range readings {
			p := process{lane, c.file.Process}
			if at, known := line[p]; known && at <= c.Pos.Line {
				continue
			}
			line[p] = c.Pos.Line
			births[p] = parser.Size{}
			if !c.OfCleanup() && !c.IsAfter() {
				births[p], _ = j.level(c.file, c.Checkpoint)
			}
		}
	}
	return births
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

// outerCleanups judges the cleanups that no stage encloses. birth is the level at which their process began, passed says
// which stages recovered, by their After.
func (j *judge) outerCleanups(f *parser.File, p pairs, birth parser.Size, passed map[int]bool) []Recovered {
	var all []Recovered
	left, closed := birth, false // closed: left is what a recovery left
	stages := slices.SortedFunc(slices.Values(p.stages), func(a, b parser.Stage) int { return a.After - b.After })
	finishers := j.finishers(f, p.cleanups)
	for i, c := range p.cleanups {
		for ; len(stages) > 0 && stages[0].After < c.Before; stages = stages[1:] {
			if passed[stages[0].After] {
				left, _ = j.level(f, &f.Checkpoints[stages[0].After])
				closed = true
			}
		}
		if c.Stage >= 0 {
			continue
		}
		start := left
		if !closed && !j.born(f, c, birth) {
			start = parser.Size{}
		}
		r := j.ratio(f, c.Before, c.Before, c.After, start)
		r.Name = c.Name
		if _, said := f.Checkpoints[c.Before].Get(parser.Holds); !said && r.Verdict != Pass && finishers[i] > i {
			last := p.cleanups[finishers[i]]
			if whole := j.ratio(f, c.Before, c.Before, last.After, start); whole.Verdict != Fail {
				r.Verdict = Skipped
				r.Reason = "other objects lived on until " + last.Name
			}
		}
		if _, said := f.Checkpoints[c.Before].Get(parser.Holds); !said && r.Verdict == Pass {
			left, _ = j.level(f, &f.Checkpoints[c.After])
			closed = true
		}
		all = append(all, r)
	}
	return all
}

// born says that what the cleanup frees came after the process was born: the level rose above its first one, and does not
// fall below it. A model that was loaded before the first checkpoint is the cleanup's to free.
func (j *judge) born(f *parser.File, c parser.Cleanup, birth parser.Size) bool {
	top, _ := j.level(f, &f.Checkpoints[c.Before])
	bottom, _ := j.level(f, &f.Checkpoints[c.After])
	return top.Bytes-birth.Bytes > max(j.policy.Recovery.Floor.Bytes, top.Resolution+birth.Resolution) &&
		bottom.High()+j.policy.Recovery.Floor.Bytes >= birth.Low()
}

// finishers tell for each cleanup outside of stages which later one, or itself, leaves the least of those that follow it
// without anything being allocated in between.
func (j *judge) finishers(f *parser.File, cleanups []parser.Cleanup) []int {
	of := make([]int, len(cleanups))
	for i := len(cleanups) - 1; i >= 0; i-- {
		of[i] = i
		if i+1 == len(cleanups) || cleanups[i].Stage >= 0 || cleanups[i+1].Stage >= 0 {
			continue
		}
		after, ok := j.level(f, &f.Checkpoints[cleanups[i].After])
		next, okNext := j.level(f, &f.Checkpoints[cleanups[i+1].Before])
		if !ok || !okNext || next.Low()-after.High() > j.policy.Recovery.Floor.Bytes {
			continue
		}
		least, _ := j.level(f, &f.Checkpoints[cleanups[of[i+1]].After])
		if least.Bytes < after.Bytes {
			of[i] = of[i+1]
		}
	}
	return of
}
