package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
	"vramsoak/harness/waiver"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// HistoryList writes a table of runs.
func HistoryList(w io.Writer, runs []history.Entry, opts Options) error {
	t := newWriter(opts)
	rows := [][]string{{"Run", "Suite", "Started", "Commit", "Verdict", "Files", "Host", "Log"}}
	for _, e := range runs {
		rows = append(rows, []string{
			strconv.FormatInt(e.ID, 10), sink.Line(e.Suite), e.Started.Format("2006-01-02 15:04"),
			wording.ShortCommit(e),
			t.paint(e.Verdict, t.signedVerdict(e.Verdict)), wording.Count(e.Files),
			sink.Line(e.Host), sink.Line(e.Log),
		})
	}
	if err := t.table(rows, []int{0, 5}, 7); err != nil {
		return err
	}
	return t.flush(w)
}

// entryName names a run in a sentence: "run 41 (2026-10-11, 5d6e7f8)".
func entryName(e history.Entry) string {
	s := fmt.Sprintf("run %d (%s", e.ID, e.Started.Format("2006-01-02"))
	if commit := wording.ShortCommit(e); commit != "" {
		s += ", " + commit
	}
	return s + ")"
}

// HistoryRun writes what the history holds about a run: its data, the values of its series, and the
// findings that did not pass.
func HistoryRun(
	w io.Writer, e history.Entry, run *history.Run, series []history.Series, opts Options,
) error {
	t := newWriter(opts)
	t.wrap(fmt.Sprintf("%s of suite %s: %s, %s, %s", entryName(e), sink.Line(e.Suite),
		t.paint(e.Verdict, strings.ToUpper(string(e.Verdict))), wording.Plural(run.Files, "file"),
		wording.Plural(run.Checkpoints, "checkpoint")), "")
	t.wrap(wording.Run(run.Baseline.Run), "  ")
	// The table has a row for each metric and a column for each statistic.
	rows := [][]string{{"Metric", "Median", "P95", "Worst", "Growth"}}
	for i, s := range series {
		name := wording.Series(s.SeriesKey, false)
		if i == 0 || wording.Series(series[i-1].SeriesKey, false) != name {
			rows = append(rows, make([]string, len(rows[0])))
			rows[len(rows)-1][0] = name
		}
		column := 1 + slices.Index(history.Statistics, s.Statistic)
		rows[len(rows)-1][column] = check.Quantity(s.Values[len(s.Values)-1], s.Unit)
	}
	t.WriteByte('\n')
	if err := t.table(rows, []int{1, 2, 3, 4}, 0); err != nil {
		return err
	}
	t.groups(wording.Groups(&check.Report{Findings: run.Findings}))
	return t.flush(w)
}

// Trend writes the changes in a suite's history. It also writes a sentence for each lasting change
// for the worse, for the series that get worse slowly, and for each change that was reported
// earlier and is not reported any more.
func Trend(
	w io.Writer, h *history.History, series []*history.Series, changes []history.Change,
	drifts []history.Drift, withdrawn []history.Withdrawn, opts Options,
) error {
	t := newWriter(opts)
	t.wrap(wording.HistoryHeadline(h, series, changes, drifts), "  ")
	if len(changes) > 0 {
		rows := [][]string{{
			"Series", "Change", "By", "First run", "Run before", "From", "To",
			"Runs",
		}}
		for _, c := range changes {
			rows = append(rows, []string{
				wording.Series(c.Series.SeriesKey, true), t.direction(c), wording.ChangeSize(c),
				runCell(h.Runs[c.Bad]), runCell(h.Runs[c.Good]),
				check.Quantity(c.Before, c.Series.Unit), check.Quantity(c.After, c.Series.Unit),
				wording.Count(c.Runs),
			})
		}
		t.WriteByte('\n')
		numbers := []int{2, 5, 6, 7}
		if t.tableWidth(rows) > t.Width { // the sentences have the other columns
			const kept = 4
			for i := range rows {
				rows[i] = rows[i][:kept]
			}
			numbers = numbers[:1]
		}
		if err := t.table(rows, numbers, 0); err != nil {
			return err
		}
	}
	for _, c := range changes {
		if c.Lasting {
			t.WriteByte('\n')
			t.wrap(RegressionText(h, c), "  ")
		}
	}
	t.slowRises(h, drifts)
	t.withdrawn(h, withdrawn)
	return t.flush(w)
}

// slowRises writes a sentence for each group of series that get worse slowly and alike.
func (t *writer) slowRises(h *history.History, drifts []history.Drift) {
	groups := wording.SlowRises(drifts)
	ignored := 0
	for _, g := range groups {
		if len(g[0].Steps) == 0 {
			ignored++
		}
		t.WriteByte('\n')
		t.wrap("slowly worse: "+slowRise(h, g), "  ")
	}
	if ignored > 0 {
		t.WriteByte('\n')
		t.wrap("history gate looks for steps. It does not fail because of a slow rise without one.", "")
	}
}

