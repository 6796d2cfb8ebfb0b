package html

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A Comparison is what the page of a comparison shows.
type Comparison struct {
	*compare.Comparison
	Verdict   check.Verdict
	Base, New *compare.Baseline // the values file by file
	Version   string            // of vramsoak

	files *compare.Files // of the metrics that have a chart
}

type comparisonView struct {
	Summary summary
	About   []summaryRow
	Remarks []string
	Metrics tableView
}

// WriteComparison writes the page of a comparison: which metrics got worse, and their values file
// by file in both runs.
func WriteComparison(w io.Writer, c Comparison) error {
	changes, others := wording.ListChanges(wording.WorstFirst(c.Changes))
	d := seriesDocument{Schema: schema, Labels: []string{}, Series: []seriesData{}}
	charted := chartedChanges(changes)
	c.files = compare.FileByFile(c.Base, c.New, charted)
	for _, p := range c.files.Places {
		d.Labels = append(d.Labels, placeLabel(p))
	}
	charts := map[string]int{} // by subject
	for i := range charted {
		if len(d.Series) == seriesMax {
			break
		}
		ch := &charted[i]
		if s, ok := c.chart(ch, &c.files.Values[i]); ok {
			charts[ch.Subject()] = len(d.Series)
			d.Series = append(d.Series, s)
		}
	}
	v := view{Version: sink.Name(c.Version), Comparison: &comparisonView{
		Summary: c.summarize(changes, charts), About: c.about(), Metrics: metricTable(changes),
	}, Parts: []part{
		{"verdict", "Verdict"},
		{"series", "Metrics over files"},
		{"metrics", "All metrics"},
	}}
	for _, r := range slices.Concat(c.Remarks, others) {
		v.Comparison.Remarks = append(v.Comparison.Remarks, sink.Name(r))
	}
	s := &v.Comparison.Summary
	v.Title = strings.ToUpper(s.Verdict) + ": " + s.Title + " - vramsoak"
	return v.write(w, &d, seriesScripts)
}

// comparedMax is how many files a chart of a comparison shows.
const comparedMax = 2000

// lowAndHigh returns which of n places a chart shows: all of them, or in each part of the axis
// those with the lowest and the highest value of each line.
func lowAndHigh(n int, lines []lineData) (shown []int) {
	each := 1
	if n > comparedMax {
		each = (2*len(lines)*n + comparedMax - 1) / comparedMax
	}
	for from := 0; from < n; from += each {
		to := min(n, from+each)
		if each == 1 {
			shown = append(shown, from)
			continue
		}
		var keep []int
		for _, l := range lines {
			low, high := -1, -1
			for i := from; i < to; i++ {
				if v := l.Values[i]; !math.IsNaN(v) {
					if low < 0 || v < l.Values[low] {
						low = i
					}
					if high < 0 || v > l.Values[high] {
						high = i
					}
				}
			}
			if low >= 0 {
				keep = append(keep, low, high)
			}
		}
		slices.Sort(keep)
		shown = append(shown, slices.Compact(keep)...)
	}
	return shown
}

// chartedChanges returns the changes that may have a chart: the worst of those that compare files.
func chartedChanges(changes []compare.Change) []compare.Change {
	charted := slices.DeleteFunc(slices.Clone(changes), func(ch compare.Change) bool {
		return ch.Verdict == check.Skipped || strings.HasSuffix(ch.Unit, check.PerFile)
	})
	return charted[:min(len(charted), 2*seriesMax)]
}

// placeLabel names a file: "file 3: c.wav".
func placeLabel(p compare.Place) string {
	label := fileLabel(p.Index, p.Path)
	switch p.Only {
	case compare.OnlyBase:
		label += " (ok only in the base)"
	case compare.OnlyNew:
		label += " (ok only in the new run)"
	}
	return label
}

// chart returns the values of a metric in both runs. ok is false if no run has values.
func (c *Comparison) chart(ch *compare.Change, v *compare.Values) (s seriesData, ok bool) {
	s = seriesData{
		Title: sink.Name(ch.Subject()), Verdict: string(ch.Verdict), Sign: signs[string(ch.Verdict)],
		Note: sink.Name(ch.Message), Unit: ch.Unit, XName: "file", Marks: []seriesMark{},
	}
	places := c.files.Places
	line := func(name, color string, dashed bool, lists ...[]compare.FileValue) {
		l := lineData{Name: name, Color: color, Dashed: dashed}
		l.Values = slices.Repeat(check.Values{math.NaN()}, len(places))
		for _, f := range slices.Concat(lists...) {
			l.Values[f.Place] = f.Value
			ok = true
		}
		s.Lines = append(s.Lines, l)
	}
	line("base", "grey", true, v.Base, v.OnlyBase)
	line("new", "blue", false, v.New, v.OnlyNew)
	s.At = lowAndHigh(len(places), s.Lines)
	for _, at := range s.At {
		s.X = append(s.X, places[at].Number)
	}
	if len(s.At) == len(places) {
		return s, ok
	}
	s.Note += fmt.Sprintf("; the chart shows %s of %s: the lowest and highest values of both runs",
		wording.Count(len(s.At)), wording.Plural(len(places), "file"))
	for i := range s.Lines {
		all := s.Lines[i].Values
		s.Lines[i].Values = make(check.Values, len(s.At))
		for k, at := range s.At {
			s.Lines[i].Values[k] = all[at]
		}
	}
	return s, ok
}

