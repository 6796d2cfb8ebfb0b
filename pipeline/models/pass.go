package models

import "math"

// An Input is what one pass is given. A zero field means what is usual for the model.
type Input struct {
	Batch   int     // items of the pass
	Seconds float64 // audio length of one item
	Beams   int     // sequences that are decoded of one item
	Tokens  int     // text length of one item, where the model reads or writes text
	Train   bool    // a forward pass that keeps what the backward pass needs, and the backward pass
	// Attention that makes the score matrix (attn_implementation="eager") instead of
	// scaled_dot_product_attention.
	Eager bool
}

// cublasWorkspace is what PyTorch allocates at a handle's first matrix multiplication,
// CUBLAS_WORKSPACE_CONFIG=:4096:2:16:8 (ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize:
// 4096 * 1024 * 2 + 16 * 1024 * 8; 32 MiB on Hopper). It then stays until the process ends; here
// each pass has its own.
const cublasWorkspace = 8_519_680

// Output is the To of what outlives the pass: its result.
const Output = math.MaxInt

// An Activation is a tensor of a pass: allocated at step From, freed after step To. Within a step,
// tensors are allocated in the order of the list before any is freed.
type Activation struct {
	Name     string
	Bytes    int64
	From, To int
}

// Forward lists the tensors of one pass in the order of their allocation. Sizes are what is asked
// of the allocator.
func (m *Model) Forward(in Input, d DType) []Activation { return m.AppendForward(nil, in, d) }

// AppendForward appends what Forward lists to dst, for callers that ask often.
func (m *Model) AppendForward(dst []Activation, in Input, d DType) []Activation {
	if in.Batch < 1 {
		in.Batch = max(1, m.usual.Batch)
	}
	if !(in.Seconds > 0) {
		in.Seconds = m.usual.Seconds
	}
	if in.Beams < 1 {
		in.Beams = max(1, m.usual.Beams)
	}
	if in.Tokens < 1 {
		in.Tokens = max(1, m.usual.Tokens)
	}
	p := pass{d: d, eager: in.Eager, train: in.Train, list: dst}
	if m.multiplies {
		p.list = append(p.list, Activation{Name: "cuBLAS workspace", Bytes: cublasWorkspace})
	}
	first := len(p.list)
	m.forward(&p, in)
	if in.Train {
		p.backward(first, m.Parameters)
	}
	if m.multiplies {
		p.list[len(dst)].To = p.step
	}
	return p.list
}

// PeakBytes is the most that a pass holds at one time, weights not counted.
func (m *Model) PeakBytes(in Input, d DType) int64 { return Peak(m.Forward(in, d)) }

// Peak is the most that is live at one step of a pass.
func Peak(list []Activation) int64 {
	last := 0
	for _, a := range list {
		last = max(last, a.From)
	}
	change := make([]int64, last+2)
	for _, a := range list {
		change[a.From] += a.Bytes
		if a.To < last {
			change[a.To+1] -= a.Bytes
		}
	}
	var live, peak int64
	for _, c := range change {
		live += c
		peak = max(peak, live)
	}
	return peak
}

// A pass writes down operations. Each is one step, makes one tensor, and extends the life of those
// it reads up to itself: so a tensor dies with its last reader, unless something (a Python
// variable, autograd) holds it longer.
type pass struct {
	d     DType
	eager bool
	train bool
	spare []ref  // what autograd does not save
	joins []join // whose gradients live longer
	tied  tie
	list  []Activation
	step  int
}

// A ref names a tensor of a pass.
type ref int

// op is one operation whose result has n elements of the pass's type.
func (p *pass) op(name string, n int, reads ...ref) ref {
	return p.bytes(name, p.d.Bytes(n),
		reads...)
}

// float is one whose result is float32 in any case: spectrograms, softmax of logits, norms'
// statistics.
func (p *pass) float(name string, n int, reads ...ref) ref {
	return p.bytes(name, 4*int64(n), reads...)
}

func (p *pass) bytes(name string, n int64, reads ...ref) ref {
	p.step++
	p.hold(reads...)
	p.list = append(p.list, Activation{Name: name, Bytes: n, From: p.step, To: p.step})
	return ref(len(p.list) - 1)
}

// with is a further tensor of the operation that was written down last: workspace, statistics.
func (p *pass) with(name string, n int64) ref {
	p.list = append(p.list, Activation{Name: name, Bytes: n, From: p.step, To: p.step})
	return ref(len(p.list) - 1)
}

// hold keeps tensors to the end of the present step.
func (p *pass) hold(refs ...ref) {
	for _, r := range refs {
		p.list[r].To = p.step
	}
}

// result keeps tensors beyond the pass.
func (p *pass) result(refs ...ref) {
	for _, r := range refs {
		p.list[r].To = Output
	}
}

// unsaved says that no backward formula needs these tensors: what only goes into a sum or a
// concatenation.
func (p *pass) unsaved(refs ...ref) {
	if p.train {
		p.spare = append(p.spare, refs...)
	}
}

// joined says that the gradient of a sum or of a concatenation is also that of x, which was made
// long before it.
func (p *pass) joined(sum, x ref) {
	if p.train {
		p.joins = append(p.joins, join{sum, x})
	}
}

type join struct{ sum, x ref }

// tie is a weight that a lookup uses too: backward of the lookup makes a gradient of its own,
// dense, and the sum of both.
type tie struct {
	lookup   ref
	elements int
}

// layers is how many of n equal layers are written down. For inference two do: all others take the
// memory that those gave back.
func (p *pass) layers(n int) int {
	if p.train {
		return n
	}
	return min(2, n)
}

// weight is the copy of a weight that autocast makes for one operation.
func (p *pass) weight(n int) {
	if p.d == Autocast {
		p.with("weight.to(float16)", 2*int64(n))
	}
}
