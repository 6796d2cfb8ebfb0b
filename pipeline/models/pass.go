package models

import "math"

// An Input is the input of one pass. A field that is 0 means the model's usual value.
type Input struct {
	Batch   int     // items of the pass
	Seconds float64 // audio length of one item
	Beams   int     // sequences decoded for each item
	Tokens  int     // text length of one item, if the model reads or writes text
	Train   bool    // a training step: forward and backward pass
	// Frozen is the number of repeated layers, from the first on, that do not train. What comes before
	// the layers is then frozen too. 0 means that everything trains.
	Frozen int
	// Checkpoint keeps only the inputs of the repeated layers for the backward pass, which computes
	// one layer at a time again (torch.utils.checkpoint).
	Checkpoint bool
	// Adds is true if gradients of an earlier pass exist, to which the pass adds its own (gradient
	// accumulation).
	Adds bool
	// Eager makes attention compute the matrix of scores in memory (attn_implementation="eager"),
	// instead of calling scaled_dot_product_attention.
	Eager bool
}

// cublasWorkspace is the size of the workspace in bytes that PyTorch allocates for the first matrix
// multiplication, with CUBLAS_WORKSPACE_CONFIG=:4096:2:16:8. It is 4096 * 1024 * 2 + 16 * 1024 * 8
// (ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize), but 32 MiB on Hopper cards. In
// PyTorch the workspace stays until the process ends; here each pass has its own workspace.
const cublasWorkspace = 8_519_680

// Output is the step To of a tensor that outlives the pass, such as the pass's result.
const Output = math.MaxInt

// An Activation is a tensor of a pass: it is allocated at step From and freed after step To. Within
// a step, all tensors are allocated, in the order of the list, before any is freed.
type Activation struct {
	Name     string
	Bytes    int64
	From, To int
	Kind     ActivationKind
}

// An ActivationKind says what a tensor of a training step is.
type ActivationKind uint8

// The kinds of activations.
const (
	Ordinary ActivationKind = iota
	Saved                   // by autograd, from the forward pass to the backward pass
	Gradient                // of a weight
)

// Forward returns the tensors of one pass in the order of their allocation. The sizes are those
// that PyTorch requests from the allocator, before rounding.
func (m *Model) Forward(in Input, d DType) []Activation { return m.AppendForward(nil, in, d) }

// AppendForward appends the result of Forward to dst, so that repeated calls can reuse a slice.
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
	switch {
	case in.Train && m.step != nil:
		p.adds = in.Adds
		m.step(&p, in)
	case in.Train:
		m.forward(&p, in)
		p.backward(p.segments(first, m), in)
	default:
		m.forward(&p, in)
	}
	if m.multiplies {
		p.list[len(dst)].To = p.step
	}
	return p.list
}

// Peak returns the highest number of bytes that the tensors of a pass take at one of its steps,
// without the weights.
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

// A pass records the tensors of a model's forward pass. Each operation is one step and makes one
// tensor. A tensor lives until the last step that reads it, unless a Python variable or autograd
// holds it longer.
type pass struct {
	d     DType
	eager bool
	train bool
	spare []ref  // tensors that autograd does not save
	joins []join // sums and their operands, see joined
	tied  tie
	parts []int // index in list at which each part of the model begins, see Tensor.part
	adds  bool  // as Input.Adds, for a model that writes its own training step
	list  []Activation
	step  int
}

// layer marks the beginning of a repeated layer, and head the end of the last one. Everything
// before the first layer is part 0.
func (p *pass) layer() { p.parts = append(p.parts, len(p.list)) }
func (p *pass) head()  { p.layer() }

// A ref names a tensor of a pass: it is the tensor's index in the pass's list.
type ref int

// op records an operation that reads tensors and makes one tensor of n elements in the pass's
// number format. It returns the new tensor.
func (p *pass) op(name string, n int, reads ...ref) ref {
	return p.bytes(name, p.d.Bytes(n),
		reads...)
}

// float records an operation like op does, but its result is always float32: a spectrogram, the
// softmax of logits, the statistics of a norm.
func (p *pass) float(name string, n int, reads ...ref) ref {
	return p.bytes(name, 4*int64(n), reads...)
}

func (p *pass) bytes(name string, n int64, reads ...ref) ref {
	p.step++
	p.hold(reads...)
	p.list = append(p.list, Activation{Name: name, Bytes: n, From: p.step, To: p.step})
	return ref(len(p.list) - 1)
}

// with adds a tensor of n bytes to the last operation in addition to its result, such as a
// workspace.
func (p *pass) with(name string, n int64) ref {
	p.list = append(p.list, Activation{Name: name, Bytes: n, From: p.step, To: p.step})
	return ref(len(p.list) - 1)
}

// hold keeps tensors alive to the end of the current step, because a Python variable still names
// them.
func (p *pass) hold(refs ...ref) {
	for _, r := range refs {
		p.list[r].To = p.step
	}
}

// result keeps tensors alive beyond the pass.
func (p *pass) result(refs ...ref) {
	for _, r := range refs {
		p.list[r].To = Output
	}
}

// unsaved marks tensors that autograd does not save for the backward pass, because they only go
// into a sum or a concatenation.
func (p *pass) unsaved(refs ...ref) {
	if p.train {
		p.spare = append(p.spare, refs...)
	}
}

// joined marks a sum or a concatenation whose gradient is also the gradient of its operand x. The
// gradient then lives until the backward step of x, which comes much later.
func (p *pass) joined(sum, x ref) {
	if p.train {
		p.joins = append(p.joins, join{sum, x})
	}
}

type join struct{ sum, x ref }

// A tie is a weight that two layers share: the embedding table and the matrix of the output layer.
// Its gradient begins with that of the output layer. The backward step of the table lookup makes a
// gradient of the whole table, and then the sum of both.
type tie struct {
	lookup ref    // the lookup's result
	name   string // of the weight, or "" if no weight is tied
}

// layers returns how many of a model's n equal layers must be recorded in the list of a pass. In
// training these are all layers, because autograd keeps tensors of each layer. In inference two
// layers are enough for the peak, because every further layer reuses the memory of the second.
func (p *pass) layers(n int) int {
	if p.train {
		return n
	}
	return min(2, n)
}

// weight records the float16 copy of a weight of n elements that autocast makes for the last
// operation.
func (p *pass) weight(n int) {
	if p.d == Autocast {
		p.with("weight.to(float16)", 2*int64(n))
	}
}
