package models

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"vramsoak/parser/strictyaml"
)

// A Model is a neural network with its published dimensions. It lists the tensors of its weights
// and the tensors of a pass.
type Model struct {
	Name string // short: "whisper-large-v3"
	ID   string // on Hugging Face: "openai/whisper-large-v3"; "" if the model is not there
	// Family names models that do the same work, such as "whisper", "whisper.en" or "bge". A smaller
	// model can replace a larger one of its family.
	Family string
	Source string // where the sizes are published

	// Parameters are the weights that training changes; weights that two layers share are listed once.
	// Buffers are the other tensors that .to("cuda") moves: running statistics, fixed positions,
	// filters.
	Parameters, Buffers []Tensor

	// layers is the number of repeated layers, such as the encoder layers of a ViT, or 0 if the model
	// has none whose passes are modelled one by one. Only models with such layers can be checkpointed
	// or frozen in part.
	layers int
	// multiplies is true if a pass multiplies matrices with cuBLAS, and so needs cuBLAS' workspace.
	// Convolutions use cuDNN instead.
	multiplies bool
	usual      Input                   // defaults for the zero fields of an Input
	forward    func(p *pass, in Input) // writes one pass
	// step writes a whole training step. It is nil for models whose step is the forward pass and its
	// backward pass.
	step func(p *pass, in Input)
}

// Layers returns the number of repeated layers of a model that can train in part and with gradient
// checkpointing. It returns 0 for a model that cannot.
func (m *Model) Layers() int { return m.layers }

// Layered returns the names of the models that can train in part and with gradient checkpointing,
// sorted.
func Layered() []string {
	return slices.DeleteFunc(Names(), func(name string) bool {
		return catalogue()[strings.ToLower(name)].layers == 0
	})
}

// Trained returns the parameters that train if the first `frozen` repeated layers, and all
// parameters before them, are frozen. 0 means that all train.
func (m *Model) Trained(frozen int) []Tensor {
	if frozen <= 0 {
		return m.Parameters
	}
	return slices.DeleteFunc(slices.Clone(m.Parameters), func(t Tensor) bool {
		return t.part <= min(frozen, m.layers)
	})
}

// A Tensor is a weight with its name in the model's state_dict.
type Tensor struct {
	Name  string
	Shape []int // in elements
	// Element is the size of one element in bytes, if this size does not depend on the model's
	// number format; otherwise 0.
	Element int64
	// part is the part of the model that has the tensor: 0 is what comes before the repeated layers,
	// 1 to n are the layers, and n+1 is the head.
	part int
}

// Elements returns the number of elements, the product of the shape. A scalar has one element.
func (t Tensor) Elements() int {
	n := 1
	for _, s := range t.Shape {
		n *= s
	}
	return n
}

// Bytes returns the tensor's size in a model whose number format is d.
func (t Tensor) Bytes(d DType) int64 {
	if t.Element > 0 {
		return t.Element * int64(t.Elements())
	}
	return d.WeightBytes(t.Elements())
}

// Weights returns the size of the model's parameters and buffers on the GPU in bytes, before the
// allocator rounds the size of each tensor up.
func (m *Model) Weights(d DType) int64 {
	var n int64
	for t := range m.Tensors() {
		n += t.Bytes(d)
	}
	return n
}

// Tensors yields parameters and buffers in the order in which they are loaded.
func (m *Model) Tensors() iter.Seq[Tensor] {
	return func(yield func(Tensor) bool) {
		for _, t := range m.Parameters {
			if !yield(t) {
				return
			}
		}
		for _, t := range m.Buffers {
			if !yield(t) {
				return
			}
		}
	}
}

// catalogue returns every model by its short name in lower case. The models are made once, at the
// first use.
var catalogue = sync.OnceValue(func() map[string]*Model {
	all := map[string]*Model{}
	for _, family := range [][]*Model{
		whisper(), pyannote(), ecapa(), wav2vec2(), qwen2(), bert(),
		vit(), vitModel(), pix2pix(), specGAN(),
	} {
		for _, m := range family {
			all[strings.ToLower(m.Name)] = m
		}
	}
	return all
})

