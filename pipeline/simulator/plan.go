package simulator

import (
	"fmt"
	"slices"

	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
)

// A plan is a scenario prepared for the simulation: pointers replace the names of models, tensors
// and stages.
type plan struct {
	ledger ledger
	models []*model
	once   []*stage
	stages []*stage // run for each file
	all    []*stage // in the order of the scenario
	final  []*cleanup
	named  map[string][]*holding // by the id of a model or the name of a tensor
	leaked holding               // by leak faults
	// keeps has the faults that keep memory, by the name of the model or tensor that they keep.
	keeps map[string][]scenario.Fault
	stuck map[string]*holding // what these faults have kept, by the same name
}

// A model is a model of the scenario with the memory that it takes on the card.
type model struct {
	scenario.Model
	sizes   []int64 // of its weights, in the order of loading
	bytes   int64   // their sum
	weights holding
	passes  passes // nil for a model of unknown architecture
	// outputs is the output of the model's last pass. In training, gradients are those of the weights,
	// and graph is what a fault keeps of each pass, from file graphFrom on.
	outputs, gradients, graph holding
	graphFrom                 int // 0: no fault keeps it
	// optimizer holds Adam's states, which exist from the first training step on. step holds the
	// memory that one step of the optimizer needs in addition.
	optimizer, step holding
	stated          map[string]bool // the parameters that have states
}

// A stage is a stage of the scenario with its models, tensors and faults.
type stage struct {
	*scenario.Stage
	index    int // in Outcome.Stages
	models   []*model
	tensors  []*tensor
	measured holding
	keeps    holding // the part of a measured footprint that stays until the file's end
	cleanups []*cleanup
	before   string // before and after are the names of its checkpoints
	after    string
	// clearBefore and clearAfter are true if the cache is emptied before or after the stage.
	clearBefore, clearAfter bool
	leaks                   []scenario.Fault
	crashes                 []scenario.Fault
	limit                   int // largest batch since memory ran out; 0: no limit
}

// A tensor is a tensor of a stage with its allocations.
type tensor struct {
	*scenario.Tensor
	holding
	// stays has the allocations that live until the end of the run; see [scenario.Tensor.Kept].
	stays holding
	// began and staysBegan are the numbers of allocations when the current pass began or, if the
	// tensor is allocated once in a stage, when the stage began.
	began, staysBegan int
}

// isResult reports whether the tensor is a result of the pass or stage that allocates it, because
// it outlives the pass or stage. A result is allocated at the end of the pass or stage.
func (t *tensor) isResult() bool {
	return t.Until.Outlives(t.Each) && t.Until != scenario.UntilNext
}

// A cleanup frees holdings between its two checkpoints.
type cleanup struct {
	before, after string
	frees         []*holding // empty: all memory of the stage, or of the file
	everything    bool
	emptyCache    bool
}

// pieces is the size in bytes of the allocations into which the simulator cuts the weights of a
// model of unknown architecture. From 10 MiB on the allocator takes a segment as large as the
// request, rounded up to 2 MiB (kMinLargeAlloc, kRoundLarge), so nothing is reserved beyond the
// given size. Real weights leave some percent of their segments unused, but how much depends on
// their shapes.
const pieces = 10 << 20

func newPlan(s *scenario.Scenario) (*plan, error) {
	p := &plan{
		named: map[string][]*holding{}, keeps: map[string][]scenario.Fault{},
		stuck: map[string]*holding{},
	}
	byID := map[string]*model{}
	for _, of := range s.Models {
		m, err := p.model(of, s.Faults)
		if err != nil {
			return nil, fmt.Errorf("%s: model %s: %w", s.Path, of.ID, err)
		}
		p.models = append(p.models, m)
		byID[of.ID] = m
	}
	for i := range s.Stages {
		st := &stage{
			Stage: &s.Stages[i], index: i, before: "Before " + s.Stages[i].Name, after: "After " +
				s.Stages[i].Name,
			clearBefore: slices.Contains(s.Clear.Before, s.Stages[i].Name),
			clearAfter:  slices.Contains(s.Clear.After, s.Stages[i].Name),
		}
		for _, id := range st.Models {
			m := byID[id]
			if m == nil {
				return nil, fmt.Errorf("%s: stage %s: expected the id of a model, found %q", s.Path,
					st.Name, id)
			}
			st.models = append(st.models, m)
		}
		for k := range st.Tensors {
			t := &tensor{Tensor: &st.Tensors[k]}
			t.holding = holding{name: t.Name, part: p.ledger.part(Tensors, t.Name)}
			if t.Kept.String() != "" {
				t.stays = holding{name: t.Name, part: p.ledger.part(Kept, t.Name)}
			}
			st.tensors = append(st.tensors, t)
			p.named[t.Name] = append(p.named[t.Name], &t.holding)
		}
		if st.Footprint != nil {
			st.measured = holding{name: st.Name, part: p.ledger.part(Measured, st.Name)}
			st.keeps = st.measured
		}
		if st.Once {
			p.once = append(p.once, st)
		} else {
			p.stages = append(p.stages, st)
		}
		p.all = append(p.all, st)
	}
	for _, st := range p.all {
		for _, c := range st.Cleanups {
			st.cleanups = append(st.cleanups, p.cleanup(c, s.Clear.Cleanups))
		}
		if len(st.cleanups) > 0 {
			st.after += " (post-cleanup)"
		}
	}
	for _, c := range s.Final {
		p.final = append(p.final, p.cleanup(c, s.Clear.Cleanups))
	}
	p.leaked = holding{name: "leaked", part: p.ledger.part(Kept, "")}
	return p, p.faults(s)
}

