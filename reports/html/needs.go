package html

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/pipeline/validation"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

type needsView struct {
	Summary summary
	About   []summaryRow
	Bars    []needBar
	Key     []keyEntry
	Card    string // "15.5 GiB"
	CardAt  string // where the size of the card lies on the bars, "87.3%"
	Stages  tableView
	Changes tableView
	Checks  tableView
}

// A needBar is what one stage needs, as a bar.
type needBar struct {
	Stage, Need string
	Parts       []barPart
}

// A barPart is a part of a bar. Its place is in percent of the width.
type barPart struct {
	X, Width string
	Color    int // 0 to 6, as in the style sheet
	Title    string
}

type keyEntry struct {
	Color int
	Name  string
}

// WriteNeeds writes the page of a validation: whether the batch fits, what each stage needs, and
// the changes that help.
func WriteNeeds(w io.Writer, v *validation.Report, version string) error {
	n := &needsView{
		Summary: summarizeNeeds(v), Card: record.FormatBytes(v.Total), Stages: stageTable(v),
		Changes: changesTable(v), Checks: checksTable(v),
	}
	n.draw(v)
	page := view{
		Needs: n, Version: sink.Name(version),
		Title: strings.ToUpper(v.Answer.String()) + ": " + n.Summary.Title + " - vramsoak",
		Parts: []part{
			{"verdict", "Answer"},
			{"needs", "Needs"},
			{"stages", "Stages"},
			{"proposals", "Changes"},
			{"validated", "Checks"},
		},
	}
	return page.write(w, struct {
		Schema string `json:"schema"`
	}{schema}, nil)
}

func summarizeNeeds(v *validation.Report) summary {
	s := summary{
		Verdict: string(v.Checks.Verdict), Sign: signs[string(v.Checks.Verdict)],
		Title: sink.Name(fmt.Sprintf("%s on %s: %s", v.Scenario, record.FormatBytes(v.Total),
			v.Answer.Clause())),
	}
	s.Facts = wording.Plural(v.Files, "file") + " simulated, " +
		wording.Plural(v.Simulations, "simulation")
	f := v.Failure
	if f == nil {
		s.add("Cause", v.Why)
	} else {
		s.add("Cause", append([]string{v.Why}, causeOfFailure(f)...)...)
		s.add("Stage", f.Stage)
		s.add("First file", fmt.Sprintf("file %s of %s", wording.Count(f.File),
			wording.Count(v.Files)))
	}
	if len(v.Stages) > 0 {
		most := slices.MaxFunc(v.Stages, func(a, b validation.StageNeed) int {
			return cmp.Compare(a.Need, b.Need)
		})
		s.add("Highest need", fmt.Sprintf("%s (%s of the card), in %s",
			record.FormatBytes(most.Need), wording.Share(most.Share), most.Stage)).Link = "#needs"
	}
	s.add("Left on the card", record.FormatBytes(v.Headroom))
	if v.Failed > 0 {
		s.add("Consequence", fmt.Sprintf("%s of %s fail", wording.Count(v.Failed),
			wording.Plural(v.Files, "file")))
	}
	if c := v.Smallest; c != nil {
		s.add("What to do next", c.Text(), "it then "+c.Answer.Clause()+"; it costs "+c.Cost)
	} else if l := v.Larger; l != nil && l.Card != "" {
		s.add("What to do next", "a card of "+l.Card+" holds these files ("+
			wording.Share(l.Share)+")")
	}
	return s
}

// causeOfFailure says why the first allocation failed.
func causeOfFailure(f *validation.Refusal) []string {
	why := "the card is full"
	if f.Fragmentation {
		why = "fragmentation: enough was free, but not in one piece"
	}
	lines := []string{fmt.Sprintf("%s; %s for %s, with %s free in sum and %s in one piece", why,
		record.FormatBytes(f.Requested), cmp.Or(f.What, "the stage"),
		record.FormatBytes(f.FreeInSum), record.FormatBytes(f.LargestFree))}
	for _, p := range f.Kept {
		lines = append(lines, p.What+": "+record.FormatBytes(p.Bytes)+" kept after their use")
	}
	return lines
}

