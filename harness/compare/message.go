package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"vramsoak/harness/check"
)

// moved returns the change of a metric for a message: "rose by 300 MiB (+3.1 %, 95 % interval 290
// MiB to 310 MiB) from 9.50 GiB, over the same 60 files". The verdict is about a typical file. If a
// typical file changed by another amount than the median, the message gives both changes: "rose
// from 200 MiB to 244 MiB, by 44.0 MiB (+22.0 %); a usual file rose by 54.0 MiB (95 % interval
// ...)".
func (t *test) moved() string {
	where := ", over the same " + check.Plural(t.Files, "file")
	if !t.Paired {
		where = fmt.Sprintf(", over %s and %d others", check.Plural(len(t.base), "file"), len(t.new))
	}
	medians := t.New - t.Base
	switch {
	case t.unchanged():
		return "unchanged at " + t.amount(t.Base) + where
	case t.difference(medians) == t.difference(t.Difference):
		return t.by(medians) + inBrackets(t.percent(medians), t.interval()) +
			" from " + t.amount(t.Base) + where
	case t.amount(t.Base) == t.amount(t.New):
		return "the median is unchanged at " + t.amount(t.Base) + "; a usual file " + t.by(t.Difference) +
			inBrackets(t.interval()) + where
	}
	return fmt.Sprintf("%s from %s to %s, by %s%s; a usual file %s%s%s", direction(medians),
		t.amount(t.Base), t.amount(t.New),
		t.difference(math.Abs(medians)), inBrackets(t.percent(medians)), t.by(t.Difference),
		inBrackets(t.interval()), where)
}

// by returns a difference in words, such as "rose by 300 MiB".
func (t *test) by(difference float64) string {
	return direction(difference) + " by " + t.difference(math.Abs(difference))
}

// direction returns the verb for a difference: "rose", "fell" or, for 0, "changed".
func direction(difference float64) string {
	switch {
	case difference == 0:
		return "changed"
	case difference < 0:
		return "fell"
	}
	return "rose"
}

func (t *test) amount(v float64) string { return check.Quantity(v, t.Unit) }

// unchanged reports whether the interval is exactly 0: neither the printed values nor the digits
// that were lost in printing allow a difference.
func (t *test) unchanged() bool {
	return t.Interval != nil && t.Interval.Low == 0 && t.Interval.High == 0
}

// difference returns a change with its unit. A change between two ratios is given in percentage
// points.
func (t *test) difference(v float64) string {
	if t.Unit == check.Ratio {
		return fmt.Sprintf("%.1f points", 100*v)
	}
	return t.amount(v)
}

// percent returns a difference relative to the base, such as "+3.1 %", or "" if the base is 0.
func (t *test) percent(difference float64) string {
	if t.Base == 0 {
		return ""
	}
	return check.Change(difference / math.Abs(t.Base))
}

// interval returns the interval in words: "95 % interval 290 MiB to 310 MiB". For times it is
// relative to the base: "95 % interval +2.9 % to +3.3 %".
func (t *test) interval() string {
	if t.Interval == nil {
		return ""
	}
	low, high := t.difference(t.Interval.Low), t.difference(t.Interval.High)
	if t.logarithm {
		low, high = check.Change(t.Interval.Low/t.Base), check.Change(t.Interval.High/t.Base)
	}
	return fmt.Sprintf("%.0f %% interval %s to %s", 100*Confidence, low, high)
}

// inBrackets returns the parts that are not empty, joined as " (a, b)".
func inBrackets(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// undecided returns the message of an undecided metric: what changed, why the change proves
// nothing, and what would decide the verdict.
func (t *test) undecided() string {
	alarms := float64(t.policy.FalseAlarms)
	least := t.leastCertain()
	switch {
	case t.Interval == nil || t.best.low > t.margin && t.Files < least:
		return fmt.Sprintf("%s; so few files may differ by chance: %d in both runs can decide it",
			t.moved(), least)
	case t.seen.high <= t.margin || t.seen.low > t.margin && t.best.low <= t.margin:
		return fmt.Sprintf("%s; the printed digits hide which side of %s it is on: exact bytes would "+
			"decide it", t.moved(), t.difference(t.Limit))
	}
	// The width of an interval shrinks with the square root of the number of files.
	factor := 0.0
	switch seen := t.seen.estimate; {
	case seen <= t.margin:
		factor = (t.seen.high - seen) / (t.margin - seen - (t.worst.high - t.seen.high))
	default:
		certain := normalQuantile(alarms/float64(t.tests)) / normalQuantile(tail)
		factor = certain * (seen - t.seen.low) / (seen - t.margin - (t.seen.low - t.best.low))
	}
	wanted := math.Ceil(float64(t.Files) * factor * factor)
	if !(factor > 0) || wanted > mostFiles {
		return fmt.Sprintf("%s; that is so close to the limit of %s that more files would not decide it",
			t.moved(), t.difference(t.Limit))
	}
	return fmt.Sprintf("%s, and %s is allowed; about %d files in both runs would decide it", t.moved(),
		t.difference(t.Limit), max(int(wanted), t.Files+1, least))
}

// mostFiles is the largest number of files that a message advises a user to run.
const mostFiles = 10_000

// leastCertain returns how many files each run needs before the test can fail a metric at all. With
// fewer files, even the clearest result comes about by chance too often. If nothing changed, all
// differences of n pairs have the same sign with a probability of 1/2^n on each side, and two
// unpaired samples of n values do not overlap with a probability of n! n! / (2n)!.
func (t *test) leastCertain() int {
	alpha := float64(t.policy.FalseAlarms) / float64(max(1, t.tests))
	n, p := 0, 1.0
	for n < leastFiles || p > alpha {
		n++
		if t.Paired {
			p /= 2
		} else {
			p *= float64(n) / float64(4*n-2)
		}
	}
	return n
}
