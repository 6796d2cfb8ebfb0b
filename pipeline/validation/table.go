package validation

import (
	"fmt"
	"maps"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/strictyaml"
	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
)

// cardSizes are the sizes of the cards in a table, in GiB.
var cardSizes = []int{8, 12, 16, 24, 48, 80}

// tableSchema is the name of the JSON format of a [Table].
const tableSchema = "vramsoak.cards/1"

// A Table says which models, or which rows of the file's own table, fit on which cards.
type Table struct {
	Schema   string   `json:"schema"`
	Scenario string   `json:"scenario"`
	Files    int      `json:"files"`    // of each simulation
	Replaced string   `json:"replaced"` // id of the model that Models replace; "" if the file has rows
	Cards    []string `json:"cards"`
	Models   []string `json:"models"`         // empty if the file has rows
	Rows     []string `json:"rows,omitempty"` // names of the file's rows
	Cells    [][]Fit  `json:"cells"`          // Cells[card][model or row]
	// Largest has for each card the last row of the file that fits, or the largest model: one that is
	// plenty or comfortable. "" means that none fits.
	Largest []string `json:"largest"`
}

// Names returns the names of the rows: those of the file, or the models.
func (t *Table) Names() []string {
	if len(t.Rows) > 0 {
		return t.Rows
	}
	return t.Models
}

// A Fit says how well one model fits on one card.
type Fit struct {
	Word Word `json:"word"`
	// Share is the part of the card that the batch needs. If Word is no, it counts only the files
	// up to the allocation that failed.
	Share float64 `json:"share"`
}

// A Word says how well a batch fits on a card.
type Word string

// The words for a need, with the default bounds of vramsoak check's peak: plenty is up to 70 % of
// the card, comfortable up to 85 %, tight above. No means that the batch does not fit.
const (
	Plenty      Word = "plenty"
	Comfortable Word = "comfortable"
	TightWord   Word = "tight"
	No          Word = "no"
)

// Table simulates the batch on a card of each size, with each row of the file's table in turn. If
// the file has none, the rows are the models of a family, in the place of the first model of the
// scenario whose family has several models.
func (b *Batch) Table() (*Table, error) {
	t := &Table{Schema: tableSchema, Scenario: b.Name, Files: b.Files, Models: []string{}}
	rows, err := b.rows(t)
	if err != nil {
		return nil, err
	}
	names := t.Names()
	cards := make([]scenario.GPU, len(cardSizes))
	for i, gib := range cardSizes {
		card, err := scenario.Card(fmt.Sprintf("%dGiB", gib))
		if err != nil {
			return nil, err
		}
		cards[i] = b.GPU.Replaced(card)
		t.Cards = append(t.Cards, sizeName(cards[i]))
		t.Cells = append(t.Cells, make([]Fit, len(names)))
	}
	err = inParallel(len(cards)*len(names), func(n int) error {
		card, row := n/len(names), n%len(names)
		s := rows[row].Clone()
		s.GPU = cards[card]
		r, err := b.memoryOnly(s, b.all())
		if err != nil {
			return fmt.Errorf("%s with %s on %s: %w", b.Path, names[row],
				record.FormatBytes(cards[card].Total), err)
		}
		t.Cells[card][row] = Fit{b.word(r), r.Share}
		return nil
	})
	for _, cells := range t.Cells {
		largest := ""
		for i, cell := range cells {
			if cell.Word == Plenty || cell.Word == Comfortable {
				largest = names[i]
			}
		}
		t.Largest = append(t.Largest, largest)
	}
	return t, err
}

// rows returns the scenario of each row, and puts the names of the rows into the table.
func (b *Batch) rows(t *Table) ([]*scenario.Scenario, error) {
	var all []*scenario.Scenario
	for _, row := range b.Scenario.Table {
		s := b.Clone()
		for _, name := range slices.Sorted(maps.Keys(row.Values)) {
			if slices.Contains(b.fixed, name) {
				return nil, fmt.Errorf("--set %s: expected a parameter that no row of the table sets, but row "+
					"%s has it; leave out --set %s, or change the row", name, row.Name, name)
			}
			if err := s.Set(name, row.Values[name]); err != nil {
				return nil, err
			}
		}
		for _, m := range s.Lint() {
			if m.Severity == strictyaml.Error {
				return nil, fmt.Errorf("row %s of the table: %w", row.Name, &m)
			}
		}
		t.Rows = append(t.Rows, row.Name)
		all = append(all, s)
	}
	if len(all) > 0 {
		return all, nil
	}
	for i := range b.Models {
		m, err := models.Lookup(b.Models[i].Model)
		if err != nil {
			continue // the file gives its weights
		}
		family := models.Family(m.Family)
		if len(family) < 2 {
			continue
		}
		t.Models, t.Replaced = family, b.Models[i].ID
		for _, name := range family {
			s := b.Clone()
			s.Models[i].Model = name
			all = append(all, s)
		}
		return all, nil
	}
	return nil, fmt.Errorf("%s: expected a model of a family of several, such as whisper-large-v3, "+
		"to put others in the place of, or rows in the file, found neither; add to the file: "+
		"table: {small: {batch_size: 8}}, with parameters of the file", b.Path)
}

// word returns the word for the result of a simulation.
func (b *Batch) word(r Result) Word {
	switch {
	case r.Answer == DoesNotFit:
		return No
	case r.Share > b.limit():
		return TightWord
	case r.Share > float64(b.Policy.Peak.Notice):
		return Comfortable
	}
	return Plenty
}
