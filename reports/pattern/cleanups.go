package pattern

import (
	"fmt"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/reports/wording"
)

// cleanupStats are one cleanup over the files.
type cleanupStats struct {
	freed   []int64       // bytes
	failed  int           // files in which it failed
	shares  []float64     // of those files where something was held and the share was judged
	verdict check.Verdict // fail if it failed anywhere, else undecided, else pass; "" where it was not judged
}

// cleanups are the judge's recoveries in the lane by the name of their After.
func (p Pattern) cleanups(rep *check.Report) map[string]*cleanupStats {
	out := map[string]*cleanupStats{}
	for i := range rep.Recoveries {
		r := &rep.Recoveries[i]
		if r.Stage || r.Lane != p.lane {
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
			c.shares = append(c.shares, min(1, r.Share)) // more than 1 where it freed what was there before the stage, too
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

// text is the median of what was freed: "97.6 % freed", or "51.2 MiB freed" where no share was judged. A median hides
// the few files in which the cleanup failed, so these are counted.
func (c *cleanupStats) text() string {
	text := record.FormatBytes(median(c.freed)) + " freed"
	switch {
	case len(c.shares) > 0:
		text = fmt.Sprintf("%.1f %% freed", 100*median(c.shares))
	case median(c.freed) == 0:
		text = "nothing freed"
	}
	if c.failed > 0 && c.failed < len(c.freed) {
		text += fmt.Sprintf(", not in %s", wording.Plural(c.failed, "file"))
	}
	return text
}

// median is the middle value, or the lower of the two in the middle: a level that was read, not made up.
func median[T int64 | float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}
