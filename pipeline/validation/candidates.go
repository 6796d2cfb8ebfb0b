package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
)

// confVariable is the environment variable for the settings of PyTorch's allocator. A scenario file
// may use PYTORCH_ALLOC_CONF instead.
const confVariable = "PYTORCH_CUDA_ALLOC_CONF"

// candidates are the changes of one kind to one part of the scenario file, from the cheapest to the
// most expensive: for example batch 7, 6, 5 ... of a stage instead of 8.
type candidates struct {
	kind  Kind
	steps int
	edits func(step int) []Edit
	// graded is true if each candidate needs at most as much memory as the cheaper ones before it.
	// The search then finds the first candidate that fits by bisection, instead of trying all.
	graded bool
}

// candidatesOf returns the given changes as candidates.
func candidatesOf(kind Kind, graded bool, changes ...[]Edit) candidates {
	return candidates{kind, len(changes), func(i int) []Edit { return changes[i] }, graded}
}

// allCandidates returns all changes of a scenario that the search tries. now is the result of the
// simulation without a change; stage is the one that failed or needs most memory.
// fixed are the parameters that the caller set; no change proposes other values for them.
func allCandidates(d *document, s *scenario.Scenario, now Result, stage string,
	fixed []string,
) []candidates {
	all := []candidates{settings(d, s)}
	if s.GPU.Occupied > 0 && !s.ClearOnStart {
		all = append(all, candidatesOf(Start, true, []Edit{d.edit(true, "clear_on_start")}))
	}
	all = append(all, clears(d, s, stage)...)
	for i := range s.Stages {
		all = append(all, accumulations(d, s, i))
		all = append(all, batches(d, s, i, fixed)...)
	}
	all = append(all, checkpoints(d, s)...)
	all = append(all, restarts(d, s, now)...)
	for i := range s.Models {
		all = append(all, formats(d, s, i)...)
		all = append(all, frozen(d, s, i))
		all = append(all, smallerModels(d, s, i)...)
	}
	all = append(all, parameters(d, s, fixed)...)
	all = append(all, codeChanges(d, s)...)
	return slices.DeleteFunc(all, func(c candidates) bool { return c.steps == 0 })
}

// settings returns the changes of the allocator's settings. Expandable segments come first, because
// they do not fragment. PyTorch accepts only values above 20 for max_split_size_mb: segments for
// requests of 1 to 10 MiB have 20 MiB. Garbage collection has an effect only with a memory
// fraction, so these changes also set one if the file does not.
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

// clears returns the changes that call torch.cuda.empty_cache more often: at cleanups, before or
// after one stage, before or after all stages, or every N passes. stage is the one that fails or
// needs most memory.
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

// batches returns the changes that make the batch of stage i smaller. If the batch is a number, or
// a parameter that is not fixed, each change takes one item fewer than the change before. If the
// batch is another expression, the changes divide it by 2, 4, 8 and 16. If the stage fails when
// memory runs out, one more change lets the stage go on with half the batch.
func batches(d *document, s *scenario.Scenario, i int, fixed []string) []candidates {
	var out []candidates
	st := &s.Stages[i]
	path := []any{"stages", i, "batch"}
	n, constant := st.Batch.Constant()
	if k := parameterOf(s, st.Batch, fixed); k >= 0 {
		n, constant, path = s.Parameters[k].Value, true, d.parameter(s.Parameters[k].Name)
	}
	switch {
	case constant && n <= 1:
		return nil
	case constant:
		now := int(min(n, 1<<20))
		smaller := func(step int) []Edit {
			return []Edit{d.edit(now-1-step, path...)}
		}
		out = append(out, candidates{BatchSize, now - 1, smaller, true})
	default:
		var changes [][]Edit // max(1, ...): a pass takes at least one item
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

// restarts returns the changes that start a new process every N files. N begins below the number of
// the first file that failed, and below the present restart_every.
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

// formats returns the changes of model i to number formats in which its weights take less memory:
// float16, then int8. Training in them fails: the gradients of float16 weights underflow without a
// float32 copy of the weights (Micikevicius et al., "Mixed Precision Training", arXiv:1710.03740),
// and int8 weights have none. So a model that trains in float32 gets autocast, which keeps float32
// weights.
func formats(d *document, s *scenario.Scenario, i int) []candidates {
	var changes [][]Edit
	now, err := models.ParseDType(s.Models[i].DType)
	if err != nil {
		return nil // the linter refuses such a format
	}
	if s.Models[i].Train {
		if now == models.Float32 {
			to := models.Autocast.String()
			changes = append(changes, []Edit{d.edit(to, "models", i, "dtype")})
		}
		return []candidates{candidatesOf(Format, true, changes...)}
	}
	for _, to := range []models.DType{models.Float16, models.Int8} {
		if to.WeightBytes(1) < now.WeightBytes(1) {
			changes = append(changes, []Edit{d.edit(to.String(), "models", i, "dtype")})
		}
	}
	return []candidates{candidatesOf(Format, true, changes...)}
}

// smallerModels returns the changes that replace model i by a smaller one of its family, the
// largest first. Stages refer to a model by its id, or by its name if it has no id. So a model
// without an id also gets one: its old name.
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

// codeChanges returns the changes that a person would make in the code of a pipeline that keeps
// memory for too long. In the scenario file, such a change removes a fault such as a leak, ends the
// life of a tensor earlier, or loads data one item at a time instead of as a whole before the first
// file.
func codeChanges(d *document, s *scenario.Scenario) []candidates {
	var out []candidates
	for i := range s.Faults {
		out = append(out, candidatesOf(Code, true, []Edit{d.edit(nil, "faults", i)}))
	}
	for i := range s.Stages {
		for k, t := range s.Stages[i].Tensors {
			n, constant := t.Count.Constant()
			if (!constant || n > 1) && s.Stages[i].Once && t.Until == scenario.WithRun {
				one := d.edit(1, "stages", i, "tensors", k, "count")
				out = append(out, candidatesOf(Code, true, []Edit{one}))
			}
			if t.Kept.String() != "" {
				none := d.edit(0, "stages", i, "tensors", k, "kept")
				out = append(out, candidatesOf(Code, true, []Edit{none}))
			}
			if t.Each != scenario.Pass {
				// A file holds it beside its own, or leaves one more.
				if !s.Stages[i].Once && t.Until.Outlives(scenario.WithFile) {
					until := d.edit(string(scenario.WithFile), "stages", i, "tensors", k, "until")
					out = append(out, candidatesOf(Code, true, []Edit{until}))
				}
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
