package models

import "slices"

// A segment is a part of a forward pass that trains, is frozen or is computed again as a whole: a
// repeated layer, or what comes before the layers or after them.
type segment struct {
	begin, end int      // its tensors in the pass's list
	parameters []Tensor // its parameters, in the order in which PyTorch registers them
	layer      bool     // a repeated layer
}

// segments returns the segments of the forward pass that the list holds from index first on. If the
// model has no repeated layers, it returns one segment.
func (p *pass) segments(first int, m *Model) []segment {
	var all []segment
	for part, begin := range append([]int{first}, p.parts...) {
		s := segment{begin: begin, end: len(p.list), layer: part > 0 && part <= m.layers}
		if part < len(p.parts) {
			s.end = p.parts[part]
		}
		for _, t := range m.Parameters {
			if t.part == part {
				s.parameters = append(s.parameters, t)
			}
		}
		all = append(all, s)
	}
	return all
}

// backward adds the backward pass: one step for each operation of the forward pass, in reverse
// order, down to the first operation that trains. A tensor that autograd saved is freed after the
// backward step of its operation. The gradient of a tensor is made one step before this backward
// step and freed with the tensor, unless joined marked the tensor. The gradients of parameters live
// until optimizer.zero_grad(). The input of the first operation that trains has no gradient.
func (p *pass) backward(segments []segment, in Input) {
	lowest := 0
	if in.Frozen > 0 {
		lowest = min(in.Frozen+1, len(segments)-1)
	}
	for lowest > 0 && p.tied.name != "" && int(p.tied.lookup) < segments[lowest].begin {
		lowest-- // the table is the head's matrix and trains, so gradients go down to it
		segments[lowest].parameters = nil
	}
	b := backwardPass{pass: p, adds: in.Adds, first: ref(segments[lowest].begin)}
	if lowest == 0 {
		b.first++ // the first tensor is the model's input, and has no gradient
	}
	b.input = p.readLater(segments[:lowest])
	for _, s := range segments[lowest:] {
		b.save(s, in.Checkpoint)
	}
	b.gradient(ref(len(p.list) - 1))
	for _, s := range slices.Backward(segments[lowest:]) {
		b.segment(s, in.Checkpoint)
	}
	p.step++
	for _, r := range append(b.input, b.first-1) {
		if r >= 0 && p.list[r].To != Output {
			p.list[r].To, p.list[r].Kind = p.step, Saved
		}
	}
}

// readLater returns the tensors of frozen segments that a later segment reads. Autograd saves them,
// because the weights' gradients depend on them.
func (p *pass) readLater(frozen []segment) []ref {
	if len(frozen) == 0 {
		return nil
	}
	var all []ref
	last := p.list[frozen[len(frozen)-1].end-1].From
	for i := frozen[0].begin; i < frozen[len(frozen)-1].end; i++ {
		if p.list[i].To > last {
			all = append(all, ref(i))
		}
	}
	return all
}

// A backwardPass writes a backward pass.
type backwardPass struct {
	*pass
	adds  bool
	first ref   // the first tensor that has a gradient
	input []ref // tensors of frozen segments that live until the end
	saved map[ref]bool
	// gradients has the present gradients by their tensors, and waiting the gradients that live until
	// the backward step of another tensor, see pass.joined.
	gradients map[ref]ref
	waiting   map[ref][]ref
	table     ref // the gradient of the tied weight, once it is made
}

// save notes which tensors of a segment autograd saves. With checkpointing, these are only the
// tensors that a later segment reads.
func (b *backwardPass) save(s segment, checkpoint bool) {
	if b.saved == nil {
		b.saved, b.gradients, b.waiting = map[ref]bool{}, map[ref]ref{}, map[ref][]ref{}
	}
	last := b.list[s.end-1].From
	for i := s.begin; i < s.end; i++ {
		a := &b.list[i]
		if a.To != Output && !slices.Contains(b.spare, ref(i)) &&
			(!checkpoint || !s.layer || a.To > last) {
			b.saved[ref(i)] = true
			a.Kind = Saved
		}
	}
}