func (c *Comparison) summarize(changes []compare.Change, charts map[string]int) summary {
	s := summary{
		Verdict: string(c.Verdict), Sign: signs[string(c.Verdict)],
		Facts: wording.ComparisonHeadline(c.Comparison),
	}
	s.Title = s.Facts
	worst := slices.DeleteFunc(slices.Clone(changes), func(ch compare.Change) bool {
		return ch.Verdict != c.Verdict || c.Verdict == check.Pass
	})
	causes := slices.DeleteFunc(slices.Clone(worst), func(ch compare.Change) bool {
		return ch.Cause != ""
	})
	if len(causes) == 0 {
		return s
	}
	lead := &causes[0]
	s.Title = sink.Name(lead.Subject() + ": " + wording.FirstClause(lead.Message))
	row := s.add("Cause", lead.Subject()+": "+lead.Message)
	if i, ok := charts[lead.Subject()]; ok {
		row.Link = fmt.Sprintf("#series-%d", i)
	}
	s.add("Stage", cmp.Or(wording.SeriesStage(lead.Name), leastFreed(lead, worst)))
	s.add("Files", c.worseFiles(lead)...)
	cells := wording.ChangeCells(*lead)
	s.add("Size", cells[1]+" in the base, "+cells[2]+" in the new run: "+cells[3])
	var also []string
	for _, f := range c.NewlyFailed[:min(len(c.NewlyFailed), linesMax)] {
		also = append(also, "newly failed: "+fileLabel(f.Index, f.Path))
	}
	var follow []string
	for i := range worst {
		if ch := &worst[i]; ch.Cause == lead.Subject() {
			follow = append(follow, wording.ChangeInBrief(*ch))
		}
	}
	s.add("Consequence", append(also, strings.Join(follow, ", "))...)
	also = nil
	for i := range causes[1:] {
		ch := &causes[1+i]
		also = append(also, ch.Subject()+": "+wording.FirstClause(ch.Message))
	}
	s.add("Also", shortList(also)...)
	var next []string
	if b, n := c.Comparison.Base.Commit, c.Comparison.New.Commit; b != "" && n != "" && b != n {
		next = append(next, fmt.Sprintf("See what changed: git log %.12s..%.12s", b, n))
	}
	if c.Comparison.New.Log != "" {
		next = append(next, "See where the memory goes: vramsoak report "+
			sink.Shell(c.Comparison.New.Log))
	}
	s.add("What to do next", next...)
	return s
}

// leastFreed returns the stage or cleanup that frees less because of a metric's growth, or "".
func leastFreed(lead *compare.Change, worst []compare.Change) string {
	for i := range worst {
		if ch := &worst[i]; ch.Cause == lead.Subject() && strings.HasPrefix(ch.Name, check.RecoveryOf) {
			return wording.SeriesStage(ch.Name)
		}
	}
	return ""
}

// worseFiles says in how many files a metric got worse by more than the limit, which of them is the
// first, and which the worst.
func (c *Comparison) worseFiles(ch *compare.Change) []string {
	v := compare.FileByFile(c.Base, c.New, []compare.Change{*ch}).Values[0]
	w := v.Worse
	if w.Count == 0 {
		return nil
	}
	return []string{
		fmt.Sprintf("%s of %s in both runs are worse by more than is allowed", wording.Count(w.Count),
			wording.Plural(len(v.New), "file")),
		"first " + fileLabel(w.First.Index, w.First.Path),
		"most in " + fileLabel(w.Most.Index, w.Most.Path) + ": by " + check.Quantity(w.By, ch.Unit),
	}
}

func (c *Comparison) about() []summaryRow {
	return []summaryRow{
		{Name: "Base", Lines: []string{wording.Run(c.Comparison.Base)}, Finding: -1},
		{Name: "New", Lines: []string{wording.Run(c.Comparison.New)}, Finding: -1},
	}
}

func metricTable(changes []compare.Change) tableView {
	t := tableView{ID: "metrics", Title: "All metrics", Head: []headCell{
		{Name: "Verdict"},
		{Name: "Metric"},
		{Name: "Base", Number: true},
		{Name: "New", Number: true},
		{Name: "Change", Number: true},
		{Name: "Files", Number: true},
		{Name: "p", Number: true},
		{Name: "A usual file, 95 %"},
		{Name: "In words"},
	}}
	for i := range changes {
		ch := &changes[i]
		row := append([]cell{{Verdict: string(ch.Verdict), Sign: signs[string(ch.Verdict)]}},
			text(wording.ChangeCells(*ch)...)...)
		row = append(row, cell{Text: sink.Name(ch.Message)})
		for k := 2; k < 7; k++ {
			row[k].Number = true
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
