package parser

import (
	"slices"
	"strings"
)

// The two halves of a pair.
type half int

const (
	neither half = iota
	before
	after
)

// pairName splits a checkpoint's name: "After Transcription (post-cleanup)" is the after of "Transcription", "Training batch -
// After" that of "Training batch", "GPU memory after cleanup" that of "GPU memory cleanup".
func pairName(name string) (half, string) {
	word, rest, _ := strings.Cut(name, " ")
	if !strings.EqualFold(word, "before") && !strings.EqualFold(word, "after") {
		if i := strings.LastIndexByte(name, ' '); i > 0 {
			switch op, last := name[:i], name[i+1:]; {
			case strings.HasSuffix(op, " -"):
				word, rest = last, op[:len(op)-len(" -")]
			case isCleanup(last):
				if i = strings.LastIndexByte(op, ' '); i > 0 {
					word, rest = op[i+1:], op[:i+1]+last
				}
			}
		}
	}
	var kind half
	switch {
	case strings.EqualFold(word, "before"):
		kind = before
	case strings.EqualFold(word, "after"):
		kind = after
	default:
		return neither, name
	}
	if open := strings.LastIndex(rest, " ("); open > 0 && strings.HasSuffix(rest, ")") {
		rest = rest[:open]
	}
	if rest = strings.TrimSpace(rest); strings.Contains(rest, "  ") || strings.ContainsAny(rest, "\t\n\v\f\r") {
		rest = strings.Join(strings.Fields(rest), " ")
	}
	return kind, rest
}

// pair finds the file's stages and cleanups. An After closes the latest open Before of its name in its lane; what was
// opened since and is still open has no After.
func (f *File) pair() {
	type opened struct {
		name string
		at   int
	}
	type key struct {
		lane Lane
		name string
	}
	open := map[Lane][]opened{}
	count := map[key]int{} // of those in open, so that only an After that closes something looks for it
	for i := range f.Checkpoints {
		lane := f.Checkpoints[i].Lane
		kind, name := f.Checkpoints[i].half()
		switch {
		case kind == before:
			open[lane] = append(open[lane], opened{name, i})
			count[key{lane, name}]++
		case kind == after && count[key{lane, name}] > 0:
			stack := open[lane]
			top := stack[len(stack)-1]
			for ; top.name != name; top = stack[len(stack)-1] {
				f.Unpaired = append(f.Unpaired, top.at)
				count[key{lane, top.name}]--
				stack = stack[:len(stack)-1]
			}
			if isCleanup(name) {
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

// half is the checkpoint's half of a pair. One that was taken by the clock is none, whatever it is called.
func (c *Checkpoint) half() (half, string) {
	if c.Sampled {
		return neither, c.Name
	}
	return pairName(c.Name)
}

// OfCleanup says whether the checkpoint is a half of a cleanup's pair, be the other half there or not.
func (c *Checkpoint) OfCleanup() bool {
	kind, name := c.half()
	return kind != neither && isCleanup(name)
}

// Pair is the name of the stage or cleanup that the checkpoint begins or ends, and which of them.
func (c *Checkpoint) Pair() (name string, begins, ends bool) {
	kind, name := c.half()
	return name, kind == before, kind == after
}

// IsAfter says whether the checkpoint is an After.
func (c *Checkpoint) IsAfter() bool {
	kind, _ := c.half()
	return kind == after
}

func isCleanup(name string) bool {
	const word = "cleanup"
	return len(name) >= len(word) && strings.EqualFold(name[len(name)-len(word):], word)
}

// nest finds each cleanup's innermost stage, and the last cleanup within each stage, those of inner stages counted. Both
// slices are in the order of Before.
func (f *File) nest() {
	inside := map[Lane][]int{}
	before := map[Lane]int{} // the cleanup before in the lane
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
