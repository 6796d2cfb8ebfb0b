package validation

import (
	"fmt"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

// withoutLimit simulates the batch on a device without limit, to learn how much memory the batch
// requires. This is necessary because the simulation on the card stops at the allocation that
// failed. The result is nil if no allocation failed in o, the outcome on the card.
func (b *Batch) withoutLimit(of *scenario.Scenario, files Files, o *simulator.Outcome) (*assessment,
	error,
) {
	if o.FirstFailure == nil || o.FirstFailure.OOM == nil {
		return nil, nil
	}
	o, err := simulator.Run(of, simulator.Options{
		First: files.First, Files: files.Count,
		Unlimited: true,
	})
	if err != nil {
		return nil, err
	}
	a := assess(of, o, b.limit())
	return &a, nil
}

// required returns the assessment that says how much memory the stages need: the one of the
// simulation on the card or, if an allocation failed there, the one of the simulation without
// limit.
func (s *simulation) required() assessment {
	if s.unlimited != nil {
		return *s.unlimited
	}
	return s.assessment
}

// larger searches for a larger card if the batch is tight or does not fit. It puts the card into
// the report.
func (b *Batch) larger(s *simulation, r *Report) error {
	if s.Answer != Tight && s.unlimited == nil {
		return nil
	}
	card, on, simulations, err := larger(b.Scenario, b.memoryOnly, b.Files, s.required().Need,
		b.limit())
	r.Simulations += simulations
	if err != nil {
		return err
	}
	r.Larger = &LargerCard{UpTo: fmt.Sprintf("%d GB", slices.Max(cardSizes)), Share: on.Share}
	if card.Total > 0 {
		r.Larger.Card = sizeName(card)
	}
	return nil
}

// sizeName returns the name of a card by its size: "24 GB".
func sizeName(card scenario.GPU) string { return fmt.Sprintf("%d GB", card.Size/record.GiB) }
