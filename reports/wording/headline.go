package wording

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
)

// Headline returns the summary of a run in one line: the answer, in parentheses the size of the
// run, and then what is waived and what is noted.
//
//	leak 1.00 MiB/file in Diarization since file 21 (60 files, 840 checkpoints, peak 4.13 GiB of 24.0 GiB)
//	60 files, no growth, every cleanup freed at least 99.8 % (1,380 checkpoints, peak 581 MiB)
func Headline(rep *check.Report) string {
	answer := Passed(rep)
	if cause := Worst(rep); cause != "" {
		answer = cause + " (" + Extent(rep) + ")"
	}
	return strings.Join(append([]string{answer}, remarks(rep)...), "; ")
}

// remarks returns what a summary says of findings that do not decide the verdict: "waived: leak
// from file 9 on", "noted: throughput from file 21 on".
func remarks(rep *check.Report) []string {
	var all []string
	for _, word := range []string{"waived", "noted"} {
		if checks := checksThat(rep, word); len(checks) > 0 {
			all = append(all, word+": "+strings.Join(checks, ", "))
		}
	}
	return all
}

// Worst returns the worst finding for which the report fails or is undecided, in a few words, and
// how many more there are: "host memory grows by 2.00 MiB/file since file 9, and 1 more". What
// follows from a finding is not counted. It returns "" if the report passes.
func Worst(rep *check.Report) string {
	if rep.Verdict == check.Pass {
		return ""
	}
	groups := Deciding(rep)
	if len(groups) == 0 {
		return "no check has the data that it needs"
	}
	worst := groups[0]
	cause := Title(worst.Finding) + inLog(rep, worst.Finding)
	i := slices.IndexFunc(worst.Consequences, func(f check.Finding) bool {
		return f.Check == check.OutOfMemory && f.File > 0
	})
	if i >= 0 {
		cause += "; memory ran out in file " + Count(worst.Consequences[i].File)
	}
	more := worst.Stands() - 1
	for i := range groups[1:] {
		more += groups[1+i].Stands()
	}
	if more > 0 {
		cause += ", and " + Count(more) + " more"
	}
	return cause
}

// inLog returns the log or the shard of a finding for a title: " in rank1.log". It returns "" if
// there is only one log, or if the finding's device tells it from the others. A rank does not: the
// logs of two nodes may have the same local ranks.
func inLog(rep *check.Report, f check.Finding) string {
	if rep.Shards != nil {
		return InShard(f)
	}
	ranked := strings.Contains(f.Device, ", ") // "rank 1, device 0"
	if rep.Logs < 2 || f.Device != "" && !ranked || f.At == nil || f.At.Path == "" {
		return ""
	}
	return " in " + f.At.Path
}

// Passed returns the summary of a run that passes: its answer, and in parentheses its size.
func Passed(rep *check.Report) string {
	answer := PassedAnswer(rep)
	if answer == "" {
		return Extent(rep)
	}
	return answer + " (" + strings.TrimPrefix(Extent(rep), Plural(rep.Files, "file")+", ") + ")"
}

// PassedAnswer returns what a run that passes has shown: its files, that nothing grows, and the
// least that a cleanup freed. It returns "" if neither growth nor cleanups were judged.
func PassedAnswer(rep *check.Report) string {
	parts := []string{Plural(rep.Files, "file")}
	least := math.Inf(1)
	for _, f := range rep.Findings {
		if f.Check == check.Recovery && f.Verdict == check.Pass && f.Measured != nil {
			least = min(least, *f.Measured)
		}
	}
	if slices.ContainsFunc(rep.Findings, func(f check.Finding) bool {
		return f.Check == check.Leak && f.Verdict == check.Pass
	}) && !slices.ContainsFunc(rep.Findings, grows) {
		parts = append(parts, "no growth")
	}
	if !math.IsInf(least, 1) {
		parts = append(parts, "every cleanup freed "+atLeast(least))
	}
	if len(parts) == 1 {
		return ""
	}
	if slices.Contains(NotJudged(rep), check.Leak) {
		parts = append(parts, "leak not judged")
	}
	return strings.Join(parts, ", ")
}

// grows reports whether a finding says that a ledger grows, whether it gates or not.
func grows(f check.Finding) bool { return growthTitle(f) != "" }

// Facts returns the size of a run and what was judged, in one line: "60 files, 1,140 checkpoints,
// peak 7.50 GiB of 24.0 GiB". If findings are waived, it adds "; waived: leak from file 9 on". If
// checks fail without gating, it adds "; noted: throughput from file 21 on". If the log has no data
// for some checks, it adds "; not judged: leak, peak".
func Facts(rep *check.Report) string {
	parts := append([]string{Extent(rep)}, remarks(rep)...)
	if missing := NotJudged(rep); len(missing) > 0 {
		parts = append(parts, "not judged: "+strings.Join(missing, ", "))
	}
	return strings.Join(parts, "; ")
}

// lasts reports whether a check that fails in one file also fails in all later files.
func lasts(name string) bool {
	return name == check.Drift || name == check.Throughput || check.LedgerOf(name) != nil
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
				named = append(named, FirstClause(f.Found()))
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
	if rep.Shards != nil {
		s = fmt.Sprintf("%s, %s on %s, %s", Plural(rep.Files, "file"),
			Plural(rep.Shards.Count, "shard"), Plural(rep.Shards.Nodes, "node"),
			Plural(rep.Checkpoints, "checkpoint"))
	}
	switch peak := peakText(rep); {
	case peak != "":
		s += ", peak " + peak
	case rep.Checkpoints == 0:
		s += " (no memory reading)"
	}
	return s
}

// NotJudged returns the gating checks that were skipped for every subject.
func NotJudged(rep *check.Report) []string {
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

// peakText returns the high-water mark and the size of the device: "23.1 GiB of 24.0 GiB". It is
// the reading that decided the worst finding of the peak check. If there is no such finding, it is
// of the first quantity that has a reading. A quantity other than allocated memory is named.
func peakText(rep *check.Report) string {
	if by := rep.PeakBy; by != nil {
		s := record.FormatBytes(by.Bytes)
		if by.Total > 0 {
			s += " of " + record.FormatBytes(by.Total)
		}
		if words := check.QuantityWords(by.Quantity); words != "allocated" {
			s += " " + words
		}
		return s
	}
	switch p := rep.HighWater; {
	case p.Allocated > 0:
		return record.FormatBytes(p.Allocated)
	case p.Used > 0:
		return record.FormatBytes(p.Used) + " in use"
	case p.Reserved > 0:
		return record.FormatBytes(p.Reserved) + " reserved"
	}
	return ""
}
