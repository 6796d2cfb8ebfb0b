package html

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A History is what the page of a history shows.
type History struct {
	*history.History
	Series  []*history.Series // those that were searched
	Changes []history.Change
	Drifts  []history.Drift
	Outcome history.Outcome // of the newest run
	Version string          // of vramsoak
}

type historyView struct {
	Summary summary
	About   []summaryRow
	Changes tableView
	Runs    tableView
}

// WriteHistory writes the page of a history: what got worse, since which run and commit, and every
// series over the runs.
func WriteHistory(w io.Writer, h History) error {
	ranked := h.ranked()
	d := seriesDocument{Schema: schema, Labels: []string{}, Series: []seriesData{}}
	for _, r := range h.Runs {
		d.Labels = append(d.Labels, sink.Name(runName(r)))
	}
	for _, s := range ranked[:min(len(ranked), seriesMax)] {
		d.Series = append(d.Series, h.chart(s))
	}
	v := view{
		History: &historyView{Summary: h.summarize(), Changes: h.changeTable(), Runs: h.runTable()},
		Version: sink.Name(h.Version),
		Parts: []part{
			{"verdict", "Verdict"},
			{"changes", "Changes"},
			{"series", "Series"},
			{"runs", "Runs"},
		},
	}
	s := &v.History.Summary
	v.Title = strings.ToUpper(s.Verdict) + ": " + s.Title + " - vramsoak"
	return v.write(w, &d, seriesScripts)
}

// runName names a run: "run 41, 2026-10-11 02:00 UTC, 5d6e7f8".
func runName(e history.Entry) string {
	s := fmt.Sprintf("run %d, %s UTC", e.ID, e.Started.UTC().Format("2006-01-02 15:04"))
	if commit := wording.ShortCommit(e); commit != "" {
		s += ", commit " + commit
	}
	return s
}

// ranked returns the series, those with a lasting change for the worse first, then those that
// drift, then the others.
func (h *History) ranked() []*history.Series {
	rank := map[*history.Series]float64{}
	for _, c := range h.Changes {
		size := 1 + c.Relative()
		if c.Lasting {
			size += 1e6
		}
		rank[c.Series] = max(rank[c.Series], size)
	}
	for _, d := range h.Drifts {
		rank[d.Series] = 1e3 + d.Relative()
		if len(d.Steps) > 0 {
			rank[d.Series] += 1e6
		}
	}
	out := slices.Clone(h.Series)
	slices.SortStableFunc(out, func(a, b *history.Series) int {
		return cmp.Compare(rank[b], rank[a])
	})
	return out
}

func (h *History) drift(s *history.Series) *history.Drift {
	for i := range h.Drifts {
		if h.Drifts[i].Series == s {
			return &h.Drifts[i]
		}
	}
	return nil
}

// chart returns the chart of a series, with the levels that were found.
func (h *History) chart(s *history.Series) seriesData {
	d := seriesData{
		Title: wording.Series(s.SeriesKey, true), Unit: s.Unit, XName: "run", Note: "no certain change",
		Marks: []seriesMark{},
	}
	level := slices.Repeat(check.Values{math.NaN()}, len(s.Values))
	for _, r := range s.Runs {
		d.X, d.At = append(d.X, int(h.Runs[r].ID)), append(d.At, r)
	}
	if !slices.IsSorted(d.X) { // a run that was added late has a higher number than those after it
		for i, r := range s.Runs {
			d.X[i] = r + 1
		}
		d.XName = "run, in the order of their start"
	}
	var notes []string
	for _, c := range h.Changes {
		if c.Series != s {
			continue
		}
		notes = append(notes, wording.ChangeSize(c)+" since "+runName(h.Runs[c.Bad]))
		for i, r := range s.Runs {
			switch {
			case r >= c.Bad:
				level[i] = c.After
			case math.IsNaN(level[i]):
				level[i] = c.Before
			}
			if r == c.Bad {
				d.Marks = append(d.Marks, seriesMark{d.X[i], wording.ChangeSize(c), c.Worse})
			}
		}
		if c.Lasting {
			d.Verdict = "fail"
		}
	}
	if drift := h.drift(s); drift != nil {
		d.Verdict = "noted"
		notes = append(notes, wording.SlowRise(drift))
		if len(drift.Steps) > 0 {
			d.Verdict = "fail"
		}
		level = drift.Fitted
		d.Marks = append(d.Marks, seriesMark{
			d.X[len(s.Runs)-drift.Runs], wording.RiseShort(drift), true,
		})
	}
	d.Sign = signs[d.Verdict]
	if len(notes) > 0 {
		d.Note = strings.Join(notes, "; ")
	}
	d.Lines = []lineData{{Name: "each run", Color: "blue", Values: s.Values, Dots: true}}
	if slices.ContainsFunc(level, func(v float64) bool { return !math.IsNaN(v) }) {
		d.Lines = append(d.Lines, lineData{Name: "levels found", Color: "red", Values: level})
	}
	return d
}

