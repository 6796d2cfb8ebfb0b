package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
)

// confVariable is the environment variable for the settings of PyTorch's allocator, unless the file
// uses another one.
const confVariable = "PYTORCH_CUDA_ALLOC_CONF"

// A candidates is changes of one kind, from the cheapest to the most expensive.
type candidates struct {
	kind  Kind
	steps int
	edits func(step int) []Edit
	// graded is true if each step lowers the memory that the batch needs at least as much as the
	// cheaper steps before it. The search for the first step that suffices then bisects the candidates
	// instead of trying each step.
	graded bool
}

// list returns a candidates of the given changes.
func candidatesOf(kind Kind, graded bool, changes ...[]Edit) candidates {
	return candidates{kind, len(changes), func(i int) []Edit { return changes[i] }, graded}
}

// ladders returns all changes that the search tries, one or more ladders for each kind.
func allCandidates(d *document, s *scenario.Scenario, now Result, stage string) []candidates {
	all := []candidates{settings(d, s)}
	if s.GPU.Occupied > 0 && !s.ClearOnStart {
		all = append(all, candidatesOf(Start, true, []Edit{d.edit(true, "clear_on_start")}))
	}
	all = append(all, clears(d, s, stage)...)
	for i := range s.Stages {
		all = append(all, batches(d, s, i)...)
	}
	all = append(all, restarts(d, s, now)...)
	for i := range s.Models {
		all = append(all, formats(d, s, i)...)
		all = append(all, smallerModels(d, s, i)...)
	}
	all = append(all, codeChanges(d, s)...)
	return slices.DeleteFunc(all, func(l candidates) bool { return l.steps == 0 })
}

// settings returns the changes of the allocator's settings. Expandable segments come first, because
// they do not fragment. A split limit must be above 20 MiB, the size of the allocator's own
// segments for small allocations (kLargeBuffer). Garbage collection depends on the memory fraction,
// and needs one to have an effect.
func settings(d *document, s *scenario.Scenario) candidates {
	variable, old := s.AllocConf()
	variable = cmp.Or(variable, confVariable)
	var changes [][]Edit
	set := func(more []Edit, settings ...string) {
		if conf := scenario.WithSettings(old, settings...); conf != old {
			e := d.edit(conf, "env", variable)
			e.Export = "export " + variable + "=" + conf
			changes = append(changes, append([]Edit{e}, more...))
		}
	}
	set(nil, "expandable_segments:True")
	for _, mb := range []int{512, 256, 128, 64, 32} {
		set(nil, "max_split_size_mb:"+strconv.Itoa(mb))
	}
	var fraction []Edit
	if s.MemoryFraction == 0 {
		fraction = []Edit{d.edit(0.95, "memory_fraction")}
	}
	for _, threshold := range []string{"0.8", "0.6"} {
		set(fraction, "garbage_collection_threshold:"+threshold)
	}
	return candidatesOf(Setting, false, changes...)
}

