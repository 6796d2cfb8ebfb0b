package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/pipeline/profile"
	"vramsoak/pipeline/validation"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// refusal writes the first allocation that failed, and why.
func (t *textWriter) refusal(v *validation.Report) {
	r := v.Failure
	if r == nil {
		return
	}
	t.WriteByte('\n')
	where := "before the first file"
	if r.File > 0 {
		where = "file " + wording.Count(r.File)
	}
	for _, more := range []string{r.Stage, r.What} {
		if more != "" {
			where += ", " + sink.Line(more)
		}
	}
	text := "Fails first: "
	if r.Recovered {
		text = "Runs out of memory, and recovers: "
	}
	text += where
	if r.Requested > 0 {
		text += fmt.Sprintf(": %s asked for, %s free in sum, the largest free block is %s", record.FormatBytes(r.Requested),
			record.FormatBytes(r.FreeInSum), record.FormatBytes(r.LargestFree))
	}
	t.wrap(text, "  ")
	switch {
	case r.Requested == 0:
		if r.Message != "" {
			t.under(sink.Line(r.Message))
		}
	case r.Fragmentation:
		t.under("This is fragmentation: enough is free, and not in one piece." + map[bool]string{true: " To see it:"}[r.Picture != ""])
		if r.Picture != "" {
			command := "  " + sink.Line(r.Picture)
			if twwidth.Width(command) > t.Width {
				command = strings.Replace(command, "| ", "|\n    ", 1) // a shell goes on behind a pipe
			}
			t.WriteString(command + "\n")
		}
	default:
		t.under(fmt.Sprintf("Too little is free: %s are missing", record.FormatBytes(r.Missing)) + holding(r.Parts))
	}
}

// holding is "; what holds most: data 13.0 GiB".
func holding(parts []validation.Part) string {
	if len(parts) == 0 {
		return ""
	}
	most := largestFirst(parts)[0]
	return fmt.Sprintf("; what holds most: %s %s", sink.Line(most.What), record.FormatBytes(most.Bytes))
}

func largestFirst(parts []validation.Part) []validation.Part {
	return slices.SortedStableFunc(slices.Values(parts), func(a, b validation.Part) int { return cmp.Compare(b.Bytes, a.Bytes) })
}

// under writes a line that belongs to the one before it.
func (t *textWriter) under(s string) {
	t.WriteString("  ")
	t.Width -= 2
	t.wrap(s, "    ")
	t.Width += 2
}

// proposals writes the smallest change, with what to edit, and the others that were proved.
func (t *textWriter) proposals(v *validation.Report) error {
	if v.Answer == validation.Fits || v.Answer == validation.Unsure || v.Answer == validation.DoesNotFit && v.Failure == nil { // only the real command failed
		return nil
	}
	t.WriteByte('\n')
	c := v.Smallest
	if c == nil {
		t.wrap(fmt.Sprintf("No change found that makes it fit, in %s", wording.Plural(v.Simulations, "simulation")), "  ")
		return nil
	}
	makes := map[validation.Answer]string{
		validation.Fits: "makes it fit", validation.Unsure: "lets it run; whether it fits in the long run is undecided", validation.Tight: "lets it run, tightly",
		validation.Fails: "lets it run, though a check fails",
	}[c.Answer]
	t.wrap(fmt.Sprintf("Smallest change that %s: %s, costs %s", makes, sink.Line(c.Kind), sink.Line(c.Cost)), "  ")
	for _, e := range c.Edits {
		or := ""
		if e.Export != "" {
			t.WriteString("  " + sink.Line(e.Export) + "\n") // in one line, to be copied
			or = "or "
		}
		t.under(or + editText(e))
		if e.Add != "" {
			t.WriteString("    " + sink.Line(e.Add) + "\n")
		}
	}
	t.under(proof(c, v))
	if len(v.Others) > 0 {
		if err := t.others(v.Others); err != nil {
			return err
		}
	}
	found := fmt.Sprintf("Found in %s; the changes shown were simulated over all files.", wording.Plural(v.Simulations, "simulation"))
	if slices.ContainsFunc(v.Others, func(c validation.Change) bool { return c.Timeless }) {
		found += " Where the speed is ?, the stage's seconds in the file do not depend on its batch."
	}
	t.wrap(found, "  ")
	return nil
}

