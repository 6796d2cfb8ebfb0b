package text

import (
	"fmt"
	"io"

	"vramsoak/pipeline/validation"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// Cards writes a table that says how each model fits on each card, and explains its words.
func Cards(w io.Writer, c *validation.Table, opts Options) error {
	t := newWriter(opts)
	t.fold = true
	rows := cardRows(c, fitText)
	legend := ""
	if t.Terminal && tableWidth(rows) > t.Width {
		rows, legend = cardRows(c, shortFit), "; ! is tight, ~ is comfortable, less is plenty"
	}
	t.wrap(fmt.Sprintf("%s, %s, with each model in the place of %s; the share is what the batch "+
		"needs of the card%s; a smaller model costs accuracy",
		sink.Line(c.Scenario), wording.Plural(c.Files, "file"), sink.Line(c.Replaced), legend),
		"  ")
	t.WriteByte('\n')
	if err := t.table(rows, nil, 0, 0); err != nil {
		return err
	}
	return t.flush(w)
}

func cardRows(c *validation.Table, cell func(validation.Fit) string) [][]string {
	rows := [][]string{append([]string{"Model"}, c.Cards...)}
	for i, model := range c.Models {
		row := []string{sink.Line(model)}
		for k := range c.Cards {
			row = append(row, cell(c.Cells[k][i]))
		}
		rows = append(rows, row)
	}
	return rows
}

// fitText prints how a model fits on a card: "tight 88 %".
func fitText(f validation.Fit) string {
	if f.Word == validation.No {
		return string(f.Word)
	}
	return fmt.Sprintf("%s %.0f %%", f.Word, 100*f.Share)
}

// shortFit returns how a model fits without words, "88 % !", for a terminal that is too narrow.
func shortFit(f validation.Fit) string {
	if f.Word == validation.No {
		return string(f.Word)
	}
	mark := map[validation.Word]string{
		validation.TightWord:   " !",
		validation.Comfortable: " ~",
	}[f.Word]
	return fmt.Sprintf("%.0f %%%s", 100*f.Share, mark)
}
