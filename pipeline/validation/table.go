package validation

import (
	"fmt"

	"vramsoak/parser/record"
	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
)

// cardSizes are the sizes of the cards in a table, in GiB.
var cardSizes = []int{8, 12, 16, 24, 48, 80}

// tableSchema is the name of the JSON format of a [Table].
const tableSchema = "vramsoak.cards/1"

// A Table says which models fit on which cards.
type Table struct {
	Schema   string   `json:"schema"`
	Scenario string   `json:"scenario"`
	Files    int      `json:"files"`    // of each simulation
	Replaced string   `json:"replaced"` // id of the model that Models replace
	Cards    []string `json:"cards"`
	Models   []string `json:"models"`
	Cells    [][]Fit  `json:"cells"` // Cells[card][model]
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

// Table simulates the batch on a card of each size, with each model of a family in turn. These
// models replace the first model of the scenario whose family has several models.
func (b *Batch) Table() (*Table, error) {
	t := &Table{Schema: tableSchema, Scenario: b.Name, Files: b.Files}
	at := -1
	for i := range b.Models {
		m, err := models.Lookup(b.Models[i].Model)
		if err != nil {
			continue // the file gives its weights
		}
		if family := models.Family(m.Family); len(family) > 1 {
			at, t.Models, t.Replaced = i, family, b.Models[i].ID
			break
		}
	}
	if at < 0 {
		return nil, fmt.Errorf("%s: expected a model of a family of several, such as "+
			"whisper-large-v3, to put others in the place of, found none", b.Path)
	}
	cards := make([]scenario.GPU, len(cardSizes))
	for i, gib := range cardSizes {
		card, err := scenario.Card(fmt.Sprintf("%dGiB", gib))
		if err != nil {
			return nil, err
		}
		cards[i] = b.GPU.Replaced(card)
		t.Cards = append(t.Cards, sizeName(cards[i]))
		t.Cells = append(t.Cells, make([]Fit, len(t.Models)))
	}
	err := inParallel(len(cards)*len(t.Models), func(n int) error {
		card, model := n/len(t.Models), n%len(t.Models)
		s := b.Clone()
		s.GPU, s.Models[at].Model = cards[card], t.Models[model]
		r, err := b.memoryOnly(s, b.all())
		if err != nil {
			return fmt.Errorf("%s with %s on %s: %w", b.Path, t.Models[model],
				record.FormatBytes(cards[card].Total), err)
		}
		t.Cells[card][model] = Fit{b.word(r), r.Share}
		return nil
	})
	return t, err
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
