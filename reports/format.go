package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/reports/sink"
)

// ordered is the report's findings in the order in which a person needs them; within each kind, the judge's order.
func ordered(rep *check.Report) []check.Finding {
	out := slices.Clone(rep.Findings)
	slices.SortStableFunc(out, byVerdict)
	return out
}

// byVerdict compares findings by their verdict: failing first, those that gate before those that do not, then undecided, passed
// and skipped.
func byVerdict(a, b check.Finding) int {
	rank := []check.Verdict{check.Fail, check.Undecided, check.Pass, check.Skipped}
	if c := cmp.Compare(slices.Index(rank, a.Verdict), slices.Index(rank, b.Verdict)); c != 0 {
		return c
	}
	switch {
	case a.Gates == b.Gates:
		return 0
	case a.Gates:
		return -1
	default:
		return 1
	}
}

// withVerdict is the findings that have one of the verdicts.
func withVerdict(findings []check.Finding, verdicts ...check.Verdict) []check.Finding {
	var out []check.Finding
	for _, f := range findings {
		if slices.Contains(verdicts, f.Verdict) {
			out = append(out, f)
		}
	}
	return out
}

// verdictWord is how a finding's verdict is called in a table: one that fails and does not gate is only noted.
func verdictWord(f check.Finding) string {
	if f.Verdict == check.Fail && !f.Gates {
		return "noted"
	}
	return string(f.Verdict)
}

// measured is what a finding measured, in units for people: "97.5 %", "7.23 GiB", "4.00 MiB/file".
func measured(f check.Finding) string {
	if f.Measured == nil {
		return ""
	}
	limit := math.NaN()
	if f.Limit != nil {
		limit = *f.Limit
	}
	return quantity(*f.Measured, limit, f.Unit)
}

// limit is what a finding was held against, with the side that passes: "≥ 95 %". A recovery must reach its
// limit; everything else must stay within it.
func limit(f check.Finding) string {
	if f.Limit == nil {
		return ""
	}
	if f.Unit == check.Count && *f.Limit == 0 {
		return "0"
	}
	text := strings.Replace(quantity(*f.Limit, math.NaN(), f.Unit), ".0 %", " %", 1)
	if f.Check == check.Recovery {
		return "≥ " + text
	}
	return "≤ " + text
}

// quantity prints a value in a finding's unit. A ratio gets as many digits as it takes to tell it from the limit: 94.96 %
// is not 95.0 %.
func quantity(value, limit float64, unit string) string {
	if unit != check.Ratio {
		return check.Quantity(value, unit)
	}
	digits := 1
	for digits < 4 && value != limit && !math.IsNaN(limit) &&
		strconv.FormatFloat(100*value, 'f', digits, 64) == strconv.FormatFloat(100*limit, 'f', digits, 64) {
		digits++
	}
	return strconv.FormatFloat(100*value, 'f', digits, 64) + " %"
}

func bytesOf(value float64) string { return check.Quantity(value, check.Bytes) }

// location is where a finding was seen: "soak.log:88", or "" where it is about the whole log.
func location(f check.Finding) string {
	if f.At == nil {
		return ""
	}
	return sink.Line(f.At.String())
}

// number prints a count with its thousands set apart: "45,000".
func number(n int) string { return check.Grouped(strconv.Itoa(n)) }

// plural is "1 file" or "60 files".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// headline is a run in one line: "60 files, 1,140 checkpoints, peak 7.50 GiB allocated (31.3 % of 24.0 GiB)". What fails
// and does not gate is named, "; noted: throughput from file 21 on", and what the log gave nothing to judge by: "; not
// judged: leak, peak".
func headline(rep *check.Report) string {
	s := extent(rep)
	if noted := notedChecks(rep); len(noted) > 0 {
		s += "; noted: " + strings.Join(noted, ", ")
	}
	if missing := notJudged(rep); len(missing) > 0 {
		s += "; not judged: " + strings.Join(missing, ", ")
	}
	return s
}

// lastingChecks are the checks whose failure lasts from one file to the end.
var lastingChecks = []string{check.Leak, check.Fragmentation, check.DarkGrowth, check.Drift, check.Throughput}

// notedChecks are those that fail and do not gate, with the file from which on they do, or in which.
func notedChecks(rep *check.Report) []string {
	var noted []string
	for _, name := range check.Checks {
		first, file := true, 0
		for _, f := range rep.Findings {
			if f.Check == name && f.Verdict == check.Fail && !f.Gates && (first || f.File > 0 && f.File < file) {
				first, file = false, f.File
			}
		}
		switch {
		case first:
		case file > 0 && slices.Contains(lastingChecks, name):
			noted = append(noted, fmt.Sprintf("%s from file %s on", name, number(file)))
		case file > 0:
			noted = append(noted, fmt.Sprintf("%s in file %s", name, number(file)))
		default:
			noted = append(noted, name)
		}
	}
	return noted
}

// extent is a run in one line, without what was not judged.
func extent(rep *check.Report) string {
	s := plural(rep.Files, "file") + ", " + plural(rep.Checkpoints, "checkpoint")
	switch peak := peakText(rep); {
	case peak != "":
		s += ", peak " + peak
	case rep.Checkpoints == 0:
		s += " (no memory reading)"
	}
	return s
}

// notJudged are the checks that would decide the verdict and were skipped wherever they were tried.
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

// peakText is the high-water mark with its share of the device: that which decided the worst finding on a peak, or without one
// the first reading that the log has.
func peakText(rep *check.Report) string {
	if by := rep.PeakBy; by != nil {
		s := parser.FormatBytes(by.Bytes) + " " + check.QuantityWords(by.Quantity)
		if by.Total > 0 {
			s += fmt.Sprintf(" (%s of %s)", check.Quantity(float64(by.Bytes)/float64(by.Total), check.Ratio), parser.FormatBytes(by.Total))
		}
		return s
	}
	switch p := rep.HighWater; {
	case p.Allocated > 0:
		return parser.FormatBytes(p.Allocated) + " allocated"
	case p.Used > 0:
		return parser.FormatBytes(p.Used) + " in use"
	case p.Reserved > 0:
		return parser.FormatBytes(p.Reserved) + " reserved"
	}
	return ""
}

// pad fills a cell with blanks to a width in columns of a terminal. It does not cut a wider one.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-twwidth.Width(s)))
}

// cutCell cuts a cell to a width in columns of a terminal, with an ellipsis for what is cut.
func cutCell(s string, width int) string {
	if twwidth.Width(s) <= width {
		return s
	}
	return strings.TrimRight(twwidth.Truncate(s, max(0, width-3)), " ") + "..."
}

// shorten cuts text to at most n runes, with an ellipsis in the place of what is cut.
func shorten(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return strings.TrimRight(string(runes[:max(0, n-3)]), " ") + "..."
}

// shortenPath cuts a path's front: what tells files apart stands at the end.
func shortenPath(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return "..." + string(runes[len(runes)-max(0, n-3):])
}
