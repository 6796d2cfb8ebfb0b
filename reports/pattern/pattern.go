// Package pattern finds the memory of a typical file in a timeline: a level for each checkpoint
// name, and how much each cleanup freed.
package pattern

import (
	"fmt"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A Pattern is the memory of a typical file: one level for each checkpoint name.
type Pattern struct {
	lane     record.Lane
	lanes    int  // the number of lanes in the log; the pattern shows the first of [Lanes]
	fails    bool // the lane is the one in which the run failed
	quantity record.Quantity
	files    int   // files with a checkpoint in the lane, of those that are shown
	failed   int   // further files with a checkpoint in the lane, left out because they failed
	partial  bool  // the timeline did not keep all checkpoints
	scale    int64 // bytes of a full bar
	ofTotal  bool  // a full bar is the device's total, not the highest checkpoint
	Steps    []Step
	rare     int // checkpoints that fewer than half of the files have; they are no steps
}

// A Step is one checkpoint name of the pattern, with its level.
type Step struct {
	Name    string
	Level   int64         // bytes, the median over the files
	Freed   string        // how much a cleanup freed, at its After checkpoint; else ""
	OfAll   string        // behind Freed, the share of all that was allocated, if it is another one
	Verdict check.Verdict // the verdict on the cleanup; "" if it was not judged
}

// Of returns the pattern of a judged timeline. If the timeline has no readings, the pattern has no
// steps.
func Of(tl *timeline.Timeline, rep *check.Report) Pattern {
	p := Pattern{}
	lanes, fails := Lanes(tl, rep)
	if len(lanes) > 0 {
		p.lane = lanes[0].Lane
	}
	p.lanes, p.fails = len(lanes), fails
	p.quantity = MainQuantity(tl, p.lane)

	levels := map[string][]int64{}
	var order, tail []string
	add := func(into *[]string, c *record.Checkpoint) {
		size, ok := c.Get(p.quantity)
		if !ok || c.Lane != p.lane {
			return
		}
		if _, known := levels[c.Name]; !known && into != nil {
			*into = append(*into, c.Name)
		}
		levels[c.Name] = append(levels[c.Name], size.Bytes)
	}
	for i := range tl.Outside {
		into := &order
		if len(tl.Files) > 0 && tl.Outside[i].Process >= tl.Files[0].Process &&
			tl.Outside[i].Pos.Line > tl.Files[0].Pos.Line {
			into = &tail
		}
		for k := range tl.Outside[i].Checkpoints {
			add(into, &tl.Outside[i].Checkpoints[k])
		}
	}
	// The order is that of the file with the most checkpoints. A name that this file lacks follows
	// the name that precedes it in its own file.
	byLength, failed := p.typical(tl)
	p.failed = failed
	slices.SortStableFunc(byLength, func(a, b *timeline.File) int {
		return len(b.Checkpoints) - len(a.Checkpoints)
	})
	presence := newPresence(append(slices.Clone(order), tail...))
	for _, f := range byLength {
		order = mergeNames(order, f, p, levels)
		has := false
		for i := range f.Checkpoints {
			add(nil, &f.Checkpoints[i])
			if f.Checkpoints[i].Lane == p.lane {
				presence.add(f, f.Checkpoints[i].Name)
				has = true
			}
		}
		if has {
			p.files++
		}
	}
	kept := 0
	for f := range tl.InOrder() {
		kept += len(f.Checkpoints)
	}
	p.partial = kept < tl.Checkpoints
	cleanups := p.cleanups(rep, byLength)
	var top int64
	for _, name := range append(order, tail...) {
		top = max(top, slices.Max(levels[name]))
		if presence.rare(name, p.files) {
			p.rare++
			continue
		}
		s := Step{Name: sink.Name(name), Level: median(levels[name])}
		if c := cleanups[name]; c != nil {
			s.Freed, s.OfAll, s.Verdict = c.text(), c.shareOfAll(), c.verdict
		}
		p.Steps = append(p.Steps, s)
	}
	p.scale = top
	if total := Total(tl, p.lane); total > 0 && top*10 > total {
		p.scale, p.ofTotal = total, true
	}
	return p
}

// typical returns the files of the pattern. These are the files with readings that did not fail. If
// there are none, typical returns all files. The result failed is the number of files with readings
// that are left out: where memory ran out, the checkpoints show what was left, and not what a file
// takes.
func (p *Pattern) typical(tl *timeline.Timeline) (good []*timeline.File, failed int) {
	all := slices.Clone(tl.LastAttempts())
	for _, f := range all {
		switch {
		case !slices.ContainsFunc(f.Checkpoints, func(c record.Checkpoint) bool {
			return c.Lane == p.lane && c.Has(p.quantity)
		}):
		case f.Status == record.StatusOK, f.Status == record.StatusUnknown && len(f.OOMs) == 0:
			good = append(good, f)
		default:
			failed++
		}
	}
	if len(good) == 0 {
		return all, 0
	}
	return good, failed
}

// Title returns what the pattern shows and how many bytes a full bar stands for.
func (p Pattern) Title() string {
	of := wording.Plural(p.files, "file")
	if p.partial {
		of = "first " + of
	}
	if p.failed > 0 {
		of += " that did not fail"
	}
	if p.partial || p.failed > 0 {
		of = "the " + of
	}
	s := fmt.Sprintf("Memory pattern of a file: %s, median over %s", wording.Quantity(p.quantity),
		of)
	if p.lanes > 1 {
		which := "busiest"
		if p.fails {
			which = "failing one"
		}
		s += fmt.Sprintf(", %s (the %s of %d)", wording.Lane(p.lane), which, p.lanes)
	}
	if p.ofTotal {
		s += "; a full bar is the device, " + record.FormatBytes(p.scale)
	} else {
		s += "; a full bar is the highest checkpoint, " + record.FormatBytes(p.scale)
	}
	if p.rare > 0 {
		s += fmt.Sprintf("; left out: %s that fewer than half of the files have",
			wording.Plural(p.rare, "checkpoint"))
	}
	return s
}

// Filled returns how many of the cells of a bar a level fills. A level above 0 fills at least one
// cell.
func (p Pattern) Filled(level int64, cells int) int {
	if level <= 0 || p.scale <= 0 {
		return 0
	}
	return min(cells, max(1, int(float64(level)/float64(p.scale)*float64(cells)+0.5)))
}
