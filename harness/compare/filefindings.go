package compare

import (
	"fmt"
	"strings"

	"vramsoak/harness/check"
)

// filesNamed is the largest number of files that a message names.
const filesNamed = 5

// FileFindings returns the findings of the check "regression" about files. There is one finding for
// all files that succeeded in the base and failed in the new run, and one if both runs name their
// files and have none in common. A file that only one of the runs has is no finding, because a
// batch may gain and lose files. Metrics show neither case: they cover only files that succeeded,
// and different files may need different amounts of memory. For the parameter reference see
// [Comparison.Findings].
func (c *Comparison) FileFindings(reference string) []check.Finding {
	var all []check.Finding
	if n := len(c.NewlyFailed); n > 0 {
		first := c.NewlyFailed[0]
		all = append(all, check.Finding{
			Check: check.Regression, Verdict: check.Fail,
			Subject: check.Against(check.FailedFiles, reference),
			File:    first.Index, FirstFile: &check.FirstFile{Index: first.Index, Path: first.Path},
			Measured: new(float64(n)), Limit: new(0.0), Unit: check.Count, Message: c.newlyFailed(),
		})
	}
	if c.NoCommonFile {
		all = append(all, check.Finding{
			Check: check.Regression, Verdict: check.Undecided,
			Subject: check.Against(check.Files, reference),
			Message: fmt.Sprintf("the runs have no file in common (the base has %s, the new run %s), and "+
				"other files may take other memory; compare runs over the same files, or save a baseline "+
				"of this batch", c.baseName, c.newName),
		})
	}
	return all
}

// newlyFailed returns a message such as "2 files failed that ended ok in the base: file 3
// (c.wav), file 7 (g.wav); ...".
func (c *Comparison) newlyFailed() string {
	var names []string
	for i, f := range c.NewlyFailed {
		if i == filesNamed {
			names = append(names, fmt.Sprintf("and %d more", len(c.NewlyFailed)-i))
			break
		}
		names = append(names, fileName(f))
	}
	return fmt.Sprintf("%s failed that ended ok in the base: %s; see why with vramsoak check",
		check.Plural(len(c.NewlyFailed), "file"), strings.Join(names, ", "))
}
