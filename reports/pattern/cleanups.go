package pattern

import (
	"fmt"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/wording"
)

// cleanupStats holds the results of one cleanup over all files.
type cleanupStats struct {
	freed   []int64       // bytes
	failed  int           // files in which the cleanup failed
	shares  []float64     // the share that was freed, for each file in which it was judged
	ofAll   []float64     // for the same files, the share of all that was allocated before
	verdict check.Verdict // the worst of all files; "" if none was judged
}

// cleanups returns the results of each cleanup in the pattern's lane and files, or between files,
// by the name of its After checkpoint.
func (p Pattern) cleanups(rep *check.Report, files []*timeline.File) map[string]*cleanupStats {
	out := map[string]*cleanupStats{}
	shown := map[*timeline.File]bool{}
	for _, f := range files {
		shown[f] = true
	}
	for i := range rep.Recoveries {
		r := &rep.Recoveries[i]
		if r.Stage || r.Lane != p.lane || !r.File.Outside && !shown[r.File] {
			continue
		}
		after := &r.File.Checkpoints[r.After]
		_, hasTop := r.File.Checkpoints[r.Before].Get(p.quantity)
		if _, hasBottom := after.Get(p.quantity); !hasTop || !hasBottom {
			continue
		}
		c := out[after.Name]
		if c == nil {
			c = &cleanupStats{}
			out[after.Name] = c
		}
		c.freed = append(c.freed, r.Freed)
		if r.Verdict == check.Skipped {
			continue
		}
		if !r.Nothing {
			// The ratio is above 1 if the cleanup also freed memory from before its stage.
			c.shares = append(c.shares, min(1, r.Share))
			c.ofAll = append(c.ofAll, r.OfAll)
		}
		if r.Verdict == check.Fail {
			c.failed++
		}
		rank := []check.Verdict{"", check.Pass, check.Undecided, check.Fail}
		if slices.Index(rank, r.Verdict) > slices.Index(rank, c.verdict) {
			c.verdict = r.Verdict
		}
	}
	return out
}

// text returns the median of what the cleanup freed: "97.6 % freed", or "51.2 MiB freed" if no
// ratio was judged. If the cleanup failed in some files, text adds their number, because a median
// hides them.
func (c *cleanupStats) text() string {
	text := record.FormatBytes(median(c.freed)) + " freed"
	switch {
	case len(c.shares) > 0:
		text = wording.Share(median(c.shares)) + " freed"
	case median(c.freed) == 0:
		text = "nothing freed"
	}
	if c.failed > 0 && c.failed < len(c.freed) {
		text += fmt.Sprintf(", not in %s", wording.Plural(c.failed, "file"))
	}
	return text
}

// shareOfAll returns the median of the shares of all that was allocated, (before - after) / before,
// if it is not the share that text shows: " (97.3 % of all)". Otherwise it returns "".
func (c *cleanupStats) shareOfAll() string {
	ofAll := wording.Share(median(c.ofAll))
	if len(c.shares) == 0 || ofAll == wording.Share(median(c.shares)) {
		return ""
	}
	return " (" + ofAll + " of all)"
}

// median returns the middle value. If the number of values is even, it returns the lower of the two
// middle values, so that the result is a level from the log.
func median[T int64 | float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}
