package wording

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/reports/sink"
)

// Sorted returns the findings by verdict, beginning with fail. Findings with the same verdict stay
// in the order of the report.
func Sorted(rep *check.Report) []check.Finding {
	out := slices.Clone(rep.Findings)
	slices.SortStableFunc(out, CompareVerdicts)
	return out
}

// CompareVerdicts orders findings by verdict: fail, undecided, pass, skipped. Among findings that
// fail, those that gate come first.
func CompareVerdicts(a, b check.Finding) int {
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

// WithVerdict returns the findings whose verdict is one of verdicts.
func WithVerdict(findings []check.Finding, verdicts ...check.Verdict) []check.Finding {
	var out []check.Finding
	for _, f := range findings {
		if slices.Contains(verdicts, f.Verdict) {
			out = append(out, f)
		}
	}
	return out
}

// Verdict returns a finding's verdict for tables. If the policy waives the finding, this is
// "waived". If a finding fails but does not gate, this is "noted".
func Verdict(f check.Finding) string {
	switch {
	case f.Waived != nil:
		return "waived"
	case f.Verdict == check.Fail && !f.Gates:
		return "noted"
	}
	return string(f.Verdict)
}

// Measured prints what a finding measured: "97.5 %", "7.23 GiB", "4.00 MiB/file".
func Measured(f check.Finding) string {
	if f.Measured == nil {
		return ""
	}
	if f.Unit == check.Count && *f.Measured == 0 {
		return "none"
	}
	limit := math.NaN()
	if f.Limit != nil {
		limit = *f.Limit
	}
	return quantity(*f.Measured, limit, f.Unit)
}

// Limit returns a finding's limit and on which side of it values pass: "≥ 95 %" for a recovery,
// which must reach its limit, and "≤ 95 %" for everything else.
func Limit(f check.Finding) string {
	if f.Limit == nil {
		return ""
	}
	if f.Unit == check.Count && *f.Limit == 0 {
		return "none"
	}
	text := strings.Replace(quantity(*f.Limit, math.NaN(), f.Unit), ".0 %", " %", 1)
	if f.HigherIsBetter() {
		return "≥ " + text
	}
	return "≤ " + text
}

// quantity returns a value in a finding's unit. A ratio gets as many digits as it takes to differ
// from the limit: with a limit of 95 %, 94.96 % is not shown as 95.0 %.
func quantity(value, limit float64, unit string) string {
	if unit != check.Ratio {
		return check.Quantity(value, unit)
	}
	digits := 1
	for digits < 4 && value != limit && !math.IsNaN(limit) &&
		strconv.FormatFloat(100*value, 'f', digits, 64) == strconv.FormatFloat(100*limit, 'f',
			digits, 64) {
		digits++
	}
	return strconv.FormatFloat(100*value, 'f', digits, 64) + " %"
}

// Location returns the line of the log that shows a finding: "soak.log:88". It returns "" if the
// finding is about the whole log.
func Location(f check.Finding) string {
	if f.At == nil {
		return ""
	}
	return sink.Line(f.At.String())
}

// Advice returns the advice of all findings, each with the check that it is about: "advice,
// out-of-memory: ...".
func Advice(findings []check.Finding) (all []string) {
	for _, f := range findings {
		for _, text := range f.Advice {
			all = append(all, "advice, "+f.Check+": "+text)
		}
	}
	return all
}

// Notes returns the report's notes. The last of them says what the pipeline did beside its
// checkpoints.
func Notes(rep *check.Report) []string {
	if rep.Work == nil || rep.Work.String() == "" {
		return rep.Notes
	}
	return append(slices.Clip(rep.Notes), rep.Work.String())
}