// summarize returns the top of the page.
func (h *History) summarize() summary {
	s := summary{
		Verdict: string(h.Outcome.Verdict), Sign: signs[string(h.Outcome.Verdict)],
		Facts: wording.HistoryHeadline(h.History, h.Series, h.Changes, h.Drifts),
	}
	failing, drifts := h.Outcome.Reported()
	for _, k := range h.Outcome.Ended {
		failing = append(failing, k.Change)
	}
	slow := wording.SlowRises(drifts)
	first := make([]history.Drift, len(slow)) // of each group
	for i, g := range slow {
		first[i] = g[0]
	}
	worst := history.WorstFirst(failing, first)
	var steps []history.Change // the worst first
	for _, r := range worst {
		if r.Step != nil {
			steps = append(steps, *r.Step)
		}
	}
	switch {
	case len(worst) > 0 && worst[0].Drift != nil:
		h.explainDrift(&s, slow, steps)
	case len(worst) > 0:
		h.explainChange(&s, steps, slow)
	case len(h.Drifts) > 0:
		h.explainDrift(&s, wording.SlowRises(h.Drifts), nil)
	case h.Outcome.Reason != "":
		s.Title = sink.Name(h.Outcome.Reason)
	default:
		s.Title = "no new regression up to " + sink.Name(runName(h.Outcome.Newest))
	}
	return s
}

// chartLink returns the link to the chart of a series.
func (h *History) chartLink(of *history.Series) string {
	i := slices.Index(h.ranked(), of)
	if i < 0 || i >= seriesMax {
		return ""
	}
	return "#series-" + strconv.Itoa(i)
}

func (h *History) explainChange(s *summary, failing []history.Change, slow [][]history.Drift,
) {
	c := failing[0]
	name := wording.Series(c.Series.SeriesKey, true)
	good, bad := h.Runs[c.Good], h.Runs[c.Bad]
	s.Title = sink.Name(fmt.Sprintf("%s: %s since %s", name, wording.ChangeSize(c), runName(bad)))
	s.add("Cause", fmt.Sprintf("%s: %s up to %s, %s since %s", name,
		check.Quantity(c.Before, c.Series.Unit), runName(good), check.Quantity(c.After, c.Series.Unit),
		runName(bad))).Link = h.chartLink(c.Series)
	s.add("Stage", c.Series.Stage())
	s.add("First bad run", runName(bad), bad.Log)
	s.add("Last good run", runName(good), good.Log)
	s.add("Size", wording.ChangeSize(c))
	also := []string{fmt.Sprintf("it lasts for %s", wording.Plural(c.Runs, "run"))}
	for _, other := range failing[1:] {
		if len(also) <= linesMax {
			also = append(also, "also "+h.changeSince(other))
		}
	}
	for _, g := range slow {
		also = append(also, "also "+slowRise(g))
	}
	s.add("Consequence", also...)
	s.add("What to do next", slices.Concat(nextCommits(good, bad), nextLogs(good, bad),
		[]string{acceptAdvice})...)
}

// changeSince describes a step in one line.
func (h *History) changeSince(c history.Change) string {
	return wording.Series(c.Series.SeriesKey, true) + ": " + wording.ChangeSize(c) + " since run " +
		strconv.FormatInt(h.Runs[c.Bad].ID, 10)
}

const acceptAdvice = "If the change is intended: vramsoak history gate --accept --note REASON"

// nextCommits returns where to look for what changed between a run and the next one.
func nextCommits(good, bad history.Entry) (lines []string) {
	switch {
	case good.Commit != "" && good.Commit == bad.Commit:
		lines = append(lines, "Both runs are of the same commit: look at the machine, the driver and "+
			"the files")
	case good.Commit != "" && bad.Commit != "":
		lines = append(lines, fmt.Sprintf("See what changed: git log %s..%s", wording.ShortCommit(good),
			wording.ShortCommit(bad)))
	}
	return lines
}

// nextLogs returns how to compare the logs of two runs.
func nextLogs(good, bad history.Entry) (lines []string) {
	if good.Log != "" && bad.Log != "" {
		lines = append(lines, "Compare the two runs file by file: vramsoak compare "+
			sink.Shell(good.Log)+" "+sink.Shell(bad.Log))
	}
	return lines
}

