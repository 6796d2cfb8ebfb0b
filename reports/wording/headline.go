package wording

import (
	"fmt"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

// Headline sums up a run in one line: "60 files, 1,140 checkpoints, peak 7.50 GiB allocated (31.3 %
// of 24.0 GiB)". It adds the checks that fail and do not gate, "; noted: throughput from file 21
// on", and the checks for which the log has no data, "; not judged: leak, peak".
func Headline(rep *check.Report) string {
	s := Extent(rep)
	if noted := notedChecks(rep); len(noted) > 0 {
		s += "; noted: " + strings.Join(noted, ", ")
	}
	if missing := notJudged(rep); len(missing) > 0 {
		s += "; not judged: " + strings.Join(missing, ", ")
	}
	return s
}

// lastingChecks are the checks that, once they fail in a file, fail until the last file.
var lastingChecks = []string{
	check.Leak, check.Fragmentation, check.DarkGrowth, check.Drift,
	check.Throughput,
}

// notedChecks returns the checks that fail and do not gate, with the file in which, or from which
// on, they fail.
func notedChecks(rep *check.Report) []string {
	var noted []string
	for _, name := range check.Checks {
		first, file := true, 0
		for _, f := range rep.Findings {
			if f.Check == name && f.Verdict == check.Fail && !f.Gates &&
				(first || f.File > 0 && f.File < file) {
				first, file = false, f.File
			}
		}
		switch {
		case first:
		case file > 0 && slices.Contains(lastingChecks, name):
			noted = append(noted, fmt.Sprintf("%s from file %s on", name, Count(file)))
		case file > 0:
			noted = append(noted, fmt.Sprintf("%s in file %s", name, Count(file)))
		default:
			noted = append(noted, name)
		}
	}
	return noted
}

// Extent sums up a run in one line, without the checks that were not judged.
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

// notJudged returns the checks that gate and were skipped for every subject.
func notJudged(rep *check.Report) []string {
	var missing []string
	for _, name := range check.Checks {
		of := func(f check.Finding) bool { return f.Check == name && f.Gates }
		if slices.Contains(rep.Unread, name) {
			missing = append(missing, name)
			continue
		}
		judged := func(f check.Finding) bool { return of(f) && f.Verdict != check.Skipped }
		if slices.ContainsFunc(rep.Findings, of) && !slices.ContainsFunc(rep.Findings, judged) {
			missing = append(missing, name)
		}
	}
	return missing
}

// peakText prints the high-water mark with its share of the device. It takes the reading that
// decided the worst finding on a peak. Without such a finding it takes the first quantity that has
// a reading.
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
