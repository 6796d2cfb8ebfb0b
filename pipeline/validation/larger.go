package validation

import (
	"fmt"

	"vramsoak/parser/record"
	"vramsoak/pipeline/scenario"
)

// larger returns the smallest standard card that is larger than the scenario's card and on which a
// simulation of the batch fits, with the simulation's result. If there is no such card, it returns
// a card of size 0. need is the memory that the batch needs, in bytes. limit is the part of a card
// that the batch may use, from 0 to 1. Cards on which need exceeds this part are not simulated.
func larger(s *scenario.Scenario, trial Trial, files int, need int64, limit float64) (
	card scenario.GPU, on Result, simulations int, err error,
) {
	for _, gib := range cardSizes {
		size := int64(gib) * record.GiB
		if size <= max(s.GPU.Size, s.GPU.Total) || float64(need) > limit*float64(size) {
			continue
		}
		sized, err := scenario.Card(fmt.Sprintf("%dGiB", gib))
		if err != nil {
			return scenario.GPU{}, Result{}, simulations, err
		}
		with := s.Clone()
		with.GPU = s.GPU.Replaced(sized)
		simulations++
		r, err := trial(with, Files{1, files})
		if err != nil {
			return scenario.GPU{}, Result{}, simulations, fmt.Errorf("%s on %d GiB: %w",
				s.Path, gib, err)
		}
		if r.Answer == Fits {
			return with.GPU, r, simulations, nil
		}
	}
	return scenario.GPU{}, Result{}, simulations, nil
}
