package wording

import (
	"slices"
	"strings"

	"vramsoak/harness/check"
)

// PassedChecks lists the checks that passed, with what they measured: "recovery (6 cleanups and
// stages freed at least 99.8 %), leak (no growth above 17.8 KiB a file), out-of-memory (none)".
func PassedChecks(rep *check.Report) string {
	var all []string
	for _, name := range check.Checks {
		var passed []check.Finding
		others := false
		for _, f := range rep.Findings {
			switch {
			case f.Check != name:
			case f.Verdict == check.Pass:
				passed = append(passed, f)
			case f.Verdict != check.Skipped:
				others = true
			}
		}
		if len(passed) == 0 || others && name == check.Completeness {
			continue
		}
		text := name
		if others {
			text += " of the others"
		}
		if measured := passedAs(name, passed); measured != "" {
			text += " (" + measured + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// passedAs returns what the findings of a check that passed measured, in words, or "".
func passedAs(name string, passed []check.Finding) string {
	first := passed[0]
	switch {
	case name == check.Recovery:
		least, all := 1.0, 0
		for _, f := range passed {
			if f.Measured != nil {
				least, all = min(least, *f.Measured), all+1
			}
		}
		switch all {
		case 0:
			return "nothing to free"
		case 1:
			return "1 cleanup or stage freed " + atLeast(least)
		}
		return Count(all) + " cleanups and stages freed " + atLeast(least)
	case name == check.OutOfMemory && first.Measured != nil && *first.Measured == 0 && first.At == nil:
		return "none"
	case name == check.Consistency:
		return ""
	case name == check.Peak && first.Measured != nil:
		most := 0.0
		for _, f := range passed {
			if f.Measured != nil {
				most = max(most, *f.Measured)
			}
		}
		return Share(most) + " of the device"
	case name == check.Completeness:
		i := slices.IndexFunc(passed, func(f check.Finding) bool { return f.Subject == check.Files })
		return FirstClause(passed[max(i, 0)].Message)
	case len(passed) > 1:
		return Count(len(passed)) + " series"
	case len(first.Also) == 0:
		measured, _, _ := strings.Cut(FirstClause(first.Found()), " (95 %")
		measured, _, _ = strings.Cut(measured, ": ")
		return measured
	}
	return ""
}

// atLeast returns the least share that a cleanup freed: "at least 99.8 %", "all memory".
func atLeast(share float64) string {
	if share >= 1 {
		return "all memory"
	}
	return "at least " + Floor(share)
}

// Unsure lists the checks that are undecided and do not take part in the verdict.
func Unsure(rep *check.Report) []string {
	var all []string
	for _, f := range rep.Findings {
		if f.Verdict == check.Undecided && !f.Gates && f.Waived == nil && !slices.Contains(all, f.Check) {
			all = append(all, f.Check)
		}
	}
	return all
}
