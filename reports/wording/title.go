package wording

import (
	"regexp"
	"slices"
	"strings"

	"vramsoak/harness/check"
)

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
			return "out of memory " + Plural(int(*f.Measured), "time") + ", first in file " +
				Count(f.File)
		}
		if f.Stage != "" {
			where = " in " + f.Stage
		}
		_, sizes, _ := strings.Cut(FirstClause(f.Found()), ": ")
		if sizes != "" {
			where += ": " + firstOf(sizes, 2)
		}
		return "out of memory in file " + Count(f.File) + where
	case f.Check == check.Completeness && f.File > 0 && f.Measured != nil &&
		others.MatchString(FirstClause(f.Found())): // the headline itself may end with "and 2 more"
		return Plural(int(*f.Measured), "file") + " did not end ok, first file " + Count(f.File)
	case f.Check == check.Peak && f.Measured != nil:
		title := "peak at " + Measured(f) + " of the device" + where
		if f.File > 0 {
			title += " in file " + Count(f.File)
		}
		return title
	case f.Check == check.Recovery && f.Measured != nil && *f.Measured >= 0 && f.File > 0:
		return f.Subject + " frees " + Measured(f) + " in file " + Count(f.File)
	}
	return numbersOnly(Brief(f))
}

// numbersOnly returns a text without the names of files behind their numbers, and with the numbers
// together: "file 7 (a.wav), file 8 (b.wav) and file 21 (c.wav) failed" becomes "files 7, 8 and 21
// failed".
func numbersOnly(text string) string {
	text = fileNames.ReplaceAllString(text, "$1")
	return severalFiles.ReplaceAllStringFunc(text, func(list string) string {
		return "files " + strings.ReplaceAll(list, "file ", "")
	})
}

// others finds the end of a list of files.
var others = regexp.MustCompile(`,? and \d+ more`)

// severalFiles finds "file 7, file 8 and file 21".
var severalFiles = regexp.MustCompile(`\bfile \d+(?:, file \d+)* and file \d+`)

// undecidedTitle returns the title of a finding that is undecided. Its message may begin with what
// holds, "no growth above 5.54 KiB a file", and end with what is not known.
func undecidedTitle(f check.Finding) string {
	message := f.Found()
	if strings.HasPrefix(message, "no growth") || strings.HasPrefix(message, "no fall") {
		if i := strings.LastIndex(message, "; "); i >= 0 {
			return f.Subject + ": " + message[i+2:]
		}
	}
	return numbersOnly(Brief(f))
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
	ledger := check.LedgerOf(f.Check)
	if ledger == nil || f.Verdict != check.Fail || f.Measured == nil || !isRate(f.Unit) {
		return ""
	}
	var title string
	switch f.Check {
	case check.Leak, check.Fragmentation:
		title = f.Check + " " + Measured(f)
	default:
		title = check.Sentence(ledger.Name, "grows by "+Measured(f))
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
		if ledger := check.LedgerOf(name); ledger != nil {
			names[i] = ledger.Name
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

// Brief returns a finding in a few words: its subject, and the first clause of its message
// without the confidence interval.
func Brief(f check.Finding) string {
	clause := FirstClause(f.Found())
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
