package reports

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/parser"
	"vramsoak/reports/sink"
)

// ComparisonText writes a comparison of two runs and its verdict: a table with the worst metric first, and what is to be said
// of those that did not pass.
func ComparisonText(w io.Writer, c *compare.Comparison, verdict check.Verdict, opts TextOptions) error {
	t := newTextWriter(opts)
	changes, others := listed(worstFirst(c.Changes))
	t.wrap(t.paint(verdict, strings.ToUpper(string(verdict)))+": "+comparisonHeadline(c), "")
	t.WriteByte('\n')
	t.wrap("base: "+runLine(c.Base), "  ")
	t.wrap("new: "+runLine(c.New), "  ")
	for _, r := range c.Remarks {
		t.wrap("note: "+sink.Line(r), "  ")
	}
	for _, f := range c.FileFindings("") {
		t.WriteByte('\n')
		t.wrap(t.paint(f.Verdict, t.symbolWord(f.Verdict))+" "+sink.Line(f.Subject)+": "+sink.Line(f.Message), "  ")
	}
	if err := t.changes(changes); err != nil {
		return err
	}
	for _, c := range changes {
		if c.Verdict == check.Fail || c.Verdict == check.Undecided {
			t.WriteByte('\n')
			t.wrap(t.paint(c.Verdict, t.symbolWord(c.Verdict))+" "+sink.Line(c.Subject())+": "+sink.Line(c.Message), "  ")
		}
	}
	t.notCompared(changes)
	for _, more := range others {
		t.WriteByte('\n')
		t.wrap(more, "  ")
	}
	return t.flush(w)
}

// listed are the first [check.MostAlike] changes of each verdict, and what there is of others: a log can
// have a metric for each of 20,000 devices.
func listed(changes []compare.Change) (kept []compare.Change, others []string) {
	count := map[check.Verdict]int{}
	for _, c := range changes {
		if count[c.Verdict]++; count[c.Verdict] <= check.MostAlike {
			kept = append(kept, c)
		}
	}
	for _, v := range []check.Verdict{check.Fail, check.Undecided, check.Pass, check.Skipped} {
		if n := count[v] - check.MostAlike; n > 0 {
			others = append(others, fmt.Sprintf("%s others: %s; --format json has them all", number(n), v))
		}
	}
	return kept, others
}

// changeNumbers are the columns Base to Files.
var changeNumbers = []int{2, 3, 4, 5, 6}

// changes writes the table of what was compared. On a terminal that is too narrow for it, the interval and the
// probability are left out.
func (t *textWriter) changes(all []compare.Change) error {
	rows := [][]string{{"Verdict", "Metric", "Base", "New", "Change", "Files", "p", "A usual file, 95 %"}}
	for _, c := range all {
		if c.Verdict != check.Skipped {
			rows = append(rows, append([]string{t.paint(c.Verdict, t.symbolWord(c.Verdict))}, changeCells(c)...))
		}
	}
	if len(rows) == 1 {
		return nil
	}
	t.WriteByte('\n')
	const metricColumn, kept = 1, 6
	if t.Terminal && tableWidth(rows) > t.Width {
		for i := range rows {
			rows[i] = rows[i][:kept]
		}
	}
	numbers := slices.DeleteFunc(slices.Clone(changeNumbers), func(i int) bool { return i >= len(rows[0]) })
	return t.table(rows, numbers, metricColumn, t.squeezed(rows, metricColumn))
}

// notCompared writes the metrics that were skipped, a line each.
func (t *textWriter) notCompared(changes []compare.Change) {
	first := true
	for _, c := range changes {
		if c.Verdict != check.Skipped {
			continue
		}
		if first {
			t.WriteByte('\n')
			first = false
		}
		t.wrap(t.paint(check.Skipped, "skipped")+" "+sink.Line(c.Subject())+": "+sink.Line(c.Message), "  ")
	}
}

