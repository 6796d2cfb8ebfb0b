package scenario

import (
	"fmt"

	"vramsoak/pipeline/models"
)

// Estimate returns the highest memory of a stage in a file of that many seconds, in bytes above the
// memory allocated at the start of the stage. It adds up the sizes of the stage's models, except
// resident ones, and of its tensors, or takes the stage's footprint if it was measured. The
// simulation is more exact, because it runs the allocator.
func (s *Scenario) Estimate(st *Stage, seconds float64) (int64, error) {
	if f := st.Footprint; f != nil {
		return f.Base + int64(f.PerSecond*seconds), nil
	}
	v := (&linter{s: s}).vars(seconds)
	items, err := st.Items.Int(v)
	if err != nil {
		return 0, err
	}
	v.Items = items
	batch, err := st.Batch.Int(v)
	if err != nil {
		return 0, err
	}
	batch = st.OfPass(max(1, batch))
	v.Batch = min(batch, max(1, items))
	passes := int64(Passes(items, batch))
	weights, pass, err := s.modelBytes(st, v)
	if err != nil {
		return 0, err
	}
	held := weights
	for _, t := range st.Tensors {
		n, err := t.Bytes(v)
		if err != nil {
			return 0, err
		}
		count, err := t.Count.Int(v)
		if err != nil {
			return 0, err
		}
		n *= int64(count)
		switch {
		case t.Each == Pass && t.Until == Pass:
			pass += n
		case t.Each == Pass:
			held += n * passes
		default:
			held += n
		}
	}
	return held + pass, nil
}

// modelBytes returns the memory of a stage's models in bytes. weights are those of all models
// except resident ones, with Adam's states of the models in training. pass is the memory of a pass
// of the model that needs most.
func (s *Scenario) modelBytes(st *Stage, v Vars) (weights, pass int64, err error) {
	item, err := st.ItemSeconds.Eval(v)
	if err != nil {
		return 0, 0, err
	}
	for _, id := range st.Models {
		m, ok := s.Model(id)
		if !ok {
			return 0, 0, fmt.Errorf("stage %s: expected the id of a model, found %q", st.Name, id)
		}
		own := m.Weights
		if m.Model != "" {
			d, err := models.ParseDType(m.DType)
			if err != nil {
				return 0, 0, err
			}
			known, err := models.Lookup(m.Model)
			if err != nil {
				return 0, 0, err
			}
			own = known.Weights(d)
			in := m.Input(v.Batch, item)
			if in.Frozen, err = m.Frozen(known, v); err != nil {
				return 0, 0, err
			}
			pass = max(pass, models.Peak(known.Forward(in, d)))
			if m.Train {
				weights += models.Peak(models.AdamStates(known.Trained(in.Frozen), d))
			}
		}
		if !m.Resident {
			weights += own
		}
	}
	return weights, pass, nil
}
