package validation

import (
	"fmt"
	"slices"

	"vramsoak/harness/check"
	"vramsoak/harness/shape"
	"vramsoak/parser/record"
)

// growthChecks are the checks for memory that grows from file to file.
var growthChecks = []string{check.Leak, check.Fragmentation, check.DarkGrowth}

// decideGrowth changes undecided findings of growthChecks to passed ones if the card has enough
// headroom. A log alone does not show whether a trend goes on. decideGrowth assumes that the trend
// goes on at its upper bound for as many files as the batch has. If the requirement is then still
// within the policy's limit, the finding passes; otherwise it stays undecided. A finding that
// failed stays failed. This is correct only for simulated logs, because their readings are exact
// and the same in every run.
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

// growthBound returns the largest number of bytes by which a trend may raise memory over a number
// of further files. It is the largest of three numbers: the upper bound of the slope times files;
// the height of the last value above the values before, times files; and, if the series has steps,
// twice the size of all steps so far.
func growthBound(r *shape.Result, files int) float64 {
	bound := max(0, r.Slope.High*float64(files), r.Ends*float64(files))
	if r.Shape == shape.Steps || r.Shape == shape.Step {
		bound = max(bound, 2*r.Size)
	}
	return bound
}
