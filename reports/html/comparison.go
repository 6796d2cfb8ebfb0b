package html

import (
	"cmp"
	"fmt"
	"io"
	"iter"
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
	charts := map[string]int{} // by subject
	files := c.files(&d)
	for i := range changes {
		ch := &changes[i]
		if len(d.Series) == seriesMax || ch.Verdict == check.Skipped {
			break
		}
		if s, ok := c.chart(ch, files); ok {
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

// A pairing gives the files of both runs their places on the x axis.
type pairing struct {
	places    int
	base, new []int // the place of each file
}

// files returns the places of the files: one for each path in the order of the new run, then those
// that only the base has. Files without a path are paired by their index. It sets the labels.
func (c *Comparison) files(d *seriesDocument) pairing {
	p := pairing{}
	known := map[string]int{}
	place := func(f check.MeasuredFile, round map[string]int) int {
		key := cmp.Or(f.Path, fmt.Sprintf("file %d", f.Index))
		round[key]++
		full := fmt.Sprintf("%s\x00%d", key, round[key]) // a batch may have a file several times
		at, ok := known[full]
		if !ok {
			at = p.places
			known[full] = at
			p.places++
			d.Labels = append(d.Labels, fileLabel(at+1, f.Path))
		}
		return at
	}
	seen := map[string]int{}
	for _, f := range c.New.Files {
		p.new = append(p.new, place(f, seen))
	}
	seen = map[string]int{}
	for _, f := range c.Base.Files {
		p.base = append(p.base, place(f, seen))
	}
	return p
}

// comparedMax is how many files a chart of a comparison shows. Of more files it shows every k-th.
const comparedMax = 2000

// chart returns the values of a metric in both runs. ok is false if no run has values, as for the
// growth of a metric.
func (c *Comparison) chart(ch *compare.Change, p pairing) (s seriesData, ok bool) {
	s = seriesData{
		Title: sink.Name(ch.Subject()), Verdict: string(ch.Verdict), Sign: signs[string(ch.Verdict)],
		Note: sink.Name(ch.Message), Unit: ch.Unit, XName: "file", Marks: []seriesMark{},
	}
	every := 1 + (p.places-1)/comparedMax
	for i := 0; i < p.places; i += every {
		s.X, s.At = append(s.X, i+1), append(s.At, i)
	}
	for _, run := range []struct {
		name, color string
		of          *compare.Baseline
		places      []int
		dashed      bool
	}{{"base", "grey", c.Base, p.base, true}, {"new", "blue", c.New, p.new, false}} {
		values := slices.Repeat(check.Values{math.NaN()}, len(s.X))
		for file, v := range valuesOf(run.of, ch) {
			if at := run.places[file]; at%every == 0 {
				values[at/every] = v
				ok = true
			}
		}
		s.Lines = append(s.Lines, lineData{
			Name: run.name, Color: run.color, Values: values, Dashed: run.dashed,
		})
	}
	if every > 1 {
		s.Note += fmt.Sprintf("; shown: one of %d files", every)
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
	sign := 1.0
	if ch.HigherIsBetter {
		sign = -1
	}
	base := map[string]float64{}
	for file, v := range valuesOf(c.Base, ch) {
		base[c.Base.Files[file].Path] = v
	}
	first, worst := -1, -1
	worse, both, most := 0, 0, 0.0
	for file, v := range valuesOf(c.New, ch) {
		f := c.New.Files[file]
		was, known := base[f.Path]
		if !known || f.Path == "" {
			continue
		}
		both++
		if by := sign * (v - was); by > ch.Limit {
			if worse++; first < 0 {
				first = file
			}
			if by > most {
				worst, most = file, by
			}
		}
	}
	if worse == 0 {
		return nil
	}
	name := func(file int) string {
		return fileLabel(c.New.Files[file].Index, c.New.Files[file].Path)
	}
	return []string{
		fmt.Sprintf("%s of %s in both runs are worse by more than is allowed", wording.Count(worse),
			wording.Plural(both, "file")),
		"first " + name(first),
		"most in " + name(worst) + ": by " + check.Quantity(most, ch.Unit),
	}
}

// valuesOf yields the values of a metric in a run, each with the index of its file.
func valuesOf(b *compare.Baseline, ch *compare.Change) iter.Seq2[int, float64] {
	i := slices.IndexFunc(b.Metrics, func(m check.Metric) bool {
		return m.Name == ch.Name && m.Rank == ch.Rank && m.Device == ch.Device
	})
	if i < 0 {
		return func(func(int, float64) bool) {}
	}
	return b.Metrics[i].All()
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
