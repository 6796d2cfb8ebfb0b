package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
)

// confVariable is the environment variable with the settings of PyTorch's allocator, where the file has none.
const confVariable = "PYTORCH_CUDA_ALLOC_CONF"

// A line is changes of one kind, from the cheapest to the dearest.
type line struct {
	kind  Kind
	steps int
	at    func(step int) []Edit
	// graded says that of two steps the dearer one does whatever the cheaper one does, so that the line can be bisected.
	graded bool
}

// list is a line of given changes.
func list(kind Kind, graded bool, changes ...[]Edit) line {
	return line{kind, len(changes), func(i int) []Edit { return changes[i] }, graded}
}

// lines are all changes that are looked at, by kind.
func lines(d *document, s *scenario.Scenario, now Result, stage string) []line {
	all := []line{settings(d, s)}
	if s.GPU.Occupied > 0 && !s.ClearOnStart {
		all = append(all, list(Start, true, []Edit{d.edit(true, "clear_on_start")}))
	}
	all = append(all, clears(d, s, stage)...)
	for i := range s.Stages {
		all = append(all, batches(d, s, i)...)
	}
	all = append(all, restarts(d, s, now)...)
	for i := range s.Models {
		all = append(all, formats(d, s, i)...)
		all = append(all, smaller(d, s, i)...)
	}
	all = append(all, code(d, s)...)
	return slices.DeleteFunc(all, func(l line) bool { return l.steps == 0 })
}

// settings are the allocator's. Expandable segments come first: where they work, nothing fragments. A split limit must be
// above 20 MiB, the allocator's own largest segment for what is small (kLargeBuffer); garbage collection goes by the memory
// fraction, and does nothing without one.
func settings(d *document, s *scenario.Scenario) line {
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
	return list(Setting, false, changes...)
}

// clears are the times at which torch.cuda.empty_cache may be called: at cleanups, around the stage that needs most or fails,
// around all stages; and every so many passes.
func clears(d *document, s *scenario.Scenario, stage string) []line {
	var changes [][]Edit
	if !s.Clear.Cleanups && slices.ContainsFunc(s.Stages, func(st scenario.Stage) bool { return len(st.Cleanups) > 0 }) {
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
	return []line{list(Clear, false, changes...), list(Clear, true, passes...)}
}

// batches are smaller batches of a stage, one item fewer each; of a batch that is an expression, a half of it and so on. And
// a stage that fails when memory runs out can go on with half the batch.
func batches(d *document, s *scenario.Scenario, i int) []line {
	var out []line
	st := &s.Stages[i]
	switch n, constant := st.Batch.Constant(); {
	case constant && n <= 1:
		return nil
	case constant:
		now := int(min(n, 1<<20))
		out = append(out, line{BatchSize, now - 1, func(step int) []Edit { return []Edit{d.edit(now-1-step, "stages", i, "batch")} }, true})
	default:
		var changes [][]Edit // below 1 the pass takes one item all the same
		for _, by := range []int{2, 4, 8, 16} {
			changes = append(changes, []Edit{d.edit(fmt.Sprintf("max(1, floor((%s)/%d))", st.Batch, by), "stages", i, "batch")})
		}
		out = append(out, list(BatchSize, true, changes...))
	}
	if st.OnOOM != scenario.OOMHalves {
		out = append(out, list(BatchSize, true, []Edit{d.edit(string(scenario.OOMHalves), "stages", i, "on_oom")}))
	}
	return out
}

// restarts begin the process anew after so many files, before it would fail.
func restarts(d *document, s *scenario.Scenario, now Result) []line {
	last := now.FirstFailed - 1
	if s.RestartEvery > 0 {
		last = min(last, s.RestartEvery-1)
	}
	if last < 1 {
		return nil
	}
	return []line{{Restart, last, func(step int) []Edit { return []Edit{d.edit(last-step, "restart_every")} }, true}}
}

// formats are those of a model's numbers that take less memory.
func formats(d *document, s *scenario.Scenario, i int) []line {
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
	return []line{list(Format, true, changes...)}
}

// smaller are the smaller models of a model's family, the largest first. A model that has its id by its name keeps it, for that is
// how the rest of the file names it.
func smaller(d *document, s *scenario.Scenario, i int) []line {
	m, err := models.Lookup(s.Models[i].Model)
	if err != nil {
		return nil // one whose weights the file gives
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
	return []line{list(Smaller, true, changes...)}
}

// code is what the pipeline keeps and need not: its faults, tensors that outlive the pass that made them, and pieces of data that
// are all on the card before the first file, where one at a time would do.
func code(d *document, s *scenario.Scenario) []line {
	var out []line
	for i := range s.Faults {
		out = append(out, list(Code, true, []Edit{d.edit(nil, "faults", i)}))
	}
	for i := range s.Stages {
		for k, t := range s.Stages[i].Tensors {
			if n, constant := t.Count.Constant(); constant && n > 1 && s.Stages[i].Once && t.Until == scenario.WithRun {
				out = append(out, list(Code, true, []Edit{d.edit(1, "stages", i, "tensors", k, "count")}))
			}
			if t.Each != scenario.Pass {
				continue
			}
			var changes [][]Edit
			for _, span := range []scenario.Span{scenario.WithFile, scenario.WithStage, scenario.Pass} {
				if t.Until.Outlives(span) {
					changes = append(changes, []Edit{d.edit(string(span), "stages", i, "tensors", k, "until")})
				}
			}
			out = append(out, list(Code, true, changes...))
		}
	}
	return out
}
