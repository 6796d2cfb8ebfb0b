package wording

import (
	"fmt"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

// Headline returns the summary of a run in one line. If the report fails, the line begins with
// the cause: "host memory grows by 2.00 MiB a file; 60 files, 1,140 checkpoints, ...". The rest
// is what [Facts] returns.
func Headline(rep *check.Report) string {
	if cause := Cause(rep); cause != "" {
		return cause + "; " + Facts(rep)
	}
	return Facts(rep)
}

// Facts returns the size of a run and what was judged, in one line: "60 files, 1,140 checkpoints,
// peak 7.50 GiB allocated (31.3 % of 24.0 GiB)". If findings are waived, it adds "; waived: leak
// from file 9 on". If checks fail without gating, it adds "; noted: throughput from file 21 on".
// If the log has no data for some checks, it adds "; not judged: leak, peak".
func Facts(rep *check.Report) string {
	parts := []string{Extent(rep)}
	add := func(word string, checks []string) {
		if len(checks) > 0 {
			parts = append(parts, word+": "+strings.Join(checks, ", "))
		}
	}
	add("waived", checksThat(rep, "waived"))
	add("noted", checksThat(rep, "noted"))
	add("not judged", notJudged(rep))
	return strings.Join(parts, "; ")
}

// Cause returns the first finding for which the report fails, in a few words, and how many more
// there are: "host memory grows by 2.00 MiB a file, and 1 more finding". It returns "" if the
// report does not fail.
func Cause(rep *check.Report) string {
	var failed []check.Finding
	for _, f := range rep.Findings {
		if f.Verdict == check.Fail && f.Gates && f.Waived == nil {
			failed = append(failed, f)
		}
	}
	if len(failed) == 0 {
		return ""
	}
	cause := Brief(failed[0])
	if more := len(failed) - 1; more > 0 {
		cause += ", and " + Plural(more, "more finding")
	}
	return cause
}

// Brief returns a finding in a few words: its subject, and the first clause of its message
// without the confidence interval.
func Brief(f check.Finding) string {
	clause := firstClause(f.Found())
	clause, _, _ = strings.Cut(clause, " (95 %")
	before, _, together := strings.Cut(clause, ": ")
	switch {
	case together && len(f.Also) > 0:
		return before
	case f.Check == check.Completeness || f.Check == check.OutOfMemory || f.Check == check.Fallbacks:
		return clause
	case strings.HasPrefix(clause, "grows by "):
		return check.Sentence(f.Subject, clause)
	}
	return f.Subject + ": " + clause
}

// firstClause returns a message up to its first semicolon that is not in parentheses: a command in
// parentheses may contain some.
func firstClause(message string) string {
	depth := 0
	for i, c := range message {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ';' && depth == 0:
			return message[:i]
		}
	}
	return message
}

// lasts reports whether a check that fails in one file also fails in all later files.
func lasts(name string) bool {
	return name == check.Drift || name == check.Throughput ||
		slices.ContainsFunc(check.Ledgers, func(l check.Ledger) bool { return l.Check == name })
}

// checksThat returns the checks with a finding whose [Verdict] is this word, "noted" or "waived".
// Each is given with the first file in which it fails, such as "throughput from file 21 on". Of
// fallbacks, checksThat says how many files lost what: "3 of 60 files went on without diarization,
// first file 12 (0012.wav)".
func checksThat(rep *check.Report, word string) []string {
	var named []string
	for _, name := range check.Checks {
		first, file := true, 0
		for _, f := range rep.Findings {
			if f.Check == name && name == check.Fallbacks && Verdict(f) == word {
				named = append(named, firstClause(f.Found()))
				continue
			}
			at := f.File
			if f.Verdict != check.Fail { // the file is only the worst one
				at = 0
			}
			if f.Check == name && Verdict(f) == word && (first || at > 0 && (at < file || file == 0)) {
				first, file = false, at
			}
		}
		switch {
		case first:
		case file > 0 && lasts(name):
			named = append(named, fmt.Sprintf("%s from file %s on", name, Count(file)))
		case file > 0:
			named = append(named, fmt.Sprintf("%s in file %s", name, Count(file)))
		default:
			named = append(named, name)
		}
	}
	return named
}

// Extent returns the size of a run in one line, like [Facts] but without the checks.
func Extent(rep *check.Report) string {
	s := Plural(rep.Files, "file") + ", " + Plural(rep.Checkpoints, "checkpoint")
	switch peak := peakText(rep); {
	case peak != "":
		s += ", peak " + peak
	case rep.Checkpoints == 0:
		s += " (no memory reading)"
	}
	return s
}

// notJudged returns the gating checks that were skipped for every subject.
func notJudged(rep *check.Report) []string {
	var missing []string
	for _, name := range check.Checks {
		of := func(f check.Finding) bool { return f.Check == name && f.Gates }
		if slices.Contains(rep.Unread, name) {
			missing = append(missing, name)
			continue
		}
		judged := func(f check.Finding) bool {
			return (of(f) || f.Check == name && f.Waived != nil) && f.Verdict != check.Skipped
		}
		if slices.ContainsFunc(rep.Findings, of) && !slices.ContainsFunc(rep.Findings, judged) {
			missing = append(missing, name)
		}
	}
	return missing
}

// peakText returns the high-water mark and its percentage of the device. It is the reading that
// decided the worst finding of the peak check. If there is no such finding, it is of the first
// quantity that has a reading.
func peakText(rep *check.Report) string {
	if by := rep.PeakBy; by != nil {
		s := record.FormatBytes(by.Bytes) + " " + check.QuantityWords(by.Quantity)
		if by.Total > 0 {
			s += fmt.Sprintf(" (%s of %s)", Share(float64(by.Bytes)/float64(by.Total)),
				record.FormatBytes(by.Total))
		}
		return s
	}
	switch p := rep.HighWater; {
	case p.Allocated > 0:
		return record.FormatBytes(p.Allocated) + " allocated"
	case p.Used > 0:
		return record.FormatBytes(p.Used) + " in use"
	case p.Reserved > 0:
		return record.FormatBytes(p.Reserved) + " reserved"
	}
	return ""
}
