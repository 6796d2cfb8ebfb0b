package text

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"vramsoak/pipeline/validation"
	"vramsoak/reports/sink"
	"vramsoak/reports/wording"
)

// Cards writes a table that says how each model, or each row of the file, fits on each card, and
// explains its words.
func Cards(w io.Writer, c *validation.Table, opts Options) error {
	t := newWriter(opts)
	rows := cardRows(c, fitText)
	legend := ""
	if t.tableWidth(rows) > t.Width {
		rows, legend = cardRows(c, shortFit), "; ! is tight, ~ is comfortable, less is plenty"
	}
	what := "with each row of the file's table"
	if len(c.Rows) == 0 {
		what = "with each model in the place of " + sink.Line(c.Replaced)
		legend += "; a smaller model costs accuracy"
	}
	t.wrap(fmt.Sprintf("%s, %s, %s; the share is what the batch needs of the card%s",
		sink.Line(c.Scenario), wording.Plural(c.Files, "file"), what, legend), "  ")
	t.WriteByte('\n')
	if err := t.table(rows, nil, 0); err != nil {
		return err
	}
	if len(c.Rows) > 0 {
		t.WriteByte('\n')
		t.wrap("The last row that fits: "+largestRows(c), "  ")
	}
	return t.flush(w)
}

// largestRows returns the last row of the file that fits on each card: "none on 8 GB, 12/6 on 12 GB
// to 80 GB".
func largestRows(c *validation.Table) string {
	var all []string
	for i := 0; i < len(c.Cards); i++ {
		text := cmp.Or(sink.Line(c.Largest[i]), "none") + " on " + c.Cards[i]
		from := i
		for i+1 < len(c.Cards) && c.Largest[i+1] == c.Largest[from] {
			i++
		}
		if i > from {
			text += " to " + c.Cards[i]
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func cardRows(c *validation.Table, cell func(validation.Fit) string) [][]string {
	head := "Model"
	if len(c.Rows) > 0 {
		head = "Row"
	}
	rows := [][]string{append([]string{head}, c.Cards...)}
	for i, name := range c.Names() {
		row := []string{sink.Line(name)}
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
