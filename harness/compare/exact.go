package compare

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"vramsoak/harness/check"
)

// compareExactly judges a metric of runs without noise: it compares each file with the same file of
// the base. The metric fails if any file is worse by more than rounding explains. It is undecided
// if a difference may come from rounded digits. The parameter files holds the files of the new run.
func (t *test) compareExactly(files []check.MeasuredFile) {
	if !t.Paired {
		t.skip("an exact comparison needs the same files in both runs")
		return
	}
	t.Limit = 0
	changes := less(t.inside(t.new, 0), t.inside(t.base, 0))
	hidden := t.baseDigits + t.newDigits
	worse, better, unclear, first := 0, 0, 0, 0
	for i, d := range changes {
		switch {
		case d > hidden:
			if worse++; worse == 1 {
				first = i
			}
		case d < -hidden:
			better++
		case hidden > 0:
			unclear++
		}
	}
	t.Difference = slices.Max(changes)
	if worse == 0 {
		t.Difference = slices.Min(changes)
	}
	if t.HigherIsBetter {
		t.Difference = 0 - t.Difference
	}
	if t.Base != 0 {
		t.Relative = t.Difference / math.Abs(t.Base)
	}
	total := check.Plural(len(changes), "file")
	switch {
	case worse > 0:
		f := files[t.files[first].new]
		t.Verdict, t.File = check.Fail, f.Index
		t.Message = fmt.Sprintf("worse in %d of %s, first in %s: %s in place of %s", worse, total,
			fileName(f),
			t.amount(t.new[first]), t.amount(t.base[first]))
	case unclear > 0:
		t.Verdict = check.Undecided
		t.Message = fmt.Sprintf("the printed digits hide up to %s in %d of %s; exact bytes would "+
			"decide it",
			t.amount(hidden), unclear, total)
	case better > 0:
		t.Verdict = check.Pass
		t.Message = fmt.Sprintf("better in %d of %s, by up to %s, and worse in none", better, total,
			t.amount(math.Abs(t.Difference)))
	default:
		t.Verdict = check.Pass
		t.Message = "the same in " + total
	}
}

// fileName returns the name of a file for a message: "file 12 (0012.wav)".
func fileName(f check.MeasuredFile) string {
	if f.Path == "" {
		return fmt.Sprintf("file %d", f.Index)
	}
	return fmt.Sprintf("file %d (%s)", f.Index, filepath.Base(f.Path))
}
