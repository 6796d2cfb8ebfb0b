package models

// A module collects the tensors of a part of a model under its prefix, in the order in which PyTorch registers them.
type module struct {
	m      *Model
	prefix string
}

func (s module) in(name string) module { return module{s.m, s.prefix + name + "."} }

func (s module) parameter(name string, shape ...int) {
	s.m.Parameters = append(s.m.Parameters, Tensor{Name: s.prefix + name, Shape: shape})
}

// linear is nn.Linear: weight [out, in].
func (s module) linear(name string, in, out int, bias bool) {
	s.in(name).weights(bias, out, in)
}

// conv is nn.Conv1d and nn.Conv2d: weight [out, in, kernel...].
func (s module) conv(name string, bias bool, shape ...int) {
	s.in(name).weights(bias, shape...)
}

func (s module) weights(bias bool, shape ...int) {
	s.parameter("weight", shape...)
	if bias {
		s.parameter("bias", shape[0])
	}
}

// norm is nn.LayerNorm, GroupNorm or InstanceNorm with affine=True.
func (s module) norm(name string, n int) { s.in(name).weights(true, n) }
