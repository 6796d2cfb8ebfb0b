package merge

import (
	"math"

	"vramsoak/harness/check"
)

// growths holds what is kept of the series of one ledger over all shards.
type growths struct {
	// longestPass is the most files of a series that passes, and longestOpen of one that is undecided.
	longestPass, longestOpen int
}

func (g *growths) add(of *check.Growth, _ *judgedShard) {
	switch of.Verdict {
	case check.Pass:
		g.longestPass = max(g.longestPass, of.Files)
	case check.Undecided:
		g.longestOpen = max(g.longestOpen, of.Files)
	}
}

// tooShort reports whether all undecided series have less than half as many files as the longest
// one that passes.
func (g *growths) tooShort() bool { return 2*g.longestOpen < g.longestPass }

// boundOf returns the most growth that a finding which passes does not rule out, or 0 for other
// findings. Of several that pass, the one with the highest bound claims least, and so it is true of
// all.
func boundOf(s *judgedShard, f *check.Finding) float64 {
	bound := 0.0
	if f.Verdict != check.Pass {
		return 0
	}
	for i := range s.report.Growths {
		g := &s.report.Growths[i]
		if g.Check == f.Check && g.Subject == f.Subject && !math.IsInf(g.Error, 0) {
			bound = max(bound, g.Slope+2*g.Error+g.Rounding)
		}
	}
	return bound
}
