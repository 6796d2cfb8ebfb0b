package wording

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/parser/record"
	"vramsoak/reports/sink"
)

// ListChanges returns at most [check.MostAlike] changes for each verdict. For each verdict with
// more changes, it also returns a sentence that counts them. A log may have a metric for each of
// 20,000 devices.
func ListChanges(changes []compare.Change) (kept []compare.Change, others []string) {
	count := map[check.Verdict]int{}
	for _, c := range changes {
		if count[c.Verdict]++; count[c.Verdict] <= check.MostAlike {
			kept = append(kept, c)
		}
	}
	for _, v := range []check.Verdict{check.Fail, check.Undecided, check.Pass, check.Skipped} {
		if n := count[v] - check.MostAlike; n > 0 {
			others = append(others, fmt.Sprintf("%s others: %s; --format json has them all",
				Count(n), v))
		}
	}
	return kept, others
}

// Metric names a metric, with its rank and device unless both are 0.
func Metric(name string, rank, device int) string {
	if rank != 0 || device != 0 {
		name += " (" + record.Lane{Device: device, Rank: rank}.Name(rank != 0) + ")"
	}
	return sink.Line(name)
}

// WorstFirst sorts changes by verdict: fail, undecided, pass, skipped. Within a verdict, levels
// that grow from file to file come first, because they run out, and times last. Among metrics of
// one kind, the one that got worse by the largest ratio comes first.
func WorstFirst(all []compare.Change) []compare.Change {
	rank := map[check.Verdict]int{
		check.Fail: 0, check.Undecided: 1, check.Pass: 2,
		check.Skipped: 3,
	}
	worse := func(c compare.Change) float64 { return math.Copysign(c.Relative, c.Worse()) }
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b compare.Change) int {
		return cmp.Or(cmp.Compare(rank[a.Verdict], rank[b.Verdict]), cmp.Compare(kind(a), kind(b)),
			cmp.Compare(worse(b), worse(a)))
	})
	return out
}

// kind orders the metrics of one verdict.
func kind(c compare.Change) int {
	switch {
	case strings.HasSuffix(c.Unit, check.PerFile):
		return 0
	case c.Unit == check.Seconds || c.Unit == check.TimesRealTime:
		return 2
	}
	return 1
}

// ChangeCells returns a change as the cells of a table row: the metric's name, the two medians, the
// change between them, the number of files, the p-value, and the confidence interval of the change
// for a typical file.
func ChangeCells(c compare.Change) []string {
	cells := []string{sink.Line(c.Subject()), "", "", "", "", "", ""}
	if c.Verdict == check.Skipped {
		return cells
	}
	cells[1], cells[2] = check.Quantity(c.Base, c.Unit), check.Quantity(c.New, c.Unit)
	cells[3], cells[4] = relative(c.New-c.Base, c), Count(c.Files)
	if c.P != nil {
		cells[5] = probability(*c.P)
	}
	if c.Interval != nil {
		cells[6] = relative(c.Interval.Low, c) + " to " + relative(c.Interval.High, c)
	}
	return cells
}

// ChangeInBrief returns by how much a metric got worse, for a list of the metrics that follow from
// another one: "peak +53.3 %".
func ChangeInBrief(c compare.Change) string {
	return sink.Line(c.Subject()) + " " + relative(c.New-c.Base, c)
}

// relative returns a difference as a percentage of the base. If the base is 0, or the metric is a
// growth, it returns the difference itself.
func relative(difference float64, c compare.Change) string {
	if c.Base == 0 || strings.HasSuffix(c.Unit, check.PerFile) {
		return check.Quantity(difference, c.Unit)
	}
	if difference == 0 {
		return "0 %"
	}
	return check.Change(difference / math.Abs(c.Base))
}

func probability(p float64) string {
	if p < 0.0001 {
		return "<0.0001"
	}
	return strconv.FormatFloat(p, 'f', 4, 64)
}

