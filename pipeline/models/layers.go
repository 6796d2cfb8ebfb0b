package models

import "fmt"

// A module collects the weights of a part of a model under a prefix such as "model.encoder.", in
// the order in which PyTorch registers them.
type module struct {
	m      *Model
	prefix string
	part   int // see Tensor.part
}

func (s module) in(name string) module { return module{s.m, s.prefix + name + ".", s.part} }

// layer returns the module of the model's next repeated layer. Its name ends with i. A model with
// an encoder and a decoder has the layers of both, one after the other.
func (s module) layer(name string, i int) module {
	l := module{s.m, fmt.Sprintf("%s%s.%d.", s.prefix, name, i), s.m.layers + 1}
	s.m.layers = l.part
	return l
}

// last returns the module for what belongs to the last repeated layer, such as the final norm.
// head returns the module for what comes after that.
func (s module) last() module { return module{s.m, s.prefix, s.m.layers} }
func (s module) head() module { return module{s.m, s.prefix, s.m.layers + 1} }

func (s module) parameter(name string, shape ...int) {
	s.m.Parameters = append(s.m.Parameters, Tensor{
		Name: s.prefix + name, Shape: shape, part: s.part,
	})
}

// linear adds the weights of an nn.Linear: weight has the shape [out, in].
func (s module) linear(name string, in, out int, bias bool) {
	s.in(name).weights(bias, out, in)
}

// conv adds the weights of an nn.Conv1d or nn.Conv2d. shape is the shape of weight: [out, in,
// kernel...].
func (s module) conv(name string, bias bool, shape ...int) {
	s.in(name).weights(bias, shape...)
}

func (s module) weights(bias bool, shape ...int) {
	s.parameter("weight", shape...)
	if bias {
		s.parameter("bias", shape[0])
	}
}

// norm adds the weights of an nn.LayerNorm, or of a GroupNorm or InstanceNorm with affine=True.
func (s module) norm(name string, n int) { s.in(name).weights(true, n) }

// batchNorm adds the weights of an nn.BatchNorm1d or 2d, and its running statistics as buffers.
func (s module) batchNorm(name string, n int) {
	s.norm(name, n)
	s.statistics(name, n)
}

func (s module) statistics(name string, n int) {
	in := s.in(name)
	in.buffer("running_mean", n)
	in.buffer("running_var", n)
	in.m.Buffers = append(in.m.Buffers, Tensor{Name: in.prefix + "num_batches_tracked", Element: 8})
}

func (s module) buffer(name string, shape ...int) {
	s.m.Buffers = append(s.m.Buffers, Tensor{Name: s.prefix + name, Shape: shape})
}

// lstm adds the weights of a bidirectional nn.LSTM: each layer has four gates in each direction.
func (s module) lstm(name string, in, hidden, layers int) {
	l := s.in(name)
	for i := range layers {
		for _, direction := range []string{"", "_reverse"} {
			l.parameter(fmt.Sprintf("weight_ih_l%d%s", i, direction), 4*hidden, in)
			l.parameter(fmt.Sprintf("weight_hh_l%d%s", i, direction), 4*hidden, hidden)
			l.parameter(fmt.Sprintf("bias_ih_l%d%s", i, direction), 4*hidden)
			l.parameter(fmt.Sprintf("bias_hh_l%d%s", i, direction), 4*hidden)
		}
		in = 2 * hidden
	}
}
