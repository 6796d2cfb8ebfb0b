package validation

import (
	"fmt"

	"vramsoak/parser"
	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
)

// CardSizes are the cards of a table, in GiB.
var CardSizes = []int{8, 12, 16, 24, 48, 80}

// A Table is results of cards by models.
type Table struct {
	Replaced string // id of the model that others are put in the place of
	Cards    []scenario.GPU
	Models   []string
	Cells    [][]Result // by card, then model
}

// Cards simulates the scenario on cards of all sizes with each model of the family of one of its models: the first that has
// a family of several.
func Cards(s *scenario.Scenario, trial Trial, files int) (*Table, error) {
	t := &Table{}
	at := -1
	for i := range s.Models {
		m, err := models.Lookup(s.Models[i].Model)
		if err != nil {
			continue // one whose weights the file gives
		}
		if family := models.Family(m.Family); len(family) > 1 {
			at, t.Models, t.Replaced = i, family, s.Models[i].ID
			break
		}
	}
	if at < 0 {
		return nil, fmt.Errorf("%s: expected a model of a family of several, such as whisper-large-v3, to put others in the place of, found none", s.Path)
	}
	for _, gib := range CardSizes {
		card, err := scenario.Card(fmt.Sprintf("%dGiB", gib))
		if err != nil {
			return nil, err
		}
		t.Cards = append(t.Cards, s.GPU.Replaced(card))
		t.Cells = append(t.Cells, make([]Result, len(t.Models)))
	}
	err := inParallel(len(t.Cards)*len(t.Models), func(n int) (err error) {
		card, model := n/len(t.Models), n%len(t.Models)
		c := s.Clone()
		c.GPU, c.Models[at].Model = t.Cards[card], t.Models[model]
		if t.Cells[card][model], err = trial(c, Files{1, files}); err != nil {
			return fmt.Errorf("%s with %s on %s: %w", s.Path, t.Models[model], parser.FormatBytes(t.Cards[card].Total), err)
		}
		return nil
	})
	return t, err
}