// ComparisonJSON writes the verdict of a comparison as one object, and in it what was compared. It
// encodes one metric at a time: a log can have 120,000.
func ComparisonJSON(w io.Writer, c *compare.Comparison, r *check.Report) error {
	short := *c
	short.Changes = []compare.Change{}
	return sink.WriteLongJSON(w, struct {
		*check.Report
		*compare.Comparison
	}{r, &short}, []sink.List{{Key: "metrics", Items: items(c.Changes)}})
}

// ComparisonMarkdown writes a comparison of two runs as a summary for a CI job or a comment.
func ComparisonMarkdown(w io.Writer, c *compare.Comparison, verdict check.Verdict) error {
	m := markdown{left: MarkdownLimit}
	m.add(fmt.Sprintf("## %s vramsoak compare: %s\n\n%s\n\n- base: %s\n- new: %s\n", verdictSign(verdict), verdict,
		escape(comparisonHeadline(c), 400), escape(runLine(c.Base), 400), escape(runLine(c.New), 400)))
	for _, r := range c.Remarks {
		m.add("- note: " + escape(r, 400) + "\n")
	}
	for _, f := range c.FileFindings("") {
		m.add(fmt.Sprintf("- **%s** %s: %s\n", f.Verdict, escape(f.Subject, 120), escape(f.Message, 600)))
	}
	changes, _ := listed(worstFirst(c.Changes)) // there is no room for more
	table := func(verdicts ...check.Verdict) mdTable {
		t := mdTable{header: "\n| Verdict | Metric | Base | New | Change | Files | p | A usual file, 95 % | Finding |\n" +
			"|---|---|--:|--:|--:|--:|--:|--:|---|\n"}
		for _, c := range changes {
			if slices.Contains(verdicts, c.Verdict) {
				cells := changeCells(c)
				cells[0] = escape(cells[0], 120)
				t.rows = append(t.rows, fmt.Sprintf("| %s | %s | %s |\n", c.Verdict, strings.Join(cells, " | "), escape(c.Message, 600)))
			}
		}
		return t
	}
	m.table(table(check.Fail, check.Undecided), 0)
	m.fold("Passed", table(check.Pass))
	m.fold("Not compared", table(check.Skipped))
	if _, err := io.WriteString(w, m.String()); err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	return nil
}

// BaselineText writes what a baseline holds: the run, and a line a metric.
func BaselineText(w io.Writer, b *compare.Baseline, opts TextOptions) error {
	t := newTextWriter(opts)
	t.wrap(runLine(b.Run)+"; "+plural(len(b.Files), "file"), "  ")
	if len(b.Run.Command) > 0 {
		t.wrap("command: "+sink.Line(strings.Join(b.Run.Command, " ")), "  ")
	}
	rows := [][]string{{"Metric", "Files", "Least", "Median", "Most"}}
	for _, m := range b.Metrics {
		values := slices.DeleteFunc(slices.Clone(m.Values), math.IsNaN)
		if len(values) == 0 {
			continue
		}
		slices.Sort(values)
		row := []string{metricName(m.Name, m.Rank, m.Device), number(len(values))}
		// Of an even number, the lower of the two in the middle: a value that the run had.
		for _, v := range []float64{values[0], values[(len(values)-1)/2], values[len(values)-1]} {
			row = append(row, check.Quantity(v, m.Unit))
		}
		rows = append(rows, row)
	}
	if len(rows) > 1 {
		t.WriteByte('\n')
		if err := t.table(rows, []int{1, 2, 3, 4}, 0, 0); err != nil {
			return err
		}
	}
	return t.flush(w)
}

// metricName is a metric for a person, with its rank and device where they are not the first.
func metricName(name string, rank, device int) string {
	if rank != 0 || device != 0 {
		name += " (" + parser.Lane{Device: device, Rank: rank}.Name(rank != 0) + ")"
	}
	return sink.Line(name)
}

// worstFirst is failing metrics first, then undecided, passed and skipped ones; within each, what got worse by the largest
// share.
func worstFirst(all []compare.Change) []compare.Change {
	rank := map[check.Verdict]int{check.Fail: 0, check.Undecided: 1, check.Pass: 2, check.Skipped: 3}
	worse := func(c compare.Change) float64 { return math.Copysign(c.Relative, c.Worse()) }
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b compare.Change) int {
		return cmp.Or(cmp.Compare(rank[a.Verdict], rank[b.Verdict]), cmp.Compare(worse(b), worse(a)))
	})
	return out
}

