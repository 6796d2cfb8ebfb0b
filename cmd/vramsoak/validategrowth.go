package main

import (
	"fmt"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/shape"
	"vramsoak/parser"
)

// growthChecks are those of memory that may grow over files.
var growthChecks = []string{check.Leak, check.Fragmentation, check.DarkGrowth}

// decideGrowth decides by what the card has to spare what check cannot rule out by the log alone. A simulated log is exact, and the
// same each time: every file asked for has its memory, and what is left open is only whether a trend would go on. If it went on
// at its upper bound over as many files again, and the need were still within the policy's share of the card, it is no matter.
// What fails a check still fails.
func (s *subject) decideGrowth(r *simulatedRun) {
	limit := float64(s.policy.Peak.Max)
	r.report.Revise(func(f *check.Finding) {
		if f.Verdict != check.Undecided || !slices.Contains(growthChecks, f.Check) {
			return
		}
		i := slices.IndexFunc(r.report.Trends, func(t check.Trend) bool { return t.Finding.Check == f.Check && t.Finding.Subject == f.Subject })
		if i < 0 {
			return // the series is too short
		}
		grown := r.Need + int64(growthBound(&r.report.Trends[i].Result, s.files))
		share := float64(grown) / float64(s.GPU.Total)
		would := fmt.Sprintf("if it went on so for %d files more, up to %s (%.1f %%) would be needed", s.files, parser.FormatBytes(grown), 100*share)
		if share > limit {
			f.Message += fmt.Sprintf("; %s, more than the %.0f %% that may be; where more files leave it undecided, a larger card or less to hold decides it", would, 100*limit)
			return
		}
		f.Verdict = check.Pass
		f.Message += "; " + would + ", which is within what may be"
		r.notes = append(r.notes, fmt.Sprintf("%s, %s: %s", f.Check, f.Subject, f.Message))
	})
}

// growthBound is by how many bytes a trend may raise what is held over as many files as there were, at most: its slope's upper
// bound, its steps twice over, or what came with the last file with each that follows.
func growthBound(r *shape.Result, files int) float64 {
	bound := max(0, r.Slope.High*float64(files), r.Ends*float64(files))
	if r.Shape == shape.Steps || r.Shape == shape.Step {
		bound = max(bound, 2*r.Size)
	}
	return bound
}