func (p *plan) model(of scenario.Model, faults []scenario.Fault) (*model, error) {
	m := &model{Model: of}
	m.weights = holding{name: of.ID, part: p.ledger.part(Weights, of.ID)}
	m.outputs = holding{name: of.ID, part: p.ledger.part(Activations, of.ID)}
	p.named[of.ID] = append(p.named[of.ID], &m.weights, &m.outputs)
	if of.Train {
		m.optimizer = holding{name: of.ID, part: p.ledger.part(Optimizer, of.ID)}
		m.step = m.optimizer
		m.gradients = holding{name: of.ID, part: p.ledger.part(Gradients, of.ID)}
		p.named[of.ID] = append(p.named[of.ID], &m.gradients, &m.optimizer)
		for _, f := range faults {
			if f.Graph == of.ID && (m.graphFrom == 0 || f.FromFile < m.graphFrom) {
				m.graphFrom = f.FromFile
			}
		}
		if m.graphFrom > 0 {
			m.graph = holding{name: of.ID, part: p.ledger.part(Kept, "graph of "+of.ID)}
		}
	}
	if of.Model == "" {
		for left := of.Weights; left > 0; {
			size := int64(pieces)
			if left < 2*pieces {
				size = left
			}
			m.sizes = append(m.sizes, size)
			left -= size
		}
		m.bytes = of.Weights
		return m, nil
	}
	arch, err := models.Lookup(of.Model)
	if err != nil {
		return nil, err
	}
	d := models.Float16
	if of.DType != "" {
		if d, err = models.ParseDType(of.DType); err != nil {
			return nil, err
		}
	}
	for t := range arch.Tensors() {
		m.sizes = append(m.sizes, t.Bytes(d))
	}
	m.bytes = arch.Weights(d)
	m.passes = passes{of: arch, dtype: d}
	return m, nil
}

func (p *plan) cleanup(c scenario.Cleanup, empties bool) *cleanup {
	made := &cleanup{
		before: "Before " + c.Name + " Cleanup", after: "After " + c.Name + " Cleanup",
		emptyCache: c.EmptyCache || empties, everything: len(c.Frees) == 0,
	}
	for _, name := range c.Frees {
		for _, h := range p.named[name] {
			h.cleaned = true
			made.frees = append(made.frees, h)
		}
	}
	return made
}

// faults stores each fault under the name of the model or tensor that it keeps, or in the stage in
// which the process leaks or crashes.
func (p *plan) faults(s *scenario.Scenario) error {
	for _, f := range s.Faults {
		if f.Graph != "" {
			continue // the model has it
		}
		if f.Keep != "" {
			p.keeps[f.Keep] = append(p.keeps[f.Keep], f)
			if p.stuck[f.Keep] == nil {
				p.stuck[f.Keep] = &holding{name: f.Keep, part: p.ledger.part(Kept, f.Keep)}
			}
			continue
		}
		if len(p.stages) == 0 {
			return fmt.Errorf(
				"%s: faults: expected a stage of each file, in which it leaks or crashes", s.Path)
		}
		at := p.stages[len(p.stages)-1]
		if f.Stage != "" {
			i := slices.IndexFunc(p.all, func(st *stage) bool { return st.Name == f.Stage })
			if i < 0 {
				return fmt.Errorf("%s: faults: expected the name of a stage, found %q",
					s.Path, f.Stage)
			}
			at = p.all[i]
		}
		if f.Crash > 0 {
			at.crashes = append(at.crashes, f)
		} else {
			at.leaks = append(at.leaks, f)
		}
	}
	return nil
}

// holdings yields all memory that the plan can allocate, except the memory of a single optimizer
// step.
func (p *plan) holdings(yield func(*holding) bool) {
	for _, m := range p.models {
		if !yield(&m.weights) || !yield(&m.outputs) || !yield(&m.gradients) || !yield(&m.graph) ||
			!yield(&m.optimizer) {
			return
		}
	}
	for _, st := range p.all {
		for _, t := range st.tensors {
			if !yield(&t.holding) || !yield(&t.stays) {
				return
			}
		}
		if !yield(&st.measured) || !yield(&st.keeps) {
			return
		}
	}
	for _, h := range p.stuck {
		if !yield(h) {
			return
		}
	}
	yield(&p.leaked)
}
