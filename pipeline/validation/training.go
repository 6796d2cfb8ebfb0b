package validation

import (
	"fmt"
	"math"
	"slices"

	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
)

// accumulations returns the changes with which stage i, if it trains, makes a step of its batch in
// several passes. The step computes the same. The numbers of passes divide the batch. If the batch
// is no number, they are 2, 4, 8 and so on.
func accumulations(d *document, s *scenario.Scenario, i int) candidates {
	st := &s.Stages[i]
	var changes [][]Edit
	if s.Trains(st) {
		batch, known := st.Batch.Constant()
		if k := parameterOf(s, st.Batch, nil); k >= 0 {
			batch, known = s.Parameters[k].Value, true
		}
		for passes := st.Accumulate + 1; passes <= 64; passes++ {
			if known && math.Mod(batch, float64(passes)) == 0 || !known && passes&(passes-1) == 0 {
				changes = append(changes, []Edit{d.edit(passes, "stages", i, "accumulate")})
			}
		}
	}
	return candidatesOf(Accumulation, true, changes...)
}

// checkpoints returns the changes to gradient checkpointing: of each model in training whose layers
// repeat and, if there are several, of all of them.
func checkpoints(d *document, s *scenario.Scenario) []candidates {
	var out []candidates
	var all []Edit
	for i, m := range s.Models {
		of, err := models.Lookup(m.Model)
		if err != nil || !m.Train || m.Checkpointing || of.Layers() == 0 {
			continue
		}
		e := d.edit(true, "models", i, "checkpointing")
		all = append(all, e)
		out = append(out, candidatesOf(Checkpointing, true, []Edit{e}))
	}
	if len(all) > 1 {
		out = append(out, candidatesOf(Checkpointing, true, all))
	}
	return out
}

// frozen returns the changes with which model i trains at most N of its layers, from all but one
// down to the head alone. If the file has an unfreezing schedule, the changes limit it.
func frozen(d *document, s *scenario.Scenario, i int) candidates {
	m := s.Models[i]
	of, err := models.Lookup(m.Model)
	if err != nil || !m.Train {
		return candidates{kind: Freeze}
	}
	most, schedule := of.Layers(), ""
	if m.TrainLayers.String() != "" {
		if n, constant := m.TrainLayers.Constant(); constant {
			most = min(most, int(n))
		} else {
			schedule = m.TrainLayers.String()
		}
	}
	return candidates{Freeze, most, func(step int) []Edit {
		n := most - 1 - step
		if schedule != "" {
			return []Edit{d.edit(fmt.Sprintf("min(%d, %s)", n, schedule), "models", i, "train_layers")}
		}
		return []Edit{d.edit(n, "models", i, "train_layers")}
	}, true}
}

// parameters returns the changes to the values that the file names for its parameters.
func parameters(d *document, s *scenario.Scenario, fixed []string) []candidates {
	var out []candidates
	for _, p := range s.Parameters {
		if slices.Contains(fixed, p.Name) {
			continue
		}
		var changes [][]Edit
		for _, value := range p.Try {
			e := d.edit(scenario.Constant(value).String(), d.parameter(p.Name)...)
			if e.cost = p.Cost; e.cost == "" {
				e.cost = "what " + p.Name + " decides"
			}
			changes = append(changes, []Edit{e})
		}
		out = append(out, candidatesOf(Value, false, changes...))
	}
	return out
}

// parameterOf returns the index of the parameter that an expression consists of, or -1 if it is
// another expression or the parameter is fixed.
func parameterOf(s *scenario.Scenario, e scenario.Expr, fixed []string) int {
	return slices.IndexFunc(s.Parameters, func(p scenario.Parameter) bool {
		return e.String() == p.Name && !slices.Contains(fixed, p.Name)
	})
}

// parameter returns the path of a parameter's value in the file.
func (d *document) parameter(name string) []any {
	path := []any{"parameters", name}
	if len(pairs(d.resolve(d.find(path).node))) > 0 { // {value: 128, try: [96, 64]}
		path = append(path, "value")
	}
	return path
}
