package text

import (
	"fmt"
	"slices"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser/record"
	"vramsoak/pipeline/validation"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// proposals writes the smallest change to the scenario that helps, with the lines to edit, and the
// other changes that were simulated.
func (t *writer) proposals(v *validation.Report) error {
	if v.Answer == validation.Fits || v.Answer == validation.Unsure ||
		v.Answer == validation.DoesNotFit && v.Failure == nil { // only the real command failed
		return nil
	}
	t.WriteByte('\n')
	c := v.Smallest
	if c == nil {
		t.wrap(fmt.Sprintf("No change found that makes it fit, in %s",
			wording.Plural(v.Simulations, "simulation")), "  ")
		return nil
	}
	makes := map[validation.Answer]string{
		validation.Fits:   "makes it fit",
		validation.Unsure: "lets it run; whether it fits in the long run is undecided",
		validation.Tight:  "lets it run, tightly",
		validation.Fails:  "lets it run, though a check fails",
	}[c.Answer]
	t.wrap(fmt.Sprintf("Smallest change that %s: %s, costs %s", makes, sink.Line(c.Kind),
		sink.Line(c.Cost)), "  ")
	for _, e := range c.Edits {
		or := ""
		if e.Export != "" {
			t.WriteString("  " + sink.Line(e.Export) + "\n") // on one line, to be copied
			or = "or "
		}
		t.continuation(or + editText(e))
		if e.Add != "" {
			t.WriteString("    " + sink.Line(e.Add) + "\n")
		}
	}
	t.continuation(proof(c, v))
	if len(v.Others) > 0 {
		if err := t.otherChanges(v.Others); err != nil {
			return err
		}
	}
	found := fmt.Sprintf("Found in %s; the changes shown were simulated over all files.",
		wording.Plural(v.Simulations, "simulation"))
	if slices.ContainsFunc(v.Others, func(c validation.Change) bool { return c.Timeless }) {
		found += " Where the speed is ?, the stage's seconds in the file do not depend on its " +
			"batch."
	}
	t.wrap(found, "  ")
	return nil
}

// editText describes an edit: "pipeline.yaml:12:10: stages[0].batch: 32 -> 8". If a line is to be
// added, the text is "add to pipeline.yaml:", and the caller writes this line below.
func editText(e validation.Edit) string {
	switch {
	case e.Add != "" && e.Under == "":
		return fmt.Sprintf("add to %s:", sink.Line(e.At.Path))
	case e.Add != "":
		return fmt.Sprintf("add at %s, under %s:", sink.Line(e.At.String()), sink.Line(e.Under))
	case e.New == "none":
		return fmt.Sprintf("take out %s: %s: %s", sink.Line(e.At.String()), sink.Line(e.Key),
			sink.Line(e.Old))
	}
	return fmt.Sprintf("%s: %s: %s -> %s", sink.Line(e.At.String()), sink.Line(e.Key),
		sink.Line(e.Old), sink.Line(e.New))
}

// shortEdit describes an edit without its file: "line 12: stages[0].batch: 32 -> 8".
func shortEdit(e validation.Edit) string {
	switch {
	case e.Add != "" && e.Under == "":
		return "add " + sink.Line(e.Add)
	case e.Add != "":
		return fmt.Sprintf("line %d, %s: add %s", e.At.Line, sink.Line(e.Under), sink.Line(e.Add))
	case e.New == "none":
		return fmt.Sprintf("line %d: take out %s: %s", e.At.Line, sink.Line(e.Key),
			sink.Line(e.Old))
	}
	return fmt.Sprintf("line %d: %s: %s -> %s", e.At.Line, sink.Line(e.Key), sink.Line(e.Old),
		sink.Line(e.New))
}

// proof returns the result of simulating a change. If no file failed without the change either, it
// includes the speed without the change.
func proof(c *validation.Change, v *validation.Report) string {
	failed := "none fails"
	if c.Failed > 0 {
		failed = wording.Count(c.Failed) + " fail"
	}
	text := fmt.Sprintf("proved: %s, %s, needs up to %s (%s), at %s",
		wording.Plural(c.Files, "file"), failed, record.FormatBytes(c.Need),
		wording.Share(c.Share), check.Quantity(c.Speed, check.TimesRealTime))
	if v.Failed == 0 && v.Speed > 0 && c.Speed > 0 {
		now, before := check.Quantity(c.Speed, check.TimesRealTime),
			check.Quantity(v.Speed, check.TimesRealTime)
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
		text += "; the stage's seconds in the file do not depend on its batch, so the speed does " +
			"not show what it costs"
	}
	return text
}

// otherChanges writes a table of the other changes and what each costs.
func (t *writer) otherChanges(all []validation.Change) error {
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
		rows = append(rows, []string{
			sink.Line(c.Kind), word, sink.Line(c.Cost),
			wording.Share(c.Share), speed, strings.Join(edits, "; "),
		})
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
	if t.lastColumnWidth(rows) >= narrow {
		return t.tableWithFoldedColumn(rows, numbers, words, " ", "  ")
	}
	t.WriteString("Other changes:\n")
	for i := range all {
		c, cells := &all[i], rows[i+1]
		t.continuation(fmt.Sprintf("%s: %s; costs %s; %s, needs %s, at %s", sink.Line(c.Kind),
			cells[len(cells)-1], sink.Line(c.Cost), c.Answer,
			wording.Share(c.Share), check.Quantity(c.Speed, check.TimesRealTime)))
	}
	return nil
}
