package models

import "slices"

// backward adds the backward pass: one step for each operation of the forward pass, in reverse
// order. first is the index of the first tensor of the forward pass: the input, which has no
// gradient. A tensor that autograd saved is freed after the backward step of its operation. The
// gradient of a tensor is made one step before this backward step and freed with the tensor, unless
// joined marked the tensor. The gradients of parameters live until optimizer.zero_grad().
func (p *pass) backward(first int, parameters []Tensor) {
	n := len(p.list) - first
	end := p.step + 1 + n
	for i := range n {
		a := &p.list[first+i]
		if a.To != Output && !slices.Contains(p.spare, ref(first+i)) {
			a.To = end - i
		}
	}
	left := len(parameters)
	for i := n; i > 0; i-- {
		g := p.bytes("gradient", p.list[first+i-1].Bytes)
		p.list[g].To++
		for _, j := range p.joins {
			if j.sum == ref(first+i-1) {
				p.list[g].To = end - int(j.x) + first
			}
		}
		if p.tied.elements > 0 && p.tied.lookup == ref(first+i-1) {
			for _, name := range []string{
				"gradient of the other use", "embedding_dense_backward",
				"their sum",
			} {
				p.with(name, p.d.WeightBytes(p.tied.elements))
			}
		}
		if i == 1 {
			p.list = p.list[:g]
		}
		for ; left > 0 && left*n > len(parameters)*(i-1); left-- {
			p.result(p.with(parameters[left-1].Name+".grad", parameters[left-1].Bytes(p.d)))
		}
	}
}

// AdamStates returns the tensors that torch.optim.Adam and AdamW keep from their first step on:
// exp_avg and exp_avg_sq of each parameter, in the parameter's format (optim/adam.py, _init_group;
// step counts stay on the CPU).
func AdamStates(m *Model, d DType) []Activation {
	list := make([]Activation, 0, 2*len(m.Parameters))
	for i, t := range m.Parameters {
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
func AdamStep(m *Model, d DType) []Activation {
	list := make([]Activation, 0, len(m.Parameters))
	for i, t := range m.Parameters {
		list = append(list, Activation{
			Name: t.Name + ".exp_avg_sq_sqrt", Bytes: t.Bytes(d),
			From: i, To: len(m.Parameters),
		})
	}
	return list
}