// editText is "pipeline.yaml:12:10: stages[0].batch: 32 -> 8", or "add to pipeline.yaml:", with the line to be added below it.
func editText(e validation.Edit) string {
	switch {
	case e.Add != "" && e.Under == "":
		return fmt.Sprintf("add to %s:", sink.Line(e.At.Path))
	case e.Add != "":
		return fmt.Sprintf("add at %s, under %s:", sink.Line(e.At.String()), sink.Line(e.Under))
	case e.New == "none":
		return fmt.Sprintf("take out %s: %s: %s", sink.Line(e.At.String()), sink.Line(e.Key), sink.Line(e.Old))
	}
	return fmt.Sprintf("%s: %s: %s -> %s", sink.Line(e.At.String()), sink.Line(e.Key), sink.Line(e.Old), sink.Line(e.New))
}

// shortEdit is the same where the file has been named: "line 12: stages[0].batch: 32 -> 8".
func shortEdit(e validation.Edit) string {
	switch {
	case e.Add != "" && e.Under == "":
		return "add " + sink.Line(e.Add)
	case e.Add != "":
		return fmt.Sprintf("line %d, %s: add %s", e.At.Line, sink.Line(e.Under), sink.Line(e.Add))
	case e.New == "none":
		return fmt.Sprintf("line %d: take out %s: %s", e.At.Line, sink.Line(e.Key), sink.Line(e.Old))
	}
	return fmt.Sprintf("line %d: %s: %s -> %s", e.At.Line, sink.Line(e.Key), sink.Line(e.Old), sink.Line(e.New))
}

// proof is what the simulation of a change came to. The speed before is said where it is that of all files.
func proof(c *validation.Change, v *validation.Report) string {
	failed := "none fails"
	if c.Failed > 0 {
		failed = wording.Count(c.Failed) + " fail"
	}
	text := fmt.Sprintf("proved: %s, %s, needs up to %s (%s), at %s", wording.Plural(c.Files, "file"), failed, record.FormatBytes(c.Need),
		wording.Share(c.Share), check.Quantity(c.Speed, check.TimesRealTime))
	if v.Failed == 0 && v.Speed > 0 && c.Speed > 0 {
		now, before := check.Quantity(c.Speed, check.TimesRealTime), check.Quantity(v.Speed, check.TimesRealTime)
		if now != before {
			text += " (before: " + before + ")"
		}
	}
	switch {
	case c.Why != "":
		text += ": " + sink.Line(c.Why)
	case c.Answer != validation.Fits:
		text += ": " + c.Answer.String()
	}
	if c.Timeless {
		text += "; the stage's seconds in the file do not depend on its batch, so the speed does not show what it costs"
	}
	return text
}

// others writes the changes of other kinds, with what they cost.
func (t *textWriter) others(all []validation.Change) error {
	const answer = 1
	rows := [][]string{{"Other change", "Answer", "Costs", "Needs", "Speed", "Edits"}}
	fit := true
	for i := range all {
		c := &all[i]
		fit = fit && c.Answer == validation.Fits
		word := c.Answer.String()
		if c.Answer == validation.Fails {
			word = "a check fails"
		}
		speed := strings.Replace(check.Quantity(c.Speed, check.TimesRealTime), " real time", "", 1)
		if c.Timeless {
			speed = "?"
		}
		var edits []string
		for _, e := range c.Edits {
			edits = append(edits, shortEdit(e))
		}
		rows = append(rows, []string{sink.Line(c.Kind), word, sink.Line(c.Cost), wording.Share(c.Share), speed, strings.Join(edits, "; ")})
	}
	numbers := []int{3, 4}
	if fit {
		for i := range rows {
			rows[i] = slices.Delete(rows[i], answer, answer+1)
		}
		numbers = []int{2, 3}
	}
	t.WriteByte('\n')
	const narrow = 20 // columns for the edits
	if t.roomFor(rows) >= narrow {
		return t.folded(rows, numbers, words, " ", "  ")
	}
	t.WriteString("Other changes:\n")
	for i := range all {
		c, cells := &all[i], rows[i+1]
		t.under(fmt.Sprintf("%s: %s; costs %s; %s, needs %s, at %s", sink.Line(c.Kind), cells[len(cells)-1], sink.Line(c.Cost), c.Answer,
			wording.Share(c.Share), check.Quantity(c.Speed, check.TimesRealTime)))
	}
	return nil
}

