package main

import (
	"fmt"
	"slices"

	"vramsoak/parser"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
	"vramsoak/pipeline/validation"
	"vramsoak/reports"
)

// withoutLimit is what the batch needs where an allocation failed on the card: what stages came to on it ends with that
// allocation. It is simulated on a device without limit; nil where every allocation had its memory.
func (s *subject) withoutLimit(of *scenario.Scenario, files validation.Files, o *simulator.Outcome) (*validation.Assessment, error) {
	if o.FirstFailure == nil || o.FirstFailure.OOM == nil {
		return nil, nil
	}
	o, err := simulator.Run(of, simulator.Options{First: files.First, Files: files.Count, Unlimited: true})
	if err != nil {
		return nil, err
	}
	a := validation.Assess(of, o, float64(s.policy.Peak.Max))
	return &a, nil
}

// needs is what stages need: on the card, or without its limit where they do not fit.
func (r *simulatedRun) needs() validation.Assessment {
	if r.unlimited != nil {
		return *r.unlimited
	}
	return r.Assessment
}

// larger looks for the card of the table that holds what this one does not, or not well.
func (s *subject) larger(r *simulatedRun, v *reports.Validation) error {
	if r.Answer != validation.Tight && r.unlimited == nil {
		return nil
	}
	card, on, simulations, err := validation.Larger(s.Scenario, s.memoryOnly, s.files, r.needs().Need, float64(s.policy.Peak.Max))
	v.Simulations += simulations
	if err != nil {
		return err
	}
	v.Larger = &reports.LargerCard{UpTo: fmt.Sprintf("%d GB", slices.Max(validation.CardSizes)), Share: on.Share}
	if card.Total > 0 {
		v.Larger.Card = sizeName(card)
	}
	return nil
}

// sizeName is what a card of a table is called: "24 GB".
func sizeName(card scenario.GPU) string { return fmt.Sprintf("%d GB", card.Size/parser.GiB) }