// slowRise describes the first series of a group that gets worse alike, and names the others.
func slowRise(h *history.History, group []history.Drift) string {
	s := DriftText(h, &group[0])
	if same := wording.TheSame(group); same != "" {
		s += " " + strings.ToUpper(same[:1]) + same[1:] + "."
	}
	return s
}

// DriftText describes a series that gets worse slowly, and says where to look for its cause.
func DriftText(h *history.History, d *history.Drift) string {
	from := h.Runs[d.From]
	s := fmt.Sprintf("%s %s, since %s.", wording.SeriesSubject(d.Series.SeriesKey),
		wording.SlowRise(d), entryName(from))
	if bounds := wording.RiseBounds(d); bounds != "" {
		s += " " + strings.ToUpper(bounds[:1]) + bounds[1:] + "."
	}
	if d.Good >= 0 {
		s += fmt.Sprintf(" The last good run is %s.", entryName(h.Runs[d.Good]))
		// The cause may be wherever the rise may have begun.
		good := h.Runs[d.Series.Runs[slices.Index(d.Series.Runs, d.Early)-1]]
		late, both := h.Runs[d.Late], "Both"
		if d.Early < d.Late {
			both = fmt.Sprintf("Run %d and run %d", good.ID, late.ID)
		}
		s = strings.Join(append([]string{s}, causes(both, good, late)...), " ")
	}
	return s
}

// worstRegression says of the worst regression that fails by how much a series got worse, and since
// when: "peak, worst +824 MiB (+11.8 %) since run 6 (2026-11-06, c6)".
func worstRegression(h *history.History, slow [][]history.Drift, steps []history.Change,
	ended []history.Known,
) string {
	steps = slices.Clone(steps)
	for _, k := range ended {
		steps = append(steps, k.Change)
	}
	var drifts []history.Drift
	for _, g := range slow {
		drifts = append(drifts, g[0])
	}
	worst := history.WorstFirst(steps, drifts)[0]
	name := wording.Series(worst.Series().SeriesKey, true)
	if d := worst.Drift; d != nil {
		share := ""
		if by := wording.RiseShare(d); by != "" {
			share = " (" + by + ")"
		}
		return fmt.Sprintf("%s slowly worse%s since %s",
			wording.SeriesSubject(d.Series.SeriesKey), share, entryName(h.Runs[d.From]))
	}
	return fmt.Sprintf("%s %s since %s", name, wording.ChangeSize(*worst.Step),
		entryName(h.Runs[worst.Step.Bad]))
}

// withdrawn writes a sentence for each change that is not reported any more.
func (t *writer) withdrawn(h *history.History, all []history.Withdrawn) {
	for _, w := range all {
		t.WriteByte('\n')
		t.wrap("no longer a change: "+withdrawal(h, w), "  ")
	}
}

// withdrawal says which change is not reported any more, and why.
func withdrawal(h *history.History, w history.Withdrawn) string {
	s := fmt.Sprintf("%s: %s since %s. ", wording.Series(w.Series.SeriesKey, true),
		wording.ChangeSize(w.Change), entryName(h.Runs[w.Bad]))
	until := entryName(h.Runs[w.Until])
	w.After = w.Now
	switch {
	case w.Back == 1:
		return s + fmt.Sprintf("%s is back at the old level, %s.",
			strings.ToUpper(until[:1])+until[1:], check.Quantity(w.Before, w.Series.Unit))
	case w.Back > 1:
		return s + fmt.Sprintf("The newest %s up to %s are back at the old level, %s.",
			wording.Plural(w.Back, "run"), until, check.Quantity(w.Before, w.Series.Unit))
	case w.Small:
		return s + fmt.Sprintf("With %s at the new level, up to %s, the difference is %s. "+
			"That is less than half of what the policy reports.",
			wording.Plural(w.Runs, "run"), until, wording.ChangeSize(w.Change))
	}
	return s + fmt.Sprintf("With %s at the new level, up to %s, the difference is %s. "+
		"The scatter of the runs explains that.",
		wording.Plural(w.Runs, "run"), until, wording.ChangeSize(w.Change))
}

// direction returns "worse" for a lasting change for the worse, "worse, mended" if a later run
// mended it, and "better" for all other changes.
func (t *writer) direction(c history.Change) string {
	switch {
	case c.Lasting:
		return t.paint(check.Fail, "worse")
	case c.Worse:
		return "worse, mended"
	}
	return t.paint(check.Pass, "better")
}

// runCell names a run in a table: "41 2026-10-11 5d6e7f8".
func runCell(e history.Entry) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s %s", e.ID, e.Started.Format("2006-01-02"),
		wording.ShortCommit(e)))
}

