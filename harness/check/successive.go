package check

import (
	"cmp"
	"fmt"
	"slices"

	"vramsoak/harness/shape"
)

// successive judges levels that rise from one process to the next. The prefix of a line may hold a
// number that counts files, requests or lines, and is taken for the name of a process:
//
//	task17: [GPU Memory] After Whisper Cleanup: Allocated: 0.18GB
//
// Then each process has one file or one reading, and no growth can be judged within it. If the
// processes follow each other without overlap, and their levels grow, the verdict is undecided.
func (j *Judge) successive() {
	type level struct {
		bytes, resolution int64
	}
	lanes := slices.DeleteFunc(slices.Clone(j.lanes), func(l *lane) bool { return l.lastLine == 0 })
	if len(lanes) < max(shape.LeastFiles, j.policy.Leak.MinFiles) || len(j.tl.Runs) > 0 {
		return
	}
	slices.SortFunc(lanes, func(a, b *lane) int { return cmp.Compare(a.firstLine, b.firstLine) })
	levels := make([]level, 0, len(lanes))
	before := 0
	for _, l := range lanes {
		if l.firstLine < before || len(l.idles) >= j.policy.Leak.MinFiles {
			return // processes at the same time, or with enough files of their own
		}
		before = l.lastLine
		switch n := len(l.idles); {
		case n > 0:
			levels = append(levels, level{l.idles[n-1].size.Bytes, l.idles[n-1].size.Resolution})
		case len(l.readings) > 0 && l.readings[0].Now.Readings < j.policy.Leak.MinFiles:
			levels = append(levels, level{l.readings[0].Now.Lowest(), l.readings[0].Resolution})
		}
	}
	if len(levels) < shape.LeastFiles {
		return
	}
	in := shape.Series{Grain: Grain(Bytes)}
	for _, l := range levels {
		in.Values = append(in.Values, float64(l.bytes))
		in.Resolution = max(in.Resolution, float64(l.resolution))
	}
	r := shape.Of(in)
	if GrowthVerdict(&r, j.policy.MaxGrowth[IdleLevel]) != Fail {
		return
	}
	j.add(Finding{
		Check: Leak, Verdict: Undecided, Subject: "idle level from process to process", Unit: Bytes,
		Measured: new(r.Slope.Estimate), Limit: new(j.policy.MaxGrowth[IdleLevel]),
		Message: fmt.Sprintf("rises by %s from one process to the next, over %s that follow each other; "+
			"the text before each line names another process each time: if this is a number of a file, "+
			"a request or a line, take it off", Quantity(r.Slope.Estimate, Bytes),
			processes(len(levels))),
	})
}