// explainDrift answers the questions of a reader whose series get worse slowly. Each group holds
// those that get worse alike. Steps are of other series, which fail too.
func (h *History) explainDrift(s *summary, groups [][]history.Drift, steps []history.Change) {
	d := &groups[0][0]
	name := wording.Series(d.Series.SeriesKey, true)
	s.Title = sink.Name(wording.SeriesSubject(d.Series.SeriesKey) + " " + wording.SlowRise(d))
	fails := len(d.Steps) > 0 && h.Outcome.Verdict == check.Fail
	if !fails {
		s.Verdict, s.Sign = "noted", signs["noted"]
	}
	first, newest := h.Runs[d.From], h.Runs[len(h.Runs)-1]
	s.add("Cause", name+" gets worse from run to run, without a step",
		wording.TheSame(groups[0])).Link = h.chartLink(d.Series)
	s.add("Stage", d.Series.Stage())
	s.add("Runs", "from "+runName(first), first.Log, "to "+runName(newest), newest.Log)
	if d.Good >= 0 {
		s.add("Last good run", runName(h.Runs[d.Good]), h.Runs[d.Good].Log,
			wording.RiseBounds(d))
	}
	s.add("Rate", check.Rate(d.Slope, d.Series.Unit, "run"))
	gate := "history gate fails until it is mended or accepted"
	if !fails {
		gate = "noted: history gate does not fail because of a slow rise; it looks for steps, and its " +
			"verdict is " + string(h.Outcome.Verdict)
	}
	s.add("Consequence", wording.RiseSoFar(d), gate)
	var also []string
	for _, g := range groups[1:] {
		also = append(also, slowRise(g))
	}
	for _, c := range steps {
		also = append(also, h.changeSince(c))
	}
	s.add("Also", shortList(also)...)
	var next []string
	good := first
	if d.Good >= 0 {
		good = h.Runs[d.Good]
		next = nextCommits(good, first)
	}
	next = append(next, nextLogs(good, newest)...)
	if fails {
		next = append(next, acceptAdvice)
	}
	s.add("What to do next", next...)
}

// slowRise describes series that get worse alike in one line.
func slowRise(group []history.Drift) string {
	text := wording.SeriesSubject(group[0].Series.SeriesKey) + " " + wording.SlowRise(&group[0])
	if same := wording.TheSame(group); same != "" {
		text += "; " + same
	}
	return text
}

func (h *History) changeTable() tableView {
	t := tableView{ID: "changes", Title: "Changes", Head: []headCell{
		{Name: "Series"},
		{Name: "Change"},
		{Name: "Size"},
		{Name: "First run"},
		{Name: "Run before"},
		{Name: "From", Number: true},
		{Name: "To", Number: true},
		{Name: "Runs", Number: true},
	}}
	for _, c := range h.Changes {
		row := text(wording.Series(c.Series.SeriesKey, true), "better", wording.ChangeSize(c),
			sink.Name(runName(h.Runs[c.Bad])), sink.Name(runName(h.Runs[c.Good])),
			check.Quantity(c.Before, c.Series.Unit), check.Quantity(c.After, c.Series.Unit),
			wording.Count(c.Runs))
		switch {
		case c.Lasting:
			row[1].Text = "worse"
		case c.Worse:
			row[1].Text = "worse, mended"
		}
		t.Rows = append(t.Rows, row)
	}
	for i := range h.Drifts {
		d := &h.Drifts[i]
		before := ""
		if d.Good >= 0 {
			before = sink.Name(runName(h.Runs[d.Good]))
		}
		t.Rows = append(t.Rows, text(wording.Series(d.Series.SeriesKey, true), "slowly worse",
			wording.RiseShare(d), sink.Name(runName(h.Runs[d.From])), before,
			check.Quantity(d.First, d.Series.Unit), check.Quantity(d.Last, d.Series.Unit),
			wording.Count(d.Runs)))
	}
	for _, row := range t.Rows {
		row[5].Number, row[6].Number, row[7].Number = true, true, true
	}
	return t.withoutEmpty()
}

// runsMax is how many runs the table of runs lists, the newest first.
const runsMax = 500

func (h *History) runTable() tableView {
	t := tableView{ID: "runs", Title: "Runs, the newest first", Head: []headCell{
		{Name: "Run", Number: true},
		{Name: "Started"},
		{Name: "Commit"},
		{Name: "Verdict"},
		{Name: "Files", Number: true},
		{Name: "Host"},
		{Name: "GPU"},
		{Name: "Log"},
	}}
	for _, e := range slices.Backward(h.Runs) {
		if len(t.Rows) == runsMax {
			t.Title = fmt.Sprintf("Runs, the newest %s of %s", wording.Count(runsMax),
				wording.Count(len(h.Runs)))
			break
		}
		row := text(strconv.FormatInt(e.ID, 10), e.Started.UTC().Format("2006-01-02 15:04")+" UTC",
			wording.ShortCommit(e), "", wording.Count(e.Files), sink.Name(e.Host), sink.Name(e.GPU),
			sink.Name(e.Log))
		row[0].Number, row[4].Number = true, true
		row[3].Verdict, row[3].Sign = sink.Name(string(e.Verdict)), signs[string(e.Verdict)]
		t.Rows = append(t.Rows, row)
	}
	return t.withoutEmpty()
}
