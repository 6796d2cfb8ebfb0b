package html

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// A findingView is one finding as the page shows it. All its text has gone through [sink.Line].
type findingView struct {
	Number          int // of the finding on the page, from 0
	Sign            string
	Verdict         string // "fail", "undecided", "waived", "noted", "pass" or "skipped"
	Check           string
	Subject         string
	Stage           string
	File            string
	Measured, Limit string
	Message         []string // the clauses of the message
	Advice          []string
	Location        string
	Shown           bool // a chart shows it
	// Shard decided the finding, on the page of a run of many shards. Where names it.
	Shard int
	Where string
	// Cause names the finding that this one follows from; "" if it has a cause of its own.
	Cause string
	Quote *quotation
}

// shownMax is how many findings of each verdict the page lists.
const shownMax = 300

// findings returns the report's findings, the worst first, and tells the data where the charts show
// them.
func (e *encoder) findings(quotes *quotes) (open, closed, skipped []findingView) {
	listed := map[check.Verdict]int{}
	for _, f := range byCause(e.rep) {
		if listed[f.Verdict]++; listed[f.Verdict] > shownMax {
			continue
		}
		v := e.finding(&f)
		v.Number = len(e.doc.Findings)
		at := e.placeOf(&f)
		v.Shown = at.Track >= 0 && f.Verdict != check.Skipped
		e.doc.Findings = append(e.doc.Findings, at)
		switch f.Verdict {
		case check.Pass:
			closed = append(closed, v)
		case check.Skipped:
			skipped = append(skipped, v)
		default:
			shown, further := e.evidence(&f, at)
			if shown != 0 { // the page names the line that it marks
				marked := f
				marked.At = &record.Position{Path: f.At.Path, Line: shown}
				v.Location = sink.Name(wording.Location(marked))
			}
			v.Quote = quotes.around(f.At, shown, further...)
			open = append(open, v)
		}
	}
	return open, closed, skipped
}

// evidence returns the line that shows a finding, or 0 for the line of its position, and further
// lines to quote with it. Growth is shown by a reading; the position may be that of the file's end,
// after it. The cleanups of the stage show what they gave back in the same file.
func (e *encoder) evidence(f *check.Finding, at findingPlace) (shown int, further []int) {
	if f.At == nil || at.Track < 0 || at.File < 0 {
		return 0, nil
	}
	growth := strings.HasSuffix(f.Unit, check.PerFile)
	file, names := e.all[at.File], e.of.names.all
	for _, p := range e.of.tracks[at.Track].points {
		if p.file != file {
			continue
		}
		if growth && p.line <= f.At.Line {
			shown = p.line
		}
		if name := names[p.name]; f.Stage != "" && strings.Contains(name, f.Stage) &&
			(growth || strings.HasSuffix(name, "Cleanup")) {
			further = append(further, p.line)
		}
	}
	if f.At.Line-shown > linesBefore { // other lines came between
		shown = 0
	}
	return shown, further
}

// byCause returns the report's findings: those that did not pass first, each with those that follow
// from it behind it.
func byCause(rep *check.Report) (all []check.Finding) {
	for _, g := range wording.Groups(rep) {
		all = append(append(all, g.Finding), g.Consequences...)
	}
	return append(all, wording.WithVerdict(rep.Findings, check.Pass, check.Skipped)...)
}

func (e *encoder) finding(f *check.Finding) findingView {
	v := findingView{
		Verdict: wording.Verdict(*f), Check: sink.Name(f.Check), Subject: sink.Name(f.Subject),
		Stage: sink.Name(f.Stage), Measured: measured(f), Limit: wording.Limit(*f),
		Location: sink.Name(wording.Location(*f)), File: e.firstFile(f),
		Shard: f.Shard,
	}
	if f.Shard > 0 { // the message names what several shards decide together
		v.Where = sink.Name(strings.TrimPrefix(wording.InShard(*f), " in "))
	}
	v.Sign = signs[v.Verdict]
	if f.Cause != nil {
		v.Cause = sink.Name(f.Cause.Check + ", " + f.Cause.Subject)
	}
	if f.Subject == f.Check {
		v.Subject = ""
	}
	for _, clause := range wording.Clauses(f.Message) {
		v.Message = append(v.Message, sink.Name(clause))
	}
	for _, text := range f.Advice {
		v.Advice = append(v.Advice, sink.Name(text))
	}
	return v
}