// clears returns the changes that call torch.cuda.empty_cache more often: at cleanups, around the
// stage that fails or needs most, around all stages, or every N passes.
func clears(d *document, s *scenario.Scenario, stage string) []candidates {
	var changes [][]Edit
	hasCleanups := func(st scenario.Stage) bool { return len(st.Cleanups) > 0 }
	if !s.Clear.Cleanups && slices.ContainsFunc(s.Stages, hasCleanups) {
		changes = append(changes, []Edit{d.edit(true, "clear", "cleanups")})
	}
	with := func(old []string, more ...string) []string {
		out := slices.Clone(old)
		for _, name := range more {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
		return out
	}
	around := func(key string, old []string, stages ...string) []Edit {
		if names := with(old, stages...); len(names) > len(old) {
			return []Edit{d.edit(names, "clear", key)}
		}
		return nil
	}
	var every []string
	for i := range s.Stages {
		if !s.Stages[i].Once {
			every = append(every, s.Stages[i].Name)
		}
	}
	for _, edits := range [][]Edit{
		around("before", s.Clear.Before, stage),
		around("after", s.Clear.After, stage),
		around("before", s.Clear.Before, every...),
		around("after", s.Clear.After, every...),
	} {
		if len(edits) > 0 {
			changes = append(changes, edits)
		}
	}
	passes := [][]Edit{}
	for _, n := range []int{20, 10, 5, 2, 1} {
		if s.Clear.Every == 0 || n < s.Clear.Every {
			passes = append(passes, []Edit{d.edit(n, "clear", "every")})
		}
	}
	return []candidates{candidatesOf(Clear, false, changes...), candidatesOf(Clear, true, passes...)}
}

// batches returns the changes to smaller batches of a stage, each with one item fewer than the one
// before. A batch that is an expression is halved, quartered and so on. A stage that fails when
// memory runs out can also go on with half the batch.
func batches(d *document, s *scenario.Scenario, i int) []candidates {
	var out []candidates
	st := &s.Stages[i]
	switch n, constant := st.Batch.Constant(); {
	case constant && n <= 1:
		return nil
	case constant:
		now := int(min(n, 1<<20))
		smaller := func(step int) []Edit {
			return []Edit{d.edit(now-1-step, "stages", i, "batch")}
		}
		out = append(out, candidates{BatchSize, now - 1, smaller, true})
	default:
		var changes [][]Edit // a pass takes at least one item
		for _, by := range []int{2, 4, 8, 16} {
			batch := fmt.Sprintf("max(1, floor((%s)/%d))", st.Batch, by)
			changes = append(changes, []Edit{d.edit(batch, "stages", i, "batch")})
		}
		out = append(out, candidatesOf(BatchSize, true, changes...))
	}
	if st.OnOOM != scenario.OOMHalves {
		halve := d.edit(string(scenario.OOMHalves), "stages", i, "on_oom")
		out = append(out, candidatesOf(BatchSize, true, []Edit{halve}))
	}
	return out
}

// restarts returns the changes that start a new process every N files, before the old process would
// fail.
func restarts(d *document, s *scenario.Scenario, now Result) []candidates {
	last := now.FirstFailed - 1
	if s.RestartEvery > 0 {
		last = min(last, s.RestartEvery-1)
	}
	if last < 1 {
		return nil
	}
	after := func(step int) []Edit { return []Edit{d.edit(last-step, "restart_every")} }
	return []candidates{{Restart, last, after, true}}
}

// formats returns the changes to number formats in which a model takes less memory.
func formats(d *document, s *scenario.Scenario, i int) []candidates {
	var changes [][]Edit
	now, err := models.ParseDType(s.Models[i].DType)
	if err != nil {
		return nil // the linter refuses it
	}
	for _, to := range []models.DType{models.Float16, models.Int8} {
		if to.WeightBytes(1) < now.WeightBytes(1) {
			changes = append(changes, []Edit{d.edit(to.String(), "models", i, "dtype")})
		}
	}
	return []candidates{candidatesOf(Format, true, changes...)}
}

// smaller returns the changes to the smaller models of the same family, the largest first. If the
// model has no id of its own in the file, the edit adds the old model name as the id, because
// stages refer to it.
func smallerModels(d *document, s *scenario.Scenario, i int) []candidates {
	m, err := models.Lookup(s.Models[i].Model)
	if err != nil {
		return nil // the file gives its weights
	}
	family := models.Family(m.Family)
	var changes [][]Edit
	for _, name := range slices.Backward(family[:max(0, slices.Index(family, m.Name))]) {
		edits := []Edit{d.edit(name, "models", i, "model")}
		if id := d.edit(s.Models[i].ID, "models", i, "id"); id.Old == "none" {
			edits = append(edits, id)
		}
		changes = append(changes, edits)
	}
	return []candidates{candidatesOf(Smaller, true, changes...)}
}

// code returns the changes of the pipeline's own code, where it keeps memory for too long: faults,
// tensors that outlive the pass that made them, and data that is on the card as a whole before the
// first file.
func codeChanges(d *document, s *scenario.Scenario) []candidates {
	var out []candidates
	for i := range s.Faults {
		out = append(out, candidatesOf(Code, true, []Edit{d.edit(nil, "faults", i)}))
	}
	for i := range s.Stages {
		for k, t := range s.Stages[i].Tensors {
			n, constant := t.Count.Constant()
			if constant && n > 1 && s.Stages[i].Once && t.Until == scenario.WithRun {
				one := d.edit(1, "stages", i, "tensors", k, "count")
				out = append(out, candidatesOf(Code, true, []Edit{one}))
			}
			if t.Each != scenario.Pass {
				continue
			}
			var changes [][]Edit
			for _, span := range []scenario.Span{
				scenario.WithFile, scenario.WithStage,
				scenario.Pass,
			} {
				if t.Until.Outlives(span) {
					until := d.edit(string(span), "stages", i, "tensors", k, "until")
					changes = append(changes, []Edit{until})
				}
			}
			out = append(out, candidatesOf(Code, true, changes...))
		}
	}
	return out
}
