package diarization

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// A file is an ONNX model that a test writes. Nodes and weights have only the parts that the checks
// read.
type file struct {
	ir       int64
	opsets   map[string]int64
	metadata map[string]string
	noGraph  bool
	inputs   []port
	outputs  []port
	nodes    []node
	tensors  []tensor
}

// A port is an input or an output of the model. A dimension is an int64, or a name if it is open.
type port struct {
	name    string
	element int64
	dims    []any
}

// A node is an operation of the model.
type node struct {
	op              string
	inputs, outputs []string
	transposed      bool // Gemm's transB
}

type tensor struct {
	name     string
	element  int64
	dims     []int64
	raw      int   // bytes; -1 for none
	data     int   // values in int64_data, packed
	location int64 // 1 is external
}

type bytes []byte

func (b bytes) int(field protowire.Number, v int64) bytes {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

func (b bytes) text(field protowire.Number, v string) bytes { return b.sub(field, bytes(v)) }

func (b bytes) sub(field protowire.Number, v bytes) bytes {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func (p port) encode() bytes {
	var shape bytes
	for _, d := range p.dims {
		switch d := d.(type) {
		case int:
			shape = shape.sub(1, bytes{}.int(1, int64(d)))
		case string:
			shape = shape.sub(1, bytes{}.text(2, d))
		}
	}
	t := bytes{}.int(1, p.element)
	if p.dims != nil {
		t = t.sub(2, shape)
	}
	return bytes{}.text(1, p.name).sub(2, bytes{}.sub(1, t))
}

func (f file) encode() bytes {
	var g bytes
	for _, n := range f.nodes {
		var b bytes
		for _, input := range n.inputs {
			b = b.text(1, input)
		}
		for _, output := range n.outputs {
			b = b.text(2, output)
		}
		b = b.text(4, n.op)
		if n.transposed {
			b = b.sub(5, bytes{}.text(1, "transB").int(3, 1).int(20, 2))
		}
		g = g.sub(1, b)
	}
	g = g.text(2, "test")
	for _, t := range f.tensors {
		var b bytes
		for _, d := range t.dims {
			b = b.int(1, d)
		}
		b = b.int(2, t.element).text(8, t.name)
		if t.raw >= 0 {
			b = b.sub(9, make(bytes, t.raw))
		}
		if t.data > 0 {
			b = b.sub(7, make(bytes, t.data))
		}
		if t.location != 0 {
			b = b.int(14, t.location)
		}
		g = g.sub(5, b)
	}
	for _, p := range f.inputs {
		g = g.sub(11, p.encode())
	}
	for _, p := range f.outputs {
		g = g.sub(12, p.encode())
	}
	m := bytes{}.int(1, f.ir).text(2, "pytorch")
	if !f.noGraph {
		m = m.sub(7, g)
	}
	for _, domain := range slices.Sorted(maps.Keys(f.opsets)) {
		m = m.sub(8, bytes{}.text(1, domain).int(2, f.opsets[domain]))
	}
	for _, key := range slices.Sorted(maps.Keys(f.metadata)) {
		m = m.sub(14, bytes{}.text(1, key).text(2, f.metadata[key]))
	}
	return m
}

// The files below have the inputs, outputs and metadata of files that sherpa-onnx's export scripts
// write.

// pyannoteFile returns a file like model.onnx of scripts/pyannote/segmentation/export-onnx.py.
func pyannoteFile() file {
	return file{
		ir: 7, opsets: map[string]int64{"": 13},
		metadata: map[string]string{
			"num_speakers": "3", "powerset_max_classes": "2", "num_classes": "7",
			"sample_rate": "16000", "window_size": "160000",
			"receptive_field_size": "991", "receptive_field_shift": "270",
			"model_type": "pyannote-segmentation-3.0",
			"version":    "1", "model_author": "pyannote-audio", "maintainer": "k2-fsa",
			"license": "https://example.com/LICENSE",
		},
		inputs:  []port{{"x", 1, []any{"N", 1, "T"}}},
		outputs: []port{{"y", 1, []any{"N", "T", 7}}},
		nodes: []node{{
			op: "Gemm", inputs: []string{"x", "w", "b"}, outputs: []string{"z"},
			transposed: true,
		}, {op: "LogSoftmax", inputs: []string{"z"}, outputs: []string{"y"}}},
		tensors: []tensor{
			{name: "w", element: 1, dims: []int64{7, 128}, raw: 4 * 7 * 128},
			{name: "b", element: 1, dims: []int64{7}, raw: 28},
		},
	}
}

// wespeakerFile returns a file like voxceleb_resnet34.onnx after
// scripts/wespeaker/add_meta_data.py.
func wespeakerFile() file {
	return file{
		ir: 7, opsets: map[string]int64{"": 14},
		metadata: map[string]string{
			"framework": "wespeaker", "language": "English", "url": "https://example.com",
			"comment":     "no comment",
			"sample_rate": "16000", "output_dim": "256", "normalize_samples": "0",
		},
		inputs:  []port{{"feats", 1, []any{"B", "T", 80}}},
		outputs: []port{{"embs", 1, []any{"B", 256}}},
		nodes: []node{{
			op: "Gemm", inputs: []string{"feats", "w"}, outputs: []string{"embs"},
			transposed: true,
		}},
		tensors: []tensor{{name: "w", element: 1, dims: []int64{256, 4}, raw: 4096}},
	}
}

// threeDSpeakerFile returns a file like the one from scripts/3dspeaker/export-onnx.py. The script
// declares no open dimension for the output, but the exporter leaves dimensions open that it cannot
// compute.
func threeDSpeakerFile() file {
	f := wespeakerFile()
	f.opsets = map[string]int64{"": 13}
	f.metadata = map[string]string{
		"framework": "3d-speaker", "language": "Chinese-English", "url": "https://example.com",
		"comment":     "This model is from iic",
		"sample_rate": "16000", "output_dim": "192", "normalize_samples": "1",
		"feature_normalize_type": "global-mean",
	}
	f.inputs = []port{{"x", 1, []any{"N", "T", 80}}}
	f.outputs = []port{{"embedding", 1, []any{
		"BatchNormalizationembedding_dim_0",
		"BatchNormalizationembedding_dim_1",
	}}}
	f.nodes = []node{{
		op: "BatchNormalization", inputs: []string{"x", "w"},
		outputs: []string{"embedding"},
	}}
	f.tensors = []tensor{{name: "w", element: 1, dims: []int64{192}, raw: 768}}
	return f
}

// titanetFile returns a file like titanet_large from
// scripts/nemo/speaker-verification/export-onnx.py.
func titanetFile() file {
	return file{
		ir: 8, opsets: map[string]int64{"": 16},
		metadata: map[string]string{
			"framework": "nemo", "language": "English", "url": "https://example.com",
			"comment":     "This model is from NeMo.",
			"sample_rate": "16000", "output_dim": "192", "feature_normalize_type": "per_feature",
			"window_size_ms":   "25",
			"window_stride_ms": "10", "window_type": "hann", "feat_dim": "80",
		},
		inputs: []port{{"audio_signal", 1, []any{
			"audio_signal_dynamic_axes_1", 80,
			"audio_signal_dynamic_axes_2",
		}}, {"length", 7, []any{"length_dynamic_axes_1"}}},
		outputs: []port{
			{"logits", 1, []any{"logits_dynamic_axes_1", 16681}},
			{"embs", 1, []any{"embs_dynamic_axes_1", 192}},
		},
		nodes: []node{{
			op: "Split", inputs: []string{"audio_signal", "length"},
			outputs: []string{"logits", "embs"},
		}},
	}
}

// changed returns a copy of f to which change was applied. f itself stays as it is.
func changed(f file, change func(*file)) file {
	f.metadata = maps.Clone(f.metadata)
	f.inputs, f.outputs = slices.Clone(f.inputs), slices.Clone(f.outputs)
	f.nodes, f.tensors = slices.Clone(f.nodes), slices.Clone(f.tensors)
	change(&f)
	return f
}

func set(key, value string) func(*file) { return func(f *file) { f.metadata[key] = value } }
func without(key string) func(*file)    { return func(f *file) { delete(f.metadata, key) } }
