package wording

import (
	"fmt"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

// Headline returns the summary of a run in one line: "60 files, 1,140 checkpoints, peak 7.50 GiB
// allocated (31.3 % of 24.0 GiB)". If checks fail without gating, it adds "; noted: throughput from
// file 21 on". If the log has no data for some checks, it adds "; not judged: leak, peak".
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

// lastingChecks are the checks that, after failing in one file, also fail in all later files.
var lastingChecks = []string{
	check.Leak, check.Fragmentation, check.DarkGrowth, check.DeviceGrowth, check.PinnedGrowth,
	check.Drift, check.Throughput,
}

// notedChecks returns the checks that fail without gating. Each is given with the first file in
// which it fails, such as "throughput from file 21 on".
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

// Extent returns the summary of a run in one line, like [Headline] but without the checks.
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
		judged := func(f check.Finding) bool { return of(f) && f.Verdict != check.Skipped }
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
