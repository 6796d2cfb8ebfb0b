package models

import (
	"strings"
)

// A DType is the number format of a model's weights and activations, by PyTorch's names.
type DType uint8

// Autocast means float32 weights and float16 arithmetic, as with torch.autocast. openai-whisper's
// fp16=True computes in the same way with weights that load_model left in float32
// (whisper/model.py, Linear: F.linear(x, self.weight.to(x.dtype), ...)).
const (
	Float32 DType = iota
	Float16
	BFloat16
	Int8
	Autocast
)

var dtypes = [...]struct {
	name               string
	weight, arithmetic int64 // bytes
}{
	Float32:  {"float32", 4, 4},
	Float16:  {"float16", 2, 2},
	BFloat16: {"bfloat16", 2, 2},
	// Like bitsandbytes' load_in_8bit and CTranslate2's int8_float16: activations between layers
	// are float16.
	Int8:     {"int8", 1, 2},
	Autocast: {"autocast", 4, 2},
}

// ParseDType reads the name of a number format as torch prints it, with or without "torch.", or a
// usual short form such as fp16.
func ParseDType(name string) (DType, error) {
	switch strings.TrimPrefix(strings.ToLower(name), "torch.") {
	case "float32", "float", "fp32":
		return Float32, nil
	case "float16", "half", "fp16":
		return Float16, nil
	case "bfloat16", "bf16":
		return BFloat16, nil
	case "int8":
		return Int8, nil
	case "autocast":
		return Autocast, nil
	}
	return 0, &UnknownError{
		What: "dtype", Name: name,
		Advice: "use float32, float16, bfloat16, int8 or autocast (float32 weights, float16 " +
			"arithmetic)",
	}
}

func (d DType) String() string { return dtypes[d].name }

// Bytes returns the size in bytes of an activation of n elements.
func (d DType) Bytes(n int) int64 { return dtypes[d].arithmetic * int64(n) }

// WeightBytes returns the size in bytes of a weight of n elements.
func (d DType) WeightBytes(n int) int64 { return dtypes[d].weight * int64(n) }
