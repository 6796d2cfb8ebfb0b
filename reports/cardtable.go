package reports

import (
	"fmt"
	"io"
)

// CardTableSchema names the form of a CardTable in JSON.
const CardTableSchema = "vramsoak.cards/1"

// A CardTable says which cards do for which models.
type CardTable struct {
	Schema   string      `json:"schema"`
	Scenario string      `json:"scenario"`
	Files    int         `json:"files"`    // of each simulation
	Replaced string      `json:"replaced"` // the model that the others are put in the place of
	Cards    []string    `json:"cards"`
	Models   []string    `json:"models"`
	Cells    [][]CardFit `json:"cells"` // by card, then model
}

// A CardFit is one answer of a table.
type CardFit struct {
	Word  string  `json:"word"`  // plenty, comfortable, tight or no
	Share float64 `json:"share"` // of the card that it needs; where the answer is no, up to what failed
}

// CardTableText writes a table of cards by models, and what its words mean.
func CardTableText(w io.Writer, c *CardTable, opts TextOptions) error {
	t := newTextWriter(opts)
	t.fold = true
	rows := c.rows(fitText)
	legend := ""
	if t.Terminal && tableWidth(rows) > t.Width {
		rows, legend = c.rows(shortFit), "; ! is tight, ~ is comfortable, less is plenty"
	}
	t.wrap(fmt.Sprintf("%s, %s, with each model in the place of %s; the share is what the batch needs of the card%s; a smaller model costs accuracy",
		clean(c.Scenario), plural(c.Files, "file"), clean(c.Replaced), legend), "  ")
	t.WriteByte('\n')
	if err := t.table(rows, nil, 0, 0); err != nil {
		return err
	}
	return t.flush(w)
}

func (c *CardTable) rows(cell func(CardFit) string) [][]string {
	rows := [][]string{append([]string{"Model"}, c.Cards...)}
	for i, model := range c.Models {
		row := []string{clean(model)}
		for k := range c.Cards {
			row = append(row, cell(c.Cells[k][i]))
		}
		rows = append(rows, row)
	}
	return rows
}

// fitText is "tight 88 %".
func fitText(f CardFit) string {
	if f.Word == "no" {
		return f.Word
	}
	return fmt.Sprintf("%s %.0f %%", f.Word, 100*f.Share)
}

// shortFit is "88 % !", for a table that is too wide with words.
func shortFit(f CardFit) string {
	if f.Word == "no" {
		return f.Word
	}
	mark := map[string]string{"tight": " !", "comfortable": " ~"}[f.Word]
	return fmt.Sprintf("%.0f %%%s", 100*f.Share, mark)
}
