// Package text writes reports as text for people: verdicts with their findings, comparisons,
// histories, calibrations, validations, profiles and memory snapshots. On a terminal, tables have
// lines and colours and are folded to the terminal's width. In a pipe or a file, the text is plain
// ASCII.
package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/pattern"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// Report writes the verdict on a run, its findings, and the memory pattern of a file.
func Report(w io.Writer, tl *timeline.Timeline, rep *check.Report, opts Options) error {
	t := newWriter(opts)
	findings := wording.Sorted(rep)
	t.headline(rep.Verdict, string(rep.Verdict), sink.Line(wording.Headline(rep)), "")
	if err := t.findings(findings); err != nil {
		return err
	}
	t.advice(findings)
	t.skipped(wording.WithVerdict(findings, check.Skipped))
	t.notes(wording.Notes(rep))
	t.pattern(pattern.Of(tl, rep))
	return t.flush(w)
}

// findingNumbers are the columns File and Measured.
var findingNumbers = []int{3, 4}

// findings writes the table of findings. If the terminal is too narrow for the column of messages,
// the messages of the findings that did not pass follow the table.
func (t *writer) findings(all []check.Finding) error {
	shown := wording.WithVerdict(all, check.Fail, check.Undecided, check.Pass)
	if len(shown) == 0 {
		return nil
	}
	rows := [][]string{{"Verdict", "Check", "Subject", "File", "Measured", "Limit"}}
	for _, f := range shown {
		file := ""
		if f.File > 0 {
			file = wording.Count(f.File)
		}
		rows = append(rows, []string{
			t.verdictCell(f), sink.Line(f.Check), sink.Line(f.Subject),
			file, wording.Measured(f), wording.Limit(f),
		})
	}
	const subjectColumn = 2
	if !t.Terminal {
		rows[0] = append(rows[0], "At", "Message")
		for i, f := range shown {
			rows[i+1] = append(rows[i+1], wording.Location(f), sink.Line(f.Message))
		}
		t.WriteByte('\n')
		return t.table(rows, findingNumbers, subjectColumn, 0)
	}
	widest := tableWidth(rows)
	const messageWidth = 40 // in fewer columns, a sentence would have too many lines
	if t.Width-widest >= messageWidth+3 {
		rows[0] = append(rows[0], "Message")
		for i, f := range shown {
			rows[i+1] = append(rows[i+1], withLocation(f))
		}
		t.WriteByte('\n')
		return t.table(rows, findingNumbers, len(rows[0])-1, t.Width-widest-3)
	}
	t.WriteByte('\n')
	if err := t.table(rows, findingNumbers, subjectColumn,
		t.fittingWidth(rows, subjectColumn)); err != nil {
		return err
	}
	for _, f := range wording.WithVerdict(shown, check.Fail, check.Undecided) {
		t.WriteByte('\n')
		t.judged(f.Verdict, t.verdictWord(f), f.Check+", "+f.Subject, withLocation(f))
	}
	return nil
}

// withLocation returns a finding's message. If the finding did not pass, the log line that shows it
// follows in brackets.
func withLocation(f check.Finding) string {
	if f.At == nil || f.Verdict == check.Pass {
		return sink.Line(f.Message)
	}
	return sink.Line(f.Message) + " [" + wording.Location(f) + "]"
}

// advice writes what to do about the failed allocations, one line for each piece of advice.
func (t *writer) advice(findings []check.Finding) {
	all := wording.Advice(findings)
	if len(all) > 0 {
		t.WriteByte('\n')
	}
	for _, text := range all {
		t.wrap(sink.Line(text), "  ")
	}
}

// skipped writes one line for each finding that was not judged.
func (t *writer) skipped(findings []check.Finding) {
	if len(findings) == 0 {
		return
	}
	t.WriteByte('\n')
	for _, f := range findings {
		subject := ""
		if f.Subject != "" {
			subject = ", " + f.Subject
		}
		t.judged(check.Skipped, "skipped", f.Check+subject, f.Message)
	}
}

// notes writes the report's notes.
func (t *writer) notes(notes []string) {
	if len(notes) > 0 {
		t.WriteByte('\n')
	}
	for _, note := range notes {
		t.wrap("note: "+sink.Line(note), "  ")
	}
}

// patternRows is the most checkpoints of a pattern that are shown. A log with more probably has
// numbers in its checkpoint names.
const patternRows = 60

// pattern writes a line for each checkpoint: its level, a bar, and what a cleanup freed.
func (t *writer) pattern(p pattern.Pattern) {
	if len(p.Steps) == 0 {
		return
	}
	t.WriteByte('\n')
	t.wrap(p.Title(), "  ")
	name, after, ofAll := 0, 0, 0
	for _, s := range p.Steps {
		name = max(name, twwidth.Width(s.Name))
		after = max(after, twwidth.Width(s.Freed+t.verdictMark(s)))
		ofAll = max(ofAll, twwidth.Width(s.Freed+s.OfAll+t.verdictMark(s)))
	}
	const level, fewest = len("1023.99 MiB") - 2, 8
	name = min(name, 40)
	cells := t.Width - 2 - name - 2 - level - 2 - 2
	wide := cells-ofAll >= fewest
	if wide {
		after = ofAll
	}
	cells = min(40, max(fewest, cells-after))
	full, empty := "█", "━"
	if !t.Terminal {
		full, empty = "#", "-"
	}
	for i, s := range p.Steps {
		if i == patternRows {
			t.WriteString("  and " + wording.Count(len(p.Steps)-i) + " more\n")
			break
		}
		n := p.Filled(s.Level, cells)
		bar := strings.Repeat(full, n) + strings.Repeat(empty, cells-n)
		freed := s.Freed
		if wide {
			freed += s.OfAll
		}
		line := fmt.Sprintf("  %s  %*s  %s  %s%s", wording.Pad(cutCell(s.Name, name), name),
			level, record.FormatBytes(s.Level), bar, freed, t.paint(s.Verdict, t.verdictMark(s)))
		t.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// verdictMark returns the end of a checkpoint's line: the verdict on its cleanup.
func (t *writer) verdictMark(s pattern.Step) string {
	if s.Verdict == "" {
		return ""
	}
	if !t.Terminal {
		return ", " + string(s.Verdict)
	}
	return " " + t.sign(s.Verdict)
}