// aliases maps other names of models to their short names.
var aliases = map[string]string{
	"whisper-large":       "whisper-large-v3", // openai-whisper's "large" since v20231106
	"whisper-turbo":       "whisper-large-v3-turbo",
	"whisper-large-turbo": "whisper-large-v3-turbo",
	"segmentation-3.0":    "pyannote-segmentation-3.0",
	"ecapa-tdnn":          "spkrec-ecapa-voxceleb",
	"vit_b_16":            "vit-b-16", // torchvision's builders
	"vit_l_16":            "vit-l-16",
}

// Lookup finds a model by its Hugging Face id ("openai/whisper-large-v3"), its name
// ("whisper-large-v3") or, for Whisper, an argument of whisper.load_model ("large-v3"). Case does
// not matter. All callers share the models: do not change them.
func Lookup(name string) (*Model, error) {
	all := catalogue()
	for _, m := range all {
		if m.ID != "" && strings.EqualFold(m.ID, name) {
			return m, nil
		}
	}
	key := strings.ToLower(name)
	if i := strings.LastIndexByte(key, '/'); i >= 0 {
		key = key[i+1:]
	}
	for _, k := range []string{key, "whisper-" + key} {
		if a, ok := aliases[k]; ok {
			k = a
		}
		if m, ok := all[k]; ok {
			return m, nil
		}
	}
	advice := "docs/reference/cards-and-models.md has those that are."
	if near := nearest(key); len(near) > 0 {
		advice = "did you mean " + strings.Join(near, ", ") + "?"
	}
	return nil, &UnknownError{What: "model", Name: name, Advice: advice}
}

// An UnknownError is the error for an unknown name of a model or of a number format.
type UnknownError struct {
	What   string // "model" or "dtype"
	Name   string
	Advice string // what to do: "did you mean whisper-large-v3?"
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s %q is not known: %s", e.What, e.Name, e.Advice)
}

// Names returns the short names of all models, sorted.
func Names() []string {
	all := catalogue()
	names := make([]string, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		names = append(names, all[key].Name)
	}
	return names
}

// Family returns the names of the models of a family, smallest weights first.
func Family(name string) []string {
	var family []*Model
	for _, m := range catalogue() {
		if m.Family == name {
			family = append(family, m)
		}
	}
	slices.SortFunc(family, func(a, b *Model) int {
		return cmp.Or(cmp.Compare(a.Weights(Float16), b.Weights(Float16)),
			strings.Compare(a.Name, b.Name))
	})
	names := make([]string, 0, len(family))
	for _, m := range family {
		names = append(names, m.Name)
	}
	return names
}

// nearest returns the names that a user may have meant by an unknown name: all names that contain
// the key or, if there are none, up to three names at a small edit distance from the key, with or
// without "whisper-" before it. If no name is near, it returns the names with the same first word,
// such as "bge" in "bge-m3".
func nearest(key string) []string {
	const most, near = 6, 3 // names at most; one letter in three may differ
	containing := func(part string) []string {
		all := slices.DeleteFunc(Names(), func(name string) bool {
			return !strings.Contains(strings.ToLower(name), part)
		})
		return all[:min(most, len(all))]
	}
	if len(key) >= near {
		if all := containing(key); len(all) > 0 {
			return all
		}
	}
	distance := func(name string) int {
		name = strings.ToLower(name)
		return min(strictyaml.Distance(key, name), strictyaml.Distance("whisper-"+key, name))
	}
	alike := slices.DeleteFunc(Names(), func(name string) bool {
		return distance(name) > len(key)/near
	})
	slices.SortStableFunc(alike, func(a, b string) int {
		return cmp.Compare(distance(a), distance(b))
	})
	if len(alike) > 0 {
		return alike[:min(near, len(alike))]
	}
	if word := key[:len(key)-len(strings.TrimLeft(key, "abcdefghijklmnopqrstuvwxyz"))]; len(
		word) >= near {
		return containing(word)
	}
	return nil
}
