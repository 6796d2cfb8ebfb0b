package reports

import (
	"fmt"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/parser"
)

// stageNeeds writes the stages, each with what its highest need is made up of.
func (t *textWriter) stageNeeds(v *Validation) error {
	if len(v.Stages) == 0 {
		return nil
	}
	rows := [][]string{{"Stage", "File", "Needs", "Share", "Cache", "Made up of"}}
	for _, s := range v.Stages {
		name := clean(s.Stage)
		if len(s.Parts) == 0 {
			rows = append(rows, []string{name, "", "", "", "", "not reached"})
			continue
		}
		if s.Measured {
			name += " (measured)"
		}
		rows = append(rows, []string{
			name, number(s.File), parser.FormatBytes(s.Need), shareText(s.Share), parser.FormatBytes(s.Cache),
			partsText(s.Parts),
		})
	}
	const partsColumn = 5
	width := 0
	if t.Terminal {
		width = t.squeezed(rows, partsColumn)
	}
	t.WriteByte('\n')
	return t.table(rows, []int{1, 2, 3, 4}, partsColumn, width)
}

// partsText is "weights of asr 2.88 GiB + tensors 2.00 GiB + context 480 MiB".
func partsText(parts []Part) string {
	var words []string
	for _, p := range parts {
		words = append(words, clean(p.What)+" "+parser.FormatBytes(p.Bytes))
	}
	return strings.Join(words, " + ")
}

// room writes what is left of the card, and how the allocator's holdings are cut up after all files.
func (t *textWriter) room(v *Validation) {
	t.WriteByte('\n')
	if v.Failure == nil || v.Failure.Recovered {
		t.wrap(fmt.Sprintf("headroom: %s of %s", parser.FormatBytes(v.Headroom), parser.FormatBytes(v.Total)), "  ")
	}
	f := v.Fragmentation
	if f == nil {
		return
	}
	text := fmt.Sprintf("reserved - allocated at file ends: %s after the first, %s after file %s", parser.FormatBytes(f.First),
		parser.FormatBytes(f.Last), number(f.Files))
	if f.Most > max(f.First, f.Last) {
		text += fmt.Sprintf(", at most %s", parser.FormatBytes(f.Most))
	}
	text += fmt.Sprintf("; the trend is %+.2f MiB/file; the largest free block is then %s", f.PerFile/float64(parser.MiB),
		parser.FormatBytes(f.LargestFree))
	t.wrap(text, "  ")
}

// refusals writes from when on memory is short, and the first allocation that failed.
func (t *textWriter) refusals(v *Validation) {
	if v.Retry > 0 && (v.Failure == nil || v.Retry < v.Failure.File) {
		t.WriteByte('\n')
		t.wrap(fmt.Sprintf("under pressure from file %s on: the allocator gives its cache back and asks the driver again", number(v.Retry)), "  ")
	}
	r := v.Failure
	if r == nil {
		return
	}
	t.WriteByte('\n')
	what := ""
	if r.What != "" {
		what = ", " + clean(r.What)
	}
	where := "before the first file"
	if r.File > 0 {
		where = "file " + number(r.File)
	}
	if r.Stage != "" {
		where += ", " + clean(r.Stage)
	}
	text := "fails first: "
	if r.Recovered {
		text = "fails first, and recovers: "
	}
	text += where + what
	if r.Requested > 0 {
		text += fmt.Sprintf(": %s asked for, %s free in sum, the largest free block is %s", parser.FormatBytes(r.Requested),
			parser.FormatBytes(r.FreeInSum), parser.FormatBytes(r.LargestFree))
	}
	t.wrap(text, "  ")
	if r.Requested > 0 && r.FreeInSum >= r.Requested {
		t.under("this is fragmentation: enough is free, and not in one piece")
	}
	if r.Message != "" {
		t.under(clean(r.Message))
	}
}

// under writes a line that belongs to the one before it.
func (t *textWriter) under(s string) {
	t.WriteString("  ")
	t.Width -= 2
	t.wrap(s, "    ")
	t.Width += 2
}

// footprints writes what was measured beside what was estimated.
func (t *textWriter) footprints(title string, all []Footprint) error {
	if len(all) == 0 {
		return nil
	}
	rows := [][]string{{title, "Measured", "Estimated", "Ratio", "Validated by", ""}}
	for _, f := range all {
		row := []string{clean(f.Stage), "", "", "", f.Used, clean(f.Note)}
		if f.Measured > 0 {
			row[1] = parser.FormatBytes(f.Measured)
		}
		if f.Estimated > 0 {
			row[2] = parser.FormatBytes(f.Estimated)
		}
		if f.Ratio > 0 {
			row[3] = fmt.Sprintf("%.2f", f.Ratio)
		}
		rows = append(rows, row)
	}
	t.WriteByte('\n')
	return t.table(rows, []int{1, 2, 3}, 5, 0)
}

// proposals writes the smallest change, with what to edit, and the others that were proved.
func (t *textWriter) proposals(v *Validation) error {
	if v.Answer == Fits || v.Answer == Unsure {
		return nil
	}
	t.WriteByte('\n')
	if v.Smallest == nil {
		t.wrap(fmt.Sprintf("no change found that makes it fit, in %s", plural(v.Simulations, "simulation")), "  ")
	} else {
		c := v.Smallest
		makes := "makes it fit"
		if c.Answer != Fits {
			makes = "lets it run, though it does not fit well"
		}
		t.wrap(fmt.Sprintf("smallest change that %s (%s):", makes, clean(c.Kind)), "  ")
		for _, e := range c.Edits {
			t.under(editText(e))
			if e.Export != "" {
				t.under(clean(e.Export))
			}
		}
		t.under(proof(c, v.Speed) + "; costs " + clean(c.Cost))
		t.wrap(fmt.Sprintf("found in %s, each of all files or up to the first that fails; the changes shown, of all files",
			plural(v.Simulations, "simulation")), "  ")
	}
	if len(v.Others) == 0 {
		return nil
	}
	rows := [][]string{{"Other change", "Answer", "Needs", "Share", "Speed", "Edits"}}
	for i := range v.Others {
		c := &v.Others[i]
		var edits []string
		for _, e := range c.Edits {
			edits = append(edits, editText(e))
		}
		rows = append(rows, []string{
			clean(c.Kind), string(c.Answer), parser.FormatBytes(c.Need), shareText(c.Share), check.Quantity(c.Speed, check.TimesRealTime),
			strings.Join(edits, "; "),
		})
	}
	t.WriteByte('\n')
	const editsColumn = 5
	width := 0
	if t.Terminal {
		width = t.squeezed(rows, editsColumn)
	}
	return t.table(rows, []int{2, 3, 4}, editsColumn, width)
}

// editText is "pipeline.yaml:12:10: stages[0].batch: 32 -> 8".
func editText(e Edit) string {
	return fmt.Sprintf("%s: %s: %s -> %s", clean(e.At), clean(e.Key), clean(e.Old), clean(e.New))
}

// proof is what the simulation of a change came to.
func proof(c *Change, before float64) string {
	failed := "none fails"
	if c.Failed > 0 {
		failed = number(c.Failed) + " fail"
	}
	text := fmt.Sprintf("proved: %s, %s, needs up to %s (%s): %s, at %s", plural(c.Files, "file"), failed, parser.FormatBytes(c.Need),
		shareText(c.Share), c.Answer, check.Quantity(c.Speed, check.TimesRealTime))
	if before > 0 && c.Speed > 0 {
		text += fmt.Sprintf(" (before: %s)", check.Quantity(before, check.TimesRealTime))
	}
	return text
}
