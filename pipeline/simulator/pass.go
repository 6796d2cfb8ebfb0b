package simulator

import (
	"cmp"
	"slices"

	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
)

// passes caches the computed forward passes of a model by their input.
type passes struct {
	of     *models.Model // nil: unknown architecture, no activations
	dtype  models.DType
	cached map[models.Input]*pass
	list   []models.Activation // the last computed pass; its memory is used again
}

// cachedPasses is the largest number of passes of a model that are cached, because files of many
// lengths give many different passes.
const cachedPasses = 1024

// A pass is a forward pass as the allocator sees it: a list of allocations and frees.
type pass struct {
	operations []operation
	slots      int
	outputs    []int32 // slots of the tensors that outlive the pass, without gradients
	gradients  []int32 // slots of the weights' gradients that outlive the pass
}

// An operation allocates bytes and keeps the block in a slot. If bytes is negative, it frees the
// slot's block.
type operation struct {
	bytes int64
	slot  int32
	kind  models.ActivationKind
}

func (ps *passes) pass(in models.Input) *pass {
	if p, ok := ps.cached[in]; ok {
		return p
	}
	if ps.cached == nil || len(ps.cached) >= cachedPasses {
		ps.cached = map[models.Input]*pass{}
	}
	ps.list = ps.of.AppendForward(ps.list[:0], in, ps.dtype)
	p := newPass(ps.list)
	ps.cached[in] = p
	return p
}

// newPass turns the tensors of a pass into allocations and frees in the order of time. Within a
// step all tensors are allocated before any is freed.
func newPass(list []models.Activation) *pass {
	p := &pass{slots: len(list), operations: make([]operation, 0, 2*len(list))}
	ends := make([]int32, 0, len(list)) // slots, by the step that frees them
	for i, a := range list {
		switch {
		case a.To != models.Output:
			ends = append(ends, int32(i))
		case a.Kind == models.Gradient:
			p.gradients = append(p.gradients, int32(i))
		default:
			p.outputs = append(p.outputs, int32(i))
		}
	}
	slices.SortStableFunc(ends, func(a, b int32) int { return cmp.Compare(list[a].To, list[b].To) })
	freed := 0
	freeBefore := func(step int) {
		for ; freed < len(ends) && list[ends[freed]].To < step; freed++ {
			slot := ends[freed]
			p.operations = append(p.operations, operation{-1, slot, list[slot].Kind})
		}
	}
	for i, a := range list {
		freeBefore(a.From)
		p.operations = append(p.operations, operation{a.Bytes, int32(i), a.Kind})
	}
	freeBefore(models.Output)
	return p
}

// forward makes one pass of a model on a stream. In training it also makes a step of the optimizer,
// if this is the last pass of a step. If memory runs out, it frees the memory that the pass
// allocated.
func (p *process) forward(m *model, in models.Input, stream int, v scenario.Vars) error {
	if m.Train {
		var err error
		if in.Frozen, err = m.Frozen(m.passes.of, v); err != nil {
			return p.scenario.BadValue(m.TrainLayers, v, err)
		}
		in.Adds = p.step.made > 0
		if !in.Adds { // optimizer.zero_grad(): old gradients are freed before new ones are made
			p.drop(&m.gradients)
			p.drop(&m.outputs)
		}
	}
	made := m.passes.pass(in)
	if cap(p.slots) < made.slots {
		p.slots = make([]held, made.slots)
	}
	slots := p.slots[:made.slots]
	clear(slots)
	parts := [...]part{
		models.Ordinary: m.outputs.part, models.Saved: m.outputs.part,
		models.Gradient: m.gradients.part,
	}
	graph := m.keepsGraph(v.File)
	for i := range made.operations {
		o := &made.operations[i]
		if o.bytes < 0 {
			if o.kind == models.Saved && graph {
				p.ledger.move(m.outputs.part, m.graph.part, slots[o.slot].bytes)
				m.graph.add(slots[o.slot])
			} else {
				p.free(parts[o.kind], slots[o.slot])
			}
			slots[o.slot] = held{}
			continue
		}
		h, err := p.malloc(parts[o.kind], o.bytes, stream)
		if err != nil {
			for _, done := range made.operations[:i] {
				if h := slots[done.slot]; h.bytes > 0 {
					p.free(parts[done.kind], h)
					slots[done.slot] = held{}
				}
			}
			return err
		}
		slots[o.slot] = h
	}
	p.drop(&m.outputs)
	for _, slot := range made.outputs {
		m.outputs.add(slots[slot])
	}
	for _, slot := range made.gradients {
		m.gradients.add(slots[slot])
	}
	if m.Train && p.step.ends {
		return p.optimize(m, m.passes.of.Trained(in.Frozen), stream)
	}
	return nil
}

// A repetition finds out whether a stage's passes repeat each other, so that the simulator can skip
// the remaining passes. If a pass leaves the same segments and the same blocks in use as the pass
// before it, all further equal passes do the same, to the byte. This is so because PyTorch's
// allocator merges free neighbours, and the blocks in use therefore determine the free blocks. The
// outputs may alternate between two addresses, because a pass frees the old output only after it
// has made the new one.
type repetition struct {
	items   int // of the pass
	seconds float64
	events  [3]int64
	outputs [3][]uint64 // addresses, of this pass and of the two before
	n       int
}

// add records the end of a pass: the number of its items and their length, the number of driver
// calls so far, and the addresses of the outputs. It returns 1 if each pass repeats the pass before
// it, 2 if each repeats the pass two before it, and 0 if the passes do not repeat yet.
func (r *repetition) add(items int, seconds float64, events int64,
	outputs func(yield func(uint64) bool),
) (period int) {
	if items != r.items || seconds != r.seconds {
		r.items, r.seconds, r.n = items, seconds, 0
	}
	oldest := r.outputs[2]
	r.outputs[2], r.outputs[1] = r.outputs[1], r.outputs[0]
	r.events[2], r.events[1], r.events[0] = r.events[1], r.events[0], events
	r.outputs[0] = oldest[:0]
	for address := range outputs {
		r.outputs[0] = append(r.outputs[0], address)
	}
	r.n++
	for period := 1; period <= 2; period++ {
		if r.n > period && r.events[0] == r.events[period] && slices.Equal(r.outputs[0],
			r.outputs[period]) {
			return period
		}
	}
	return 0
}