// gradient adds the gradient of a tensor, which lives until the tensor's backward step.
func (b *backwardPass) gradient(of ref) {
	g := b.bytes("gradient", b.list[of].Bytes)
	b.gradients[of] = g
	for _, j := range b.joins {
		if j.sum == of {
			b.waiting[j.x] = append(b.waiting[j.x], g)
		}
	}
	if b.tied.name != "" && b.tied.lookup == of {
		if b.adds { // else it lives on anyway
			b.hold(b.table)
		}
		for _, name := range []string{"embedding_dense_backward", "sum of both gradients"} {
			b.with(name, b.list[b.table].Bytes)
		}
	}
}

// segment adds the backward steps of a segment. With checkpointing, it first computes the segment's
// tensors again.
func (b *backwardPass) segment(s segment, checkpoint bool) {
	at := func(i ref) ref { return i }
	if checkpoint && s.layer {
		for i := s.begin; i < s.end; i++ {
			if b.saved[ref(i)] {
				b.list[i].To = b.step
			}
		}
		at = b.again(s)
	}
	left, n := len(s.parameters), s.end-s.begin
	for i := ref(s.end - 1); int(i) >= s.begin; i-- {
		if i > b.first {
			b.gradient(i - 1)
		} else {
			b.step++
		}
		if b.saved[at(i)] {
			b.list[at(i)].To = b.step
		}
		if g, made := b.gradients[i]; made {
			b.hold(g)
		}
		b.hold(b.waiting[i]...)
		for op := int(i) - s.begin; left > 0 && (left-1)*n >= len(s.parameters)*op; left-- {
			t := s.parameters[left-1]
			g := b.weightGradient(t.Name, t.Bytes(b.d))
			if !b.adds {
				b.result(g)
			}
			if t.Name == b.tied.name {
				b.table = g
			}
		}
	}
}

// weightGradient adds the gradient of a weight to the last step.
func (p *pass) weightGradient(name string, bytes int64) ref {
	g := p.with(name+".grad", bytes)
	p.list[g].Kind = Gradient
	return g
}

// again adds the tensors of a segment a second time, and returns a function that returns the new
// tensor for an old one.
func (b *backwardPass) again(s segment) func(ref) ref {
	copied, shift := ref(len(b.list)-s.begin), b.step+1-b.list[s.begin].From
	for i := s.begin; i < s.end; i++ {
		a := b.list[i]
		a.Name, a.Kind = "again "+a.Name, Ordinary
		a.From, a.To = a.From+shift, min(a.To, b.list[s.end-1].From)+shift
		if !slices.Contains(b.spare, ref(i)) {
			b.saved[ref(i)+copied] = true
		}
		b.list = append(b.list, a)
		b.step = a.From
	}
	return func(i ref) ref { return i + copied }
}

// AdamStates returns the tensors that torch.optim.Adam and AdamW keep from their first step on:
// exp_avg and exp_avg_sq of each parameter that trains, in the parameter's format (optim/adam.py,
// _init_group; step counts stay on the CPU).
func AdamStates(trained []Tensor, d DType) []Activation {
	list := make([]Activation, 0, 2*len(trained))
	for i, t := range trained {
		for _, state := range []string{".exp_avg", ".exp_avg_sq"} {
			list = append(list, Activation{
				Name: t.Name + state, Bytes: t.Bytes(d), From: i,
				To: Output,
			})
		}
	}
	return list
}

// AdamStep returns the tensors that one optimizer.step() needs in addition: torch._foreach_sqrt of
// all exp_avg_sq at once (_multi_tensor_adam, the default on CUDA).
func AdamStep(trained []Tensor, d DType) []Activation {
	list := make([]Activation, 0, len(trained))
	for i, t := range trained {
		list = append(list, Activation{
			Name: t.Name + ".exp_avg_sq_sqrt", Bytes: t.Bytes(d),
			From: i, To: len(trained),
		})
	}
	return list
}