// signs mark the verdicts, so that colours are not needed to tell them apart.
var signs = map[string]string{
	"fail": "✗", "undecided": "?", "waived": "~", "noted": "!", "pass": "✓", "skipped": "–",
}

// firstFile names the file that a finding names: "file 57: talk-057.wav". If each rank counts its
// own files, it adds the rank: "file 57 of rank 1".
func (e *encoder) firstFile(f *check.Finding) string {
	index, name := f.File, ""
	if f.FirstFile != nil {
		index, name = f.FirstFile.Index, f.FirstFile.Path
	}
	writer := ""
	if i := e.fileOf(f, e.trackOf(f)); i >= 0 && e.all[i].Index == index {
		name, writer = cmp.Or(name, e.all[i].Path), e.all[i].Writer
	}
	label := fileLabel(index, name)
	if label != "" && writer != "" {
		label += " of " + sink.Name(writer)
	}
	return label
}

func fileLabel(index int, name string) string {
	name = sink.Name(path.Base(cmp.Or(name, ".")))
	switch {
	case name == "." && index == 0:
		return ""
	case name == ".":
		return "file " + wording.Count(index)
	case index == 0:
		return name
	}
	return fmt.Sprintf("file %s: %s", wording.Count(index), name)
}

// placeOf says where the charts show a finding.
func (e *encoder) placeOf(f *check.Finding) findingPlace {
	at := findingPlace{Track: e.trackOf(f), File: -1, Trend: -1}
	if f.At != nil {
		at.Line = f.At.Line
	}
	at.File = e.fileOf(f, at.Track)
	for i, t := range e.doc.Trends {
		if t.Check == f.Check && t.Title == sink.Name(f.Subject) {
			at.Trend = i
		}
	}
	return at
}

// fileOf returns the index in the document of the file that a finding names, or -1. Several ranks
// may have a file of this number; the file of the finding's track comes first.
func (e *encoder) fileOf(f *check.Finding, track int) int {
	index, writer := f.File, ""
	if f.FirstFile != nil {
		index = f.FirstFile.Index
	}
	if track >= 0 && len(e.of.tracks[track].rows) > 0 {
		writer = e.of.tracks[track].rows[0].file.Writer
	}
	best, rank := -1, 0
	for _, of := range e.all {
		if index > 0 && of.Index != index {
			continue
		}
		fits := 0
		switch in := f.At != nil && of.Pos.Path == f.At.Path && of.Pos.Line <= f.At.Line &&
			f.At.Line <= of.EndPos.Line; {
		case in && of.Writer == writer:
			fits = 4
		case in:
			fits = 3
		case index > 0 && of.Writer == writer:
			fits = 2
		case index > 0:
			fits = 1
		}
		if fits > rank {
			best, rank = e.files[of], fits
		}
	}
	return best
}

// trackOf returns the index of the track that a finding is about, or -1. A finding names its device
// and its rank at the end of its subject, if the run has several.
func (e *encoder) trackOf(f *check.Finding) int {
	best, points := -1, -1
	for i, t := range e.of.tracks {
		if f.At != nil && f.At.Path != t.log {
			continue
		}
		if named(f.Subject, t.lane, e.tl) {
			return i
		}
		if len(t.points) > points {
			best, points = i, len(t.points)
		}
	}
	return best
}

// named reports whether a finding's subject ends with the name of a lane: "idle level (rank 1,
// device 0)".
func named(subject string, l record.Lane, tl *timeline.Timeline) bool {
	for _, name := range []string{
		"(" + l.Name(true) + ")", "(" + l.Name(false) + ")",
		"(" + tl.Writers[l.Rank] + ", " + l.Name(false) + ")",
	} {
		if strings.HasSuffix(subject, name) {
			return true
		}
	}
	return false
}