// RegressionText describes a change for the worse, and says where to look for its cause.
func RegressionText(h *history.History, c history.Change) string {
	good, bad := h.Runs[c.Good], h.Runs[c.Bad]
	sentences := []string{fmt.Sprintf("%s: %s up to %s, %s since %s.",
		wording.Series(c.Series.SeriesKey, true),
		check.Quantity(c.Before, c.Series.Unit), entryName(good),
		check.Quantity(c.After, c.Series.Unit), entryName(bad))}
	sentences = append(sentences, causes("Both", good, bad)...)
	if c.Off > 0 {
		sentences = append(sentences, fmt.Sprintf("The first run of the new level may be %s earlier "+
			"or later.", wording.Plural(c.Off, "run")))
	}
	if c.Young {
		sentences = append(sentences, fmt.Sprintf("So far that is %s; only the size of the step "+
			"distinguishes it from noise.", wording.Plural(c.Runs, "run")))
	}
	return strings.Join(sentences, " ")
}

// causes returns where to look for the cause of what got worse between two runs: their commits, and
// what else changed between them. The parameter both names the two runs.
func causes(both string, good, bad history.Entry) (sentences []string) {
	add := func(format string, args ...any) {
		sentences = append(sentences, fmt.Sprintf(format, args...))
	}
	switch {
	case good.Commit != "" && good.Commit == bad.Commit:
		add("%s are of the same commit: the cause is not in the repository.", both)
	case good.Commit != "" && bad.Commit != "":
		add("The cause is between %s and %s (git log %[1]s..%[2]s).", wording.ShortCommit(good),
			wording.ShortCommit(bad))
	}
	for _, d := range []struct{ what, was, is string }{
		{"host", good.Host, bad.Host},
		{"GPU", good.GPU, bad.GPU},
		{"driver", good.Driver, bad.Driver},
		{"vramsoak", good.Version, bad.Version},
	} {
		if d.was != d.is {
			add("The %s changed too: %s, before %s.", d.what, cmp.Or(sink.Line(d.is), "unknown"),
				cmp.Or(sink.Line(d.was), "unknown"))
		}
	}
	return sentences
}

// Gate writes the judgement on a suite: new regressions, those whose waiver ended, and those that
// are waived because a person accepted them.
func Gate(w io.Writer, h *history.History, o history.Outcome, opts Options) error {
	t := newWriter(opts)
	unexplained, drifts := o.Reported()
	slow := wording.SlowRises(drifts)
	s := t.paint(o.Verdict, strings.ToUpper(string(o.Verdict))) + ": "
	switch o.Verdict {
	case check.Undecided:
		s += sink.Line(o.Reason)
	case check.Fail:
		var failing []string
		if n := len(unexplained) + len(slow); n > 0 {
			failing = append(failing, wording.Plural(n, "new regression"))
		}
		if n := len(o.Ended); n > 0 {
			failing = append(failing, wording.Plural(n, "regression")+" with a waiver that ended")
		}
		s += fmt.Sprintf("%s; %s up to %s", worstRegression(h, slow, unexplained, o.Ended),
			strings.Join(failing, " and "), entryName(o.Newest))
	default:
		s += fmt.Sprintf("no new regression up to %s, %d series judged", entryName(o.Newest),
			o.Judged)
	}
	if len(o.Known) > 0 {
		var known []string
		for _, k := range o.Known {
			known = append(known, wording.Series(k.Series.SeriesKey, true))
		}
		s += "; waived: " + strings.Join(known, "; ")
	}
	t.wrap(s, "  ")
	for _, g := range slow {
		t.WriteByte('\n')
		t.wrap("new: "+slowRise(h, g), "  ")
	}
	for _, c := range unexplained {
		t.WriteByte('\n')
		t.wrap("new: "+RegressionText(h, c), "  ")
	}
	for _, k := range o.Ended {
		t.WriteByte('\n')
		t.wrap(sink.Line(k.Waiver.Ended())+": "+RegressionText(h, k.Change), "  ")
	}
	for _, k := range o.Known {
		t.WriteByte('\n')
		t.wrap(fmt.Sprintf("%s, accepted on %s: %s", sink.Line(k.Waiver.String()),
			waiver.Day(k.At), RegressionText(h, k.Change)), "  ")
	}
	t.withdrawn(h, o.Withdrawn)
	t.notedRises(h, o.Noted)
	return t.flush(w)
}

// notedRises writes a sentence for each group of series that get worse slowly and alike, and for
// which the gate does not fail.
func (t *writer) notedRises(h *history.History, drifts []history.Drift) {
	for _, g := range wording.SlowRises(drifts) {
		d := &g[0]
		parts := []string{fmt.Sprintf("noted: %s %s since %s",
			wording.SeriesSubject(d.Series.SeriesKey), wording.SlowRiseInBrief(d),
			entryName(h.Runs[d.From]))}
		if same := wording.TheSame(g); same != "" {
			parts = append(parts, same)
		}
		parts = append(parts, "history gate does not fail because of it",
			"vramsoak history trend --suite "+sink.Line(sink.Shell(h.Suite))+" shows it")
		t.WriteByte('\n')
		t.wrap(strings.Join(parts, "; "), "  ")
	}
}
