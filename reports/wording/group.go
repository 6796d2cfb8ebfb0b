package wording

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"vramsoak/harness/check"
)

// A Group is a finding that has a cause of its own, with the findings that follow from it.
type Group struct {
	check.Finding
	Consequences []check.Finding
}

// Groups returns the findings that fail or are undecided, in the order in which a reader should see
// them. Findings that decide the verdict come first, failures before undecided ones. Among
// failures, those for which a file failed come first, and then the order is that of the report.
func Groups(rep *check.Report) []Group {
	var groups []Group
	for _, f := range WithVerdict(Sorted(rep), check.Fail, check.Undecided) {
		if f.Cause == nil {
			groups = append(groups, Group{Finding: f})
		}
	}
	for _, f := range rep.Findings {
		if f.Cause == nil {
			continue
		}
		for i := range groups {
			if g := &groups[i]; g.Check == f.Cause.Check && g.Subject == f.Cause.Subject {
				g.Consequences = append(g.Consequences, f)
				break
			}
		}
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(a.rank(), b.rank()) })
	return groups
}

// Deciding returns the groups that decide the verdict, the worst first. It returns none if the
// report passes.
func Deciding(rep *check.Report) []Group {
	return slices.DeleteFunc(Groups(rep), func(g Group) bool {
		return !g.Decides() || g.Verdict != rep.Verdict || rep.Verdict == check.Pass
	})
}

// rank orders groups by how bad they are.
func (g Group) rank() int {
	switch {
	case !g.Decides():
		return 3
	case g.Verdict == check.Undecided:
		return 2
	case g.failsFiles():
		return 0
	}
	return 1
}

// Decides reports whether the finding takes part in the verdict.
func (g Group) Decides() bool { return g.Gates && g.Waived == nil }

// failsFiles reports whether a file failed because of the finding.
func (g Group) failsFiles() bool {
	failed := func(f check.Finding) bool {
		return f.Check == check.OutOfMemory || f.Check == check.Completeness
	}
	return failed(g.Finding) || slices.ContainsFunc(g.Consequences, failed)
}

// Title returns a finding in a few words: "leak 1.00 MiB/file in Diarization since file 21", "out
// of memory in file 57".
func Title(f check.Finding) string {
	if growth := growthTitle(f); growth != "" {
		return growth
	}
	where := onDevice(f)
	switch {
	case f.Verdict != check.Fail:
		return undecidedTitle(f)
	case f.Check == check.OutOfMemory && f.File > 0:
		if f.Measured != nil && *f.Measured > 1 {
			return "out of memory in " + Plural(int(*f.Measured), "place") + ", first in file " +
				Count(f.File)
		}
		if f.Stage != "" {
			where = " in " + f.Stage
		}
		_, sizes, _ := strings.Cut(firstClause(f.Found()), ": ")
		if sizes != "" {
			where += ": " + firstOf(sizes, 2)
		}
		return "out of memory in file " + Count(f.File) + where
	case f.Check == check.Peak && f.Measured != nil:
		title := "peak at " + Measured(f) + " of the device" + where
		if f.File > 0 {
			title += " in file " + Count(f.File)
		}
		return title
	case f.Check == check.Recovery && f.Measured != nil && *f.Measured >= 0 && f.File > 0:
		return f.Subject + " frees " + Measured(f) + " in file " + Count(f.File)
	}
	return fileNames.ReplaceAllString(Brief(f), "$1")
}

// undecidedTitle returns the title of a finding that is undecided. Its message may begin with what
// holds, "no growth above 5.54 KiB a file", and end with what is not known.
func undecidedTitle(f check.Finding) string {
	message := f.Found()
	if strings.HasPrefix(message, "no growth") || strings.HasPrefix(message, "no fall") {
		if i := strings.LastIndex(message, "; "); i >= 0 {
			return f.Subject + ": " + message[i+2:]
		}
	}
	return fileNames.ReplaceAllString(Brief(f), "$1")
}

// fileNames finds the names of files behind their numbers, "file 5 (f005.wav)", which a title has
// no room for.
var fileNames = regexp.MustCompile(`(\bfile \d+) \([^()]*\)`)

// firstOf returns the first n parts of a list with commas.
func firstOf(list string, n int) string {
	parts := strings.Split(list, ", ")
	return strings.Join(parts[:min(n, len(parts))], ", ")
}

// growthTitle returns the title of a finding that a ledger grows, or "" for other findings.
func growthTitle(f check.Finding) string {
	i := slices.IndexFunc(check.Ledgers, func(l check.Ledger) bool { return l.Check == f.Check })
	if i < 0 || f.Verdict != check.Fail || f.Measured == nil || !isRate(f.Unit) {
		return ""
	}
	var title string
	switch f.Check {
	case check.Leak, check.Fragmentation:
		title = f.Check + " " + Measured(f)
	default:
		title = check.Sentence(check.Ledgers[i].Name, "grows by "+Measured(f))
	}
	if len(f.Also) > 0 {
		title += " (and " + strings.Join(ledgersOf(f.Also), ", ") + ")"
	}
	title += onDevice(f)
	if f.Stage != "" {
		title += " in " + f.Stage
	}
	if f.File > 0 {
		title += " since file " + Count(f.File)
	}
	return title
}

// ledgersOf returns the names of the ledgers of these checks.
func ledgersOf(checks []string) []string {
	names := slices.Clone(checks)
	for i, name := range names {
		if at := slices.IndexFunc(check.Ledgers, func(l check.Ledger) bool {
			return l.Check == name
		}); at >= 0 {
			names[i] = check.Ledgers[at].Name
		}
	}
	return names
}

// isRate reports whether a unit is one of growth. Other findings of a ledger's check, such as
// shared memory that was left behind, are no growth.
func isRate(unit string) bool {
	return strings.HasSuffix(unit, check.PerFile) || strings.HasSuffix(unit, check.PerReading)
}

// onDevice returns the finding's device and rank for a title: " on rank 1, device 0", or "".
func onDevice(f check.Finding) string {
	if f.Device == "" {
		return ""
	}
	return " on " + f.Device
}

// Consequence returns what followed from the cause of a finding, without the advice: "peak,
// high-water mark: critical: 23.1 GiB allocated, of 24.0 GiB (96.3 %) at the failed allocation".
func Consequence(f check.Finding) string { return Named(f) + ": " + firstClause(f.Found()) }

// Named returns the check and the subject of a finding: "leak, idle level". A subject that is the
// check's name is not repeated.
func Named(f check.Finding) string {
	if f.Subject == "" || f.Subject == f.Check {
		return f.Check
	}
	return f.Check + ", " + f.Subject
}

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
		return firstClause(passed[max(i, 0)].Message)
	case len(passed) > 1:
		return Count(len(passed)) + " series"
	case len(first.Also) == 0:
		measured, _, _ := strings.Cut(firstClause(first.Found()), " (95 %")
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