// draw sets the bars. The same part of memory has the same colour in each of them.
func (n *needsView) draw(v *validation.Report) {
	scale := float64(v.Total)
	for _, s := range v.Stages {
		scale = max(scale, float64(s.Need))
	}
	if scale *= 1.02; scale == 0 {
		return
	}
	percent := func(bytes int64) string {
		return fmt.Sprintf("%.3f%%", 100*float64(bytes)/scale)
	}
	n.CardAt = percent(v.Total)
	colors := map[string]int{}
	for _, s := range v.Stages {
		bar := needBar{
			Stage: sink.Name(s.Stage),
			Need:  record.FormatBytes(s.Need) + " (" + wording.Share(s.Share) + ")",
		}
		if !s.Reached && len(s.Parts) == 0 {
			bar.Need = "not reached"
		}
		parts := slices.SortedStableFunc(slices.Values(s.Parts), func(a, b validation.Part) int {
			return cmp.Compare(b.Bytes, a.Bytes)
		})
		at := int64(0)
		for _, p := range parts {
			if _, known := colors[p.What]; !known {
				colors[p.What] = len(colors) % barColors
				if len(n.Key) < barColors {
					n.Key = append(n.Key, keyEntry{colors[p.What], sink.Name(p.What)})
				}
			}
			bar.Parts = append(bar.Parts, barPart{
				X: percent(at), Width: percent(p.Bytes), Color: colors[p.What],
				Title: sink.Name(p.What) + ": " + record.FormatBytes(p.Bytes),
			})
			at += p.Bytes
		}
		n.Bars = append(n.Bars, bar)
	}
}

// barColors is the number of colours of parts in the style sheet.
const barColors = 7

func stageTable(v *validation.Report) tableView {
	t := tableView{ID: "stages", Title: "Stages", Head: []headCell{
		{Name: "Stage"},
		{Name: "File", Number: true},
		{Name: "Needs", Number: true},
		{Name: "Share", Number: true},
		{Name: "Made up of"},
	}}
	for _, s := range v.Stages {
		file := "before the first"
		if s.File > 0 {
			file = wording.Count(s.File)
		}
		var parts []string
		for _, p := range s.Parts {
			parts = append(parts, sink.Name(p.What)+" "+record.FormatBytes(p.Bytes))
		}
		row := text(sink.Name(s.Stage), file, record.FormatBytes(s.Need), wording.Share(s.Share),
			strings.Join(parts, ", "))
		row[1].Number, row[2].Number, row[3].Number = true, true, true
		t.Rows = append(t.Rows, row)
	}
	return t
}

func changesTable(v *validation.Report) tableView {
	t := tableView{ID: "proposals", Title: "Changes with which it fits", Head: []headCell{
		{Name: "Change"},
		{Name: "Answer"},
		{Name: "Needs", Number: true},
		{Name: "Speed", Number: true},
		{Name: "Costs"},
	}}
	changes := slices.Clone(v.Others)
	if v.Smallest != nil {
		changes = append([]validation.Change{*v.Smallest}, changes...)
	}
	for _, c := range changes {
		row := text(sink.Name(c.Text()), c.Answer.String(),
			record.FormatBytes(c.Need)+" ("+wording.Share(c.Share)+")",
			fmt.Sprintf("%.3g x real time", c.Speed), sink.Name(c.Cost))
		row[2].Number, row[3].Number = true, true
		t.Rows = append(t.Rows, row)
	}
	return t
}

func checksTable(v *validation.Report) tableView {
	t := tableView{ID: "validated", Title: "Checks of the simulated log", Head: []headCell{
		{Name: "Verdict"},
		{Name: "Check"},
		{Name: "Subject"},
		{Name: "What was found"},
	}}
	for _, f := range wording.Sorted(v.Checks) {
		if len(t.Rows) == shownMax {
			break
		}
		verdict := wording.Verdict(f)
		t.Rows = append(t.Rows, append([]cell{{Verdict: verdict, Sign: signs[verdict]}},
			text(sink.Name(f.Check), sink.Name(f.Subject), sink.Name(f.Message))...))
	}
	return t
}
