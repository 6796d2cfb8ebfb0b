package timeline

import (
	"slices"

	"vramsoak/parser/record"
)

// pair finds the file's stages and cleanups. An After ends the latest Before that has the same
// name and lane and has not been ended yet. A Before that came between these two and has no After
// yet goes to Unpaired. So does a Before that has no After at the end of the file.
func (f *File) pair() {
	type opened struct {
		name string
		at   int
	}
	type key struct {
		lane record.Lane
		name string
	}
	open := map[record.Lane][]opened{}
	count := map[key]int{} // Befores without an After so far; spares searching the stack
	for i := range f.Checkpoints {
		lane := f.Checkpoints[i].Lane
		name, begins, ends := f.Checkpoints[i].Pair()
		switch {
		case begins:
			open[lane] = append(open[lane], opened{name, i})
			count[key{lane, name}]++
		case ends && count[key{lane, name}] > 0:
			stack := open[lane]
			top := stack[len(stack)-1]
			for ; top.name != name; top = stack[len(stack)-1] {
				f.Unpaired = append(f.Unpaired, top.at)
				count[key{lane, top.name}]--
				stack = stack[:len(stack)-1]
			}
			if record.IsCleanup(name) {
				f.Cleanups = append(f.Cleanups, Cleanup{Name: name, Before: top.at, After: i, Stage: -1})
			} else {
				f.Stages = append(f.Stages, Stage{Name: name, Before: top.at, After: i})
			}
			count[key{lane, name}]--
			open[lane] = stack[:len(stack)-1]
		}
	}
	for _, stack := range open {
		for _, lost := range stack {
			f.Unpaired = append(f.Unpaired, lost.at)
		}
	}
	slices.Sort(f.Unpaired)
	slices.SortFunc(f.Stages, func(a, b Stage) int { return a.Before - b.Before })
	slices.SortFunc(f.Cleanups, func(a, b Cleanup) int { return a.Before - b.Before })
	f.nest()
}

// nest sets Stage of each cleanup to the innermost stage around the cleanup. It also sets Last of
// the last cleanup in each stage; a cleanup in a stage inside that stage counts too. Stages and
// Cleanups must be in the order of their Before.
func (f *File) nest() {
	inside := map[record.Lane][]int{}
	before := map[record.Lane]int{} // the last cleanup of each lane
	next := 0
	for i := range f.Cleanups {
		c := &f.Cleanups[i]
		lane := f.Checkpoints[c.Before].Lane
		for ; next < len(f.Stages) && f.Stages[next].Before < c.Before; next++ {
			l := f.Checkpoints[f.Stages[next].Before].Lane
			inside[l] = append(inside[l], next)
		}
		stack := inside[lane]
		for len(stack) > 0 && f.Stages[stack[len(stack)-1]].After < c.Before {
			stack = stack[:len(stack)-1]
		}
		inside[lane] = stack
		if len(stack) > 0 {
			c.Stage, c.Last = stack[len(stack)-1], true
			f.Stages[c.Stage].Cleanups++
		}
		if n, known := before[lane]; known {
			if b := &f.Cleanups[n]; b.Stage >= 0 && c.Before < f.Stages[b.Stage].After {
				b.Last = false
			}
		}
		before[lane] = i
	}
}
