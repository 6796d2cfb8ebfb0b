package compare

import (
	"math"
	"slices"
	"strings"

	"vramsoak/harness/check"
)

// findCauses sets the Cause of each metric that is worse because another one is. A level that grows
// faster than in the base is higher, and so are the peaks above it. A stage frees less if the
// cleanup inside it does.
func (c *Comparison) findCauses() {
	var worse []*Change
	for i := range c.Changes {
		if c.Changes[i].Verdict == check.Fail {
			worse = append(worse, &c.Changes[i])
		}
	}
	// The first metric that explains another one is its cause, so the order is from cause to effect.
	slices.SortStableFunc(worse, func(a, b *Change) int { return a.depth() - b.depth() })
	for i, m := range worse {
		for _, of := range worse[:i] {
			if of.Cause == "" && m.follows(of) {
				m.Cause = of.Subject()
				break
			}
		}
	}
}

// depth orders metrics from cause to effect.
func (c *Change) depth() int {
	switch {
	case strings.HasPrefix(c.Name, check.GrowthOf):
		return 0
	case c.Name == check.IdleLevel:
		return 1
	case strings.HasPrefix(c.Name, check.RecoveryOf) && strings.HasSuffix(c.Name, " Cleanup"):
		return 2
	case strings.HasPrefix(c.Name, check.PeakOf):
		return 3
	}
	return 4
}

// follows reports whether the metric is worse because the metric `of` is.
func (c *Change) follows(of *Change) bool {
	if c.Rank != of.Rank || c.Device != of.Device {
		return false
	}
	explained := of.Difference
	ledger, grows := strings.CutPrefix(of.Name, check.GrowthOf)
	if grows {
		explained *= float64(of.Files)
	}
	within := math.Abs(c.Difference) <= explained*explainedMargin
	switch {
	case grows && c.Name == ledger:
		return within
	case grows && ledger == check.IdleLevel && strings.HasPrefix(c.Name, check.RecoveryOf):
		return true // what leaks is not freed
	case ledger == check.IdleLevel: // the growth of the level, or the level
		return within && check.IsPeak(c.Name)
	case strings.HasPrefix(of.Name, check.PeakOf):
		return within && (c.Name == check.Peak || c.Name == check.PeakReserved)
	case strings.HasPrefix(of.Name, check.RecoveryOf):
		return of.Name == c.Name+" Cleanup"
	}
	return false
}

// explainedMargin is the ratio up to which the rise of a metric may exceed the rise that explains
// it. Medians of different checkpoints differ a little.
const explainedMargin = 1.1