// stageNeeds writes the stages, each with what its highest need is made up of.
func (t *textWriter) stageNeeds(v *validation.Report) error {
	if !slices.ContainsFunc(v.Stages, known) {
		return nil
	}
	rows := [][]string{{"Stage", "File", "Needs", "Share", "Made up of"}}
	for _, s := range v.Stages {
		name := sink.Line(s.Stage)
		if !known(s) {
			rows = append(rows, []string{name, "", "", "", "not reached"})
			continue
		}
		if s.Measured {
			name += " (measured)"
		}
		file := "init"
		if s.File > 0 {
			file = wording.Count(s.File)
		}
		rows = append(rows, []string{name, file, record.FormatBytes(s.Need), wording.Share(s.Share), partsText(s)})
	}
	t.WriteByte('\n')
	room := t.roomFor(rows)
	return t.folded(rows, []int{1, 2, 3}, func(s string) []string { return partsIn(s, room) }, "", "")
}

// partsIn takes a text of parts apart between them, and within those that are wider than the room.
func partsIn(s string, room int) []string {
	var out []string
	for part := range strings.SplitAfterSeq(s, " + ") {
		if twwidth.Width(strings.TrimRight(part, " ")) <= room {
			out = append(out, part)
			continue
		}
		for _, word := range words(part) {
			out = append(out, word+" ")
		}
	}
	return out
}

// known reports whether there is a need to show: the stage was reached, on the card or without its limit.
func known(s validation.StageNeed) bool { return s.Reached || len(s.Parts) > 0 }

// smallPart is the share of a need from which on a part is named.
const smallPart = 0.01

// partsText is "weights of asr 2.88 GiB + tensors 2.00 GiB + 3 others 12.0 MiB", the largest first.
func partsText(s validation.StageNeed) string {
	parts := largestFirst(s.Parts)
	small := slices.IndexFunc(parts, func(p validation.Part) bool { return float64(p.Bytes) < smallPart*float64(s.Need) })
	if small >= 0 && len(parts)-small > 1 {
		others := validation.Part{What: wording.Count(len(parts)-small) + " others"}
		for _, p := range parts[small:] {
			others.Bytes += p.Bytes
		}
		parts = append(parts[:small:small], others)
	}
	var text []string
	if s.Reached && s.Allocated == 0 {
		text = append(text, "nothing of its own")
	}
	for _, p := range parts {
		text = append(text, sink.Line(p.What)+" "+record.FormatBytes(p.Bytes))
	}
	return strings.Join(text, " + ")
}

// folded writes a table whose last column takes the width that is left: its cells are broken between what split makes of them,
// which sep joins in a line, and go on indented.
func (t *textWriter) folded(rows [][]string, numbers []int, split func(string) []string, sep, indent string) error {
	last := len(rows[0]) - 1
	room := max(t.roomFor(rows), 20)
	for _, r := range rows {
		var lines []string
		line := ""
		for _, word := range split(r[last]) {
			switch {
			case line == "":
				line = word
			case twwidth.Width(line+sep+strings.TrimRight(word, " ")) > room:
				lines = append(lines, strings.TrimRight(line, " "))
				line = indent + word
			default:
				line += sep + word
			}
		}
		r[last] = strings.Join(append(lines, line), "\n")
	}
	return t.table(rows, numbers, last, 0)
}

// roomFor is the width that a table leaves for its last column.
func (t *textWriter) roomFor(rows [][]string) int {
	last := len(rows[0]) - 1
	room := t.Width - tableWidth(rows) + columnWidth(rows, last)
	if !t.Terminal {
		room += last + 1 // there are no lines between columns
	}
	return room
}

