package onnx

import (
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A model is the part of an ONNX file that is checked: everything except the values of the weights.
// Names of messages and field numbers are those of onnx/onnx.proto in github.com/onnx/onnx.
type model struct {
	ir       int64
	opset    int64 // of the standard operators; 0 if the file names none
	metadata map[string]string
	graph    bool // the file has a graph

	Inputs, Outputs []Value
	weights         map[string][]int64 // shapes by name
	producers       map[string]node    // by the name of the output
	mistakes        []error            // of single tensors
	// parts is the number of nodes, their inputs and outputs, weights, values and entries of metadata.
	parts   int
	nesting int // graphs around this one
}

// A Value is an input or an output of the graph.
type Value struct {
	Name     string
	Element  int64 // TensorProto.DataType; 0 if the value is not a tensor
	Shape    []int64
	HasShape bool
}

// Free stands for a dimension that the file leaves open: it has a name or no value.
const Free = -1

// The element types in ONNX's TensorProto that models use here.
const (
	Float = 1
	Int64 = 7
)

// A node is an operation of the graph.
type node struct {
	op              string
	inputs, outputs []string
	transposed      bool // Gemm's transB
}

// The limits of the data that is kept of a file. Models for diarization and of
// sentences have a few thousand nodes.
const (
	maxParts    = 1 << 20
	maxMistakes = 10
	maxRank     = 64 // dimensions; no tensor has that many
	maxNesting  = 30 // graphs in graphs; protobuf, with which ONNX Runtime reads, ends earlier
)

// part counts a part of the model. It returns an error if the model has more than maxParts parts.
func (m *model) part(at int64) error {
	if m.parts++; m.parts > maxParts {
		return &malformed{at, fmt.Sprintf("expected a model of at most %d nodes and weights, "+
			"found more", maxParts)}
	}
	return nil
}

// readModel reads the structure of an ONNX file. It returns an error if the file is no ONNX model.
func readModel(file io.ReaderAt, size int64) (*model, error) {
	m := &model{
		metadata: map[string]string{}, weights: map[string][]int64{},
		producers: map[string]node{},
	}
	s := &source{file: file, size: size}
	err := s.fields(span{0, size}, func(f field) error {
		switch {
		case f.number == 1 && f.kind == protowire.VarintType:
			m.ir = int64(f.value)
		case f.number == 7 && f.kind == protowire.BytesType:
			m.graph = true
			return m.readGraph(s, f.span)
		case f.number == 8 && f.kind == protowire.BytesType:
			return m.readOpset(s, f.span)
		case f.number == 14 && f.kind == protowire.BytesType:
			return m.readMetadata(s, f.span)
		}
		return nil
	})
	return m, err
}

func (m *model) readOpset(s *source, in span) error {
	domain, version := "", int64(0)
	err := s.fields(in, func(f field) (err error) {
		switch {
		case f.number == 1 && f.kind == protowire.BytesType:
			domain, err = s.text(f.span)
		case f.number == 2 && f.kind == protowire.VarintType:
			version = int64(f.value)
		}
		return err
	})
	if domain == "" || domain == "ai.onnx" {
		m.opset = max(m.opset, version)
	}
	return err
}

// readMetadata reads an entry of the metadata. If a key occurs twice, the last value counts, as in
// ONNX Runtime. A script that adds metadata twice writes such a file.
func (m *model) readMetadata(s *source, in span) error {
	key, value := "", ""
	err := s.fields(in, func(f field) (err error) {
		switch {
		case f.kind != protowire.BytesType || f.len() > longestText: // such as a license
		case f.number == 1:
			key, err = s.text(f.span)
		case f.number == 2:
			value, err = s.text(f.span)
		}
		return err
	})
	if err != nil {
		return err
	}
	m.metadata[key] = value
	return m.part(in.start)
}

func (m *model) readGraph(s *source, in span) error {
	return s.fields(in, func(f field) error {
		if f.kind != protowire.BytesType {
			return nil
		}
		if err := m.part(f.start); err != nil {
			return err
		}
		switch f.number {
		case 1:
			return m.readNode(s, f.span)
		case 5:
			return m.readWeights(s, f.span)
		case 11, 12:
			v, err := readValue(s, f.span)
			if err != nil {
				return err
			}
			if f.number == 11 {
				m.Inputs = append(m.Inputs, v)
			} else {
				m.Outputs = append(m.Outputs, v)
			}
		}
		return nil
	})
}

func (m *model) readNode(s *source, in span) error {
	var n node
	err := s.fields(in, func(f field) error {
		if f.kind != protowire.BytesType {
			return nil
		}
		switch f.number {
		case 1, 2, 4:
			text, err := s.text(f.span)
			if err != nil {
				return err
			}
			switch f.number {
			case 1:
				n.inputs = append(n.inputs, text)
			case 2:
				n.outputs = append(n.outputs, text)
			case 4:
				n.op = text
			}
			return m.part(f.start)
		case 5:
			return m.readAttribute(s, f.span, &n)
		}
		return nil
	})
	for _, output := range n.outputs {
		m.producers[output] = n
	}
	return err
}

// readAttribute reads an attribute of a node. It keeps transB, the only attribute that determines a
// shape, and checks the values of tensors (constants, and weights of the graphs that If and Loop
// have).
func (m *model) readAttribute(s *source, in span, n *node) error {
	name, number := "", int64(0)
	err := s.fields(in, func(f field) (err error) {
		switch {
		case f.number == 1 && f.kind == protowire.BytesType:
			name, err = s.text(f.span)
		case f.number == 3 && f.kind == protowire.VarintType:
			number = int64(f.value)
		case f.number == 5 && f.kind == protowire.BytesType:
			_, _, err = m.readTensor(s, f.span)
		case f.number == 6 && f.kind == protowire.BytesType:
			err = m.readSubgraph(s, f.span)
		}
		return err
	})
	n.transposed = n.transposed || name == "transB" && number == 1
	return err
}

// readSubgraph checks the tensors of a graph inside a node. Its names are not kept: they are its
// own.
func (m *model) readSubgraph(s *source, in span) error {
	if m.nesting == maxNesting {
		return &malformed{in.start, fmt.Sprintf("expected at most %d graphs in each other",
			maxNesting)}
	}
	inner := &model{
		weights: map[string][]int64{}, producers: map[string]node{}, mistakes: m.mistakes,
		parts: m.parts, nesting: m.nesting + 1,
	}
	err := inner.readGraph(s, in)
	m.mistakes, m.parts = inner.mistakes, inner.parts
	return err
}

func (m *model) readWeights(s *source, in span) error {
	name, shape, err := m.readTensor(s, in)
	m.weights[name] = shape
	return err
}

// readValue reads a ValueInfoProto: the name, and from the TypeProto the tensor's element type and
// shape.
func readValue(s *source, in span) (Value, error) {
	var v Value
	bytes := func(in span, number protowire.Number, visit func(span) error) error {
		return s.fields(in, func(f field) error {
			if f.number == number && f.kind == protowire.BytesType {
				return visit(f.span)
			}
			return nil
		})
	}
	err := s.fields(in, func(f field) (err error) {
		switch {
		case f.kind != protowire.BytesType:
		case f.number == 1:
			v.Name, err = s.text(f.span)
		case f.number == 2:
			err = bytes(f.span, 1, func(tensor span) error {
				return s.fields(tensor, func(f field) error {
					switch {
					case f.number == 1 && f.kind == protowire.VarintType:
						v.Element = int64(f.value)
					case f.number == 2 && f.kind == protowire.BytesType:
						v.HasShape = true
						return bytes(f.span, 1, func(dim span) error {
							if len(v.Shape) >= maxRank {
								return &malformed{
									dim.start,
									fmt.Sprintf("expected at most %d dimensions", maxRank),
								}
							}
							v.Shape = append(v.Shape, Free)
							return s.fields(dim, func(f field) error {
								if f.number == 1 && f.kind == protowire.VarintType {
									v.Shape[len(v.Shape)-1] = int64(f.value)
								}
								return nil
							})
						})
					}
					return nil
				})
			})
		}
		return err
	})
	return v, err
}

// sizes has the size of a tensor's elements in bytes, by TensorProto.DataType; 0 for strings.
// Complex numbers, which have two values each, do not occur in models of speakers.
var sizes = map[int64]int64{
	1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 8: 0, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2, 17: 1,
	18: 1, 19: 1, 20: 1,
}

// readTensor reads the name and shape of a TensorProto. It checks that the tensor has as many
// values as the shape requires.
func (m *model) readTensor(s *source, in span) (name string, shape []int64, err error) {
	var (
		element  int64
		raw      int64 = -1 // bytes of raw_data; -1 without it
		values   int64      // number of values in the typed fields
		external bool
	)
	dimension := func(v uint64) error {
		if len(shape) >= maxRank {
			return &malformed{in.start, fmt.Sprintf("expected at most %d dimensions", maxRank)}
		}
		shape = append(shape, int64(v))
		return nil
	}
	count := func(uint64) error { values++; return nil }
	err = s.fields(in, func(f field) (err error) {
		packed := f.kind == protowire.BytesType
		switch f.number {
		case 1:
			if packed {
				return s.numbers(f.span, dimension)
			}
			return dimension(f.value)
		case 2:
			element = int64(f.value)
		case 4, 10: // float_data, double_data
			size := int64(4)
			if f.number == 10 {
				size = 8
			}
			values += f.len() / size
		case 5, 7, 11: // int32_data, int64_data, uint64_data
			if packed {
				return s.numbers(f.span, count)
			}
			values++
		case 6: // string_data
			values++
		case 8:
			if packed {
				name, err = s.text(f.span)
			}
		case 9:
			raw = f.len()
		case 14: // data_location
			external = f.value == 1
		}
		return err
	})
	if err != nil {
		return name, shape, err
	}
	m.checkTensor(name, element, shape, raw, values, external)
	return name, shape, nil
}

// checkTensor records a mistake if a tensor does not have as many values as its shape requires,
// because ONNX Runtime would abort. raw is the number of bytes in raw_data, or -1 without raw_data.
// values is the number of values in other fields.
func (m *model) checkTensor(name string, element int64, shape []int64, raw, values int64,
	external bool,
) {
	wrong := func(format string, args ...any) {
		if len(m.mistakes) < maxMistakes {
			m.mistakes = append(m.mistakes, fmt.Errorf("tensor %q: "+format, append([]any{name},
				args...)...))
		}
	}
	size, known := sizes[element]
	count := int64(1)
	for _, n := range shape {
		if n < 0 || n > 0 && count > math.MaxInt64/16/n {
			wrong("expected a shape that fits into memory, found %v", shape)
			return
		}
		count *= n
	}
	switch {
	case external:
		wrong("expected its values in the file, found a reference to another file; save the " +
			"model with its weights inside")
	case !known:
		wrong("expected an element type of onnx.proto other than complex, found %d", element)
	case raw >= 0 && size > 0 && raw != count*size:
		wrong("expected %d bytes for the shape %v, found %d", count*size, shape, raw)
	case raw < 0 && values != count:
		wrong("expected %d values for the shape %v, found %d", count, shape, values)
	}
}