// changeCells are a metric's name, both medians, the change from the one to the other, the number of files, the probability, and
// the interval of the change of a usual file.
func changeCells(c compare.Change) []string {
	cells := []string{sink.Line(c.Subject()), "", "", "", "", "", ""}
	if c.Verdict == check.Skipped {
		return cells
	}
	cells[1], cells[2] = check.Quantity(c.Base, c.Unit), check.Quantity(c.New, c.Unit)
	cells[3], cells[4] = relative(c.New-c.Base, c), number(c.Files)
	if c.P != nil {
		cells[5] = probability(*c.P)
	}
	if c.Interval != nil {
		cells[6] = relative(c.Interval.Low, c) + " to " + relative(c.Interval.High, c)
	}
	return cells
}

// relative is a difference as a share of the base, or by itself where the base is nothing, as growth mostly is.
func relative(difference float64, c compare.Change) string {
	if c.Base == 0 || c.Unit == check.BytesPerFile {
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

// comparisonHeadline is "2 of 12 metrics worse, 1 undecided, 8 not compared (only the base has them); 60 files in both runs".
func comparisonHeadline(c *compare.Comparison) string {
	count, only := map[check.Verdict]int{}, map[string]int{}
	for _, m := range c.Changes {
		count[m.Verdict]++
		only[m.Only]++
	}
	judged := len(c.Changes) - count[check.Skipped]
	s := fmt.Sprintf("%s of %s worse", number(count[check.Fail]), plural(judged, "metric"))
	if n := len(c.NewlyFailed); n > 0 {
		s += fmt.Sprintf(", %s newly failed", plural(n, "file"))
	}
	if n := count[check.Undecided]; n > 0 {
		s += fmt.Sprintf(", %s undecided", number(n))
	}
	if n := count[check.Skipped]; n > 0 {
		s += fmt.Sprintf(", %s not compared", number(n))
		if why := onlyIn(only, n); why != "" {
			s += " (" + why + ")"
		}
	}
	if c.Files == 0 {
		return s + fmt.Sprintf("; no file in both runs, %s in the base and %s in the new one", number(c.BaseFiles), number(c.NewFiles))
	}
	return s + "; " + plural(c.Files, "file") + " in both runs"
}

// onlyIn says which run alone has the metrics that were not compared, as far as that is why: "only the base has them", or of some
// of them "only the base has 3 of them".
func onlyIn(only map[string]int, skipped int) string {
	var said []string
	for _, run := range []struct{ key, name string }{{compare.OnlyBase, "the base"}, {compare.OnlyNew, "the new run"}} {
		switch n := only[run.key]; {
		case n == skipped && n == 1:
			said = append(said, "only "+run.name+" has it")
		case n == skipped:
			said = append(said, "only "+run.name+" has them")
		case n > 0:
			said = append(said, fmt.Sprintf("only %s has %s of them", run.name, number(n)))
		}
	}
	return strings.Join(said, ", ")
}

// runLine is "runs/x/soak.log, 2026-11-20T02:00:00Z, commit 33395edd1b92, on builder, NVIDIA A10, driver 550.54".
func runLine(r compare.RunInfo) string {
	parts := []string{cmp.Or(r.Log, "a run")}
	if !r.Started.IsZero() {
		parts = append(parts, r.Started.UTC().Format(time.RFC3339))
	}
	for _, p := range []struct{ before, what string }{
		{"commit ", r.Commit[:min(len(r.Commit), 12)]}, {"on ", r.Host}, {"", r.GPU}, {"driver ", r.Driver}, {"verdict ", string(r.Verdict)},
	} {
		if p.what != "" {
			parts = append(parts, p.before+p.what)
		}
	}
	return sink.Line(strings.Join(parts, ", "))
}