// room writes what is left of the card, how the allocator's holdings are cut up after all files, and from when on memory is short.
func (t *textWriter) room(v *validation.Report) {
	blank := "\n"
	write := func(s string) {
		t.WriteString(blank)
		blank = ""
		t.wrap(s, "  ")
	}
	if v.Failure == nil || v.Failure.Recovered {
		write(fmt.Sprintf("headroom: %s of %s", record.FormatBytes(v.Headroom), record.FormatBytes(v.Total)))
	}
	if f := v.Fragmentation; f != nil {
		text := fmt.Sprintf("fragmentation (reserved - allocated): %s after file 1, %s after file %s", record.FormatBytes(f.First),
			record.FormatBytes(f.Last), wording.Count(f.Files))
		if f.Most > max(f.First, f.Last) {
			text += fmt.Sprintf(", at most %s", record.FormatBytes(f.Most))
		}
		trend := fmt.Sprintf("%+.2f MiB/file", f.PerFile/float64(record.MiB))
		if trend == "+0.00 MiB/file" || trend == "-0.00 MiB/file" {
			trend = "no trend"
		}
		write(text + "; " + trend + "; then the largest free block is " + record.FormatBytes(f.LargestFree))
	}
	if v.Retry > 0 && (v.Failure == nil || v.Retry < v.Failure.File) {
		write(fmt.Sprintf("pressure: from file %s on the allocator gives its cache back to make room", wording.Count(v.Retry)))
	}
	for _, note := range v.Notes {
		write("note: " + sink.Line(note))
	}
}

// found writes what else the log says: in full if the answer depends on it, else by its figures.
func (t *textWriter) found(v *validation.Report) {
	said := []string{check.Peak, check.OutOfMemory, check.Completeness} // by the answer and what fails first
	var open []string
	blank := "\n"
	write := func(f check.Finding, message string) {
		t.WriteString(blank)
		blank = ""
		t.wrap(t.paint(f.Verdict, t.word(f))+" "+sink.Line(f.Check+", "+f.Subject)+": "+sink.Line(message), "  ")
	}
	for _, f := range wording.WithVerdict(wording.Sorted(v.Checks), check.Fail, check.Undecided) {
		switch {
		case f.Verdict == check.Fail && slices.Contains(said, f.Check):
		case v.Answer == validation.Fails && f.Verdict == check.Fail, v.Answer == validation.Unsure, f.Check == check.Peak:
			write(f, f.Message)
		case f.Verdict == check.Fail:
			write(f, figures(f))
		default:
			open = append(open, sink.Line(f.Check+" of "+f.Subject))
		}
	}
	if len(open) > 0 {
		t.WriteString(blank)
		t.wrap(t.paint(check.Undecided, t.symbolWord(check.Undecided))+" "+strings.Join(open, ", ")+": these files do not tell; --format json says more", "  ")
	}
}

// figures is "20.0 %, limit ≥ 95 %"; the message of a finding that has no figures.
func figures(f check.Finding) string {
	switch {
	case f.Measured == nil:
		return f.Message
	case f.Limit == nil:
		return wording.Measured(f)
	}
	return wording.Measured(f) + ", limit " + wording.Limit(f)
}

// footprints writes what was measured beside what was estimated.
func (t *textWriter) footprints(title string, all []profile.Comparison) error {
	if len(all) == 0 {
		return nil
	}
	rows := [][]string{{title, "Measured", "Estimated", "Ratio", "Used", "Note"}}
	noted := false
	for _, f := range all {
		row := []string{sink.Line(f.Stage), "", "", "", f.Used, sink.Line(f.Note)}
		if f.Measured > 0 {
			row[1] = record.FormatBytes(f.Measured)
		}
		if f.Estimated > 0 {
			row[2] = record.FormatBytes(f.Estimated)
		}
		if f.Ratio > 0 {
			row[3] = fmt.Sprintf("%.2f", f.Ratio)
		}
		noted = noted || f.Note != ""
		rows = append(rows, row)
	}
	if !noted {
		for i := range rows {
			rows[i] = rows[i][:5]
		}
	}
	t.WriteByte('\n')
	return t.folded(rows, []int{1, 2, 3}, words, " ", "  ")
}
