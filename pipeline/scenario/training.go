package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"vramsoak/pipeline/models"
)

// training returns the ids of the models that train.
func (s *Scenario) training() []string {
	var all []string
	for _, m := range s.Models {
		if m.Train {
			all = append(all, m.ID)
		}
	}
	return all
}

// Trains reports whether a stage trains a model.
func (s *Scenario) Trains(st *Stage) bool {
	return slices.ContainsFunc(st.Models, func(id string) bool {
		m, _ := s.Model(id)
		return m.Train
	})
}

// Checkpoints reports whether a stage trains a model with gradient checkpointing.
func (s *Scenario) Checkpoints(st *Stage) bool {
	return slices.ContainsFunc(st.Models, func(id string) bool {
		m, _ := s.Model(id)
		return m.Train && m.Checkpointing
	})
}

// training tries the numbers of layers that train, and reports settings of training that have no
// effect.
func (l *linter) training() {
	s := l.s
	for i := range s.Stages {
		st := &s.Stages[i]
		path := fmt.Sprintf("stages.%d", i)
		switch n, constant := st.Batch.Constant(); {
		case st.Accumulate == 1:
		case !s.Trains(st):
			l.warn("accumulate-never", path+".accumulate", "a stage that trains a model",
				strconv.Itoa(st.Accumulate), "its passes are only smaller")
		case !constant || n < 1:
		case float64(st.Accumulate) > n:
			l.warn("accumulate-never", path+".accumulate", fmt.Sprintf("at most the batch of %g", n),
				strconv.Itoa(st.Accumulate), "a pass takes at least one item")
		case math.Mod(n, float64(st.Accumulate)) > 0:
			pass := st.OfPass(int(n))
			l.warn("accumulate-uneven", path+".accumulate",
				fmt.Sprintf("a number that divides the batch of %g", n), strconv.Itoa(st.Accumulate),
				fmt.Sprintf("here %d passes of up to %d items make a step", Passes(int(n), pass), pass))
		}
	}
	for i, m := range s.Models {
		switch d, err := models.ParseDType(m.DType); {
		case err != nil || !m.Train: // the reader refuses other formats
		case d == models.Float16 || d == models.Int8:
			l.warn("training-format", fmt.Sprintf("models.%d", i), "float32 or autocast in training",
				d.String(), "small gradients are lost without a float32 copy of the weights")
		}
		of, err := models.Lookup(m.Model)
		if err != nil || m.TrainLayers.String() == "" {
			continue
		}
		path := fmt.Sprintf("models.%d.train_layers", i)
		if m.TrainLayers.Uses("items", "batch", "pass") {
			l.fail("expression", path, "a number of layers by file, files and seconds",
				quoted(m.TrainLayers), "it holds for whole files")
			continue
		}
		most := 0
		for file := 1; file <= max(1, min(s.Files.Count, triedFiles)); file++ {
			v := l.vars(s.Files.Length(file))
			v.File = file
			n, err := m.TrainLayers.Int(v)
			if err != nil {
				l.fail("expression", path, "a number of 0 or more for every file",
					fmt.Sprintf("%v %s", err, inFile(v)), "")
				break
			}
			most = max(most, n)
		}
		if most > of.Layers() {
			l.warn("train-layers", path, fmt.Sprintf("at most %d, the layers of %s", of.Layers(), of.Name),
				shownValue(m.TrainLayers, float64(most)), "the whole model trains")
		}
	}
}
