package validation

import (
	"fmt"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/shape"
	"vramsoak/parser/record"
)

// growthChecks are those of memory that may grow over files.
var growthChecks = []string{check.Leak, check.Fragmentation, check.DarkGrowth}

// decideGrowth decides undecided findings of growth by the card's headroom. The log alone leaves
// open whether a trend goes on. So the trend is taken to go on at its upper bound over as many
// files again: if the requirement is still within the policy's share of the card, the finding
// passes. A simulated log is exact and the same each time, so nothing else is open. What fails a
// check still fails.
func (b *Batch) decideGrowth(s *simulation) {
	s.checks.Revise(func(f *check.Finding) {
		if f.Verdict != check.Undecided || !slices.Contains(growthChecks, f.Check) {
			return
		}
		i := slices.IndexFunc(s.checks.Trends, func(t check.Trend) bool {
			return t.Finding.Check == f.Check && t.Finding.Subject == f.Subject
		})
		if i < 0 {
			return // the series is too short
		}
		grown := s.Need + int64(growthBound(&s.checks.Trends[i].Result, b.Files))
		share := float64(grown) / float64(b.GPU.Total)
		would := fmt.Sprintf(
			"if it grew on like this for %d files more, up to %s (%.1f %%) would be needed", b.Files,
			record.FormatBytes(grown), 100*share)
		if share > b.limit() {
			f.Message += fmt.Sprintf("; %s, and %.0f %% are allowed; if more files do not decide it, "+
				"a larger card or a smaller batch does", would, 100*b.limit())
			return
		}
		f.Verdict = check.Pass
		f.Message += "; " + would + ", which is allowed"
		s.notes = append(s.notes, fmt.Sprintf("%s, %s: %s", f.Check, f.Subject, f.Message))
	})
}

// growthBound returns by how many bytes a trend may raise the level over as many files as there
// were, at most: its slope's upper bound, its steps twice over, or the last file's growth for each.
func growthBound(r *shape.Result, files int) float64 {
	bound := max(0, r.Slope.High*float64(files), r.Ends*float64(files))
	if r.Shape == shape.Steps || r.Shape == shape.Step {
		bound = max(bound, 2*r.Size)
	}
	return bound
}