// ComparisonHeadline returns the summary of a comparison in one line. It begins with the worst that
// was found: "idle level 12.5 % worse (2.25 GiB, was 2.00 GiB); 2 of 12 metrics worse, 1 undecided,
// 8 not compared (only the base has them); 60 files in both runs".
func ComparisonHeadline(c *compare.Comparison) string {
	count, only := map[check.Verdict]int{}, map[string]int{}
	for _, m := range c.Changes {
		count[m.Verdict]++
		only[m.Only]++
	}
	var parts []string
	if n := len(c.NewlyFailed); n > 0 {
		parts = append(parts, Plural(n, "file")+" failed that ended ok in the base")
	}
	for _, worst := range WorstFirst(c.Changes) {
		if worst.Verdict == check.Fail && worst.Cause == "" {
			parts = append(parts, worse(worst))
			break
		}
	}
	if len(parts) == 0 {
		for _, worst := range WorstFirst(c.Changes) {
			if worst.Verdict == check.Undecided {
				parts = append(parts, sink.Line(worst.Subject())+" may be worse")
				break
			}
		}
	}
	metrics := fmt.Sprintf("%s of %s worse", Count(count[check.Fail]),
		Plural(len(c.Changes)-count[check.Skipped], "metric"))
	if n := count[check.Undecided]; n > 0 {
		metrics += fmt.Sprintf(", %s undecided", Count(n))
	}
	if n := count[check.Skipped]; n > 0 {
		metrics += fmt.Sprintf(", %s not compared", Count(n))
		if why := onlyIn(only, n); why != "" {
			metrics += " (" + why + ")"
		}
	}
	files := Plural(c.Files, "file") + " in both runs"
	if c.Files == 0 {
		files = fmt.Sprintf("no file in both runs, %s in the base and %s in the new one",
			Count(c.BaseFiles), Count(c.NewFiles))
	}
	if c.Files > 0 && c.OnlyBase > 0 {
		files += fmt.Sprintf(", %s only in the base", Count(c.OnlyBase))
	}
	if c.Files > 0 && c.OnlyNew > 0 {
		files += fmt.Sprintf(", %s only in the new run", Count(c.OnlyNew))
	}
	return strings.Join(append(parts, metrics, files), "; ")
}

// worse returns by how much a metric got worse: "idle level 12.5 % worse (2.25 GiB, was 2.00 GiB)".
func worse(c compare.Change) string {
	if strings.HasSuffix(c.Unit, check.PerFile) {
		return fmt.Sprintf("%s %s (was %s)", sink.Line(c.Subject()), check.Quantity(c.New, c.Unit),
			check.Quantity(c.Base, c.Unit))
	}
	return fmt.Sprintf("%s %s worse (%s, was %s)", sink.Line(c.Subject()),
		strings.TrimLeft(relative(c.New-c.Base, c), "+-"), check.Quantity(c.New, c.Unit),
		check.Quantity(c.Base, c.Unit))
}

// onlyIn says which run has the metrics that were not compared: "only the base has them", or "only
// the base has 3 of them". It returns "" if both runs have them.
func onlyIn(only map[string]int, skipped int) string {
	var said []string
	for _, run := range []struct{ key, name string }{
		{compare.OnlyBase, "the base"},
		{compare.OnlyNew, "the new run"},
	} {
		switch n := only[run.key]; {
		case n == skipped && n == 1:
			said = append(said, "only "+run.name+" has it")
		case n == skipped:
			said = append(said, "only "+run.name+" has them")
		case n > 0:
			said = append(said, fmt.Sprintf("only %s has %s of them", run.name, Count(n)))
		}
	}
	return strings.Join(said, ", ")
}

// Run describes a run in one line: "runs/x/soak.log, 2026-11-20T02:00:00Z, commit 33395edd1b92, on
// builder, NVIDIA A10, driver 550.54".
func Run(r compare.RunInfo) string {
	parts := []string{cmp.Or(r.Log, "a run")}
	if !r.Started.IsZero() {
		parts = append(parts, r.Started.UTC().Format(time.RFC3339))
	}
	for _, p := range []struct{ before, what string }{
		{"commit ", r.Commit[:min(len(r.Commit), 12)]},
		{"on ", r.Host},
		{"", r.GPU},
		{"driver ", r.Driver},
		{"verdict ", string(r.Verdict)},
	} {
		if p.what != "" {
			parts = append(parts, p.before+p.what)
		}
	}
	return sink.Line(strings.Join(parts, ", "))
}
