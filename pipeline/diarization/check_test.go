package diarization

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramsoak/fixtures"
)

// saved writes content to a file and returns its path.
func saved(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheckAcceptsTheExportScriptsFiles(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind Kind
		file file
	}{
		{"pyannote segmentation-3.0", Segmentation, pyannoteFile()},
		{"the same quantized to int8", Segmentation, changed(pyannoteFile(), func(f *file) {
			f.opsets = map[string]int64{"": 13, "com.microsoft": 1, "ai.onnx.ml": 3}
		})},
		{"the same after onnxruntime.quantization.preprocess", Segmentation, changed(pyannoteFile(),
			func(f *file) {
				f.inputs = []port{{"x", 1, []any{1, 1, "T"}}}
				f.outputs = []port{{
					"y", 1,
					[]any{1, "floor(floor(floor(floor(T/10 - 251/10)/3 - 2/3)/3)/3 - 8/3) + 1", 7},
				}}
			})},
		{"the same of fixed length", Segmentation, changed(pyannoteFile(), func(f *file) {
			f.inputs = []port{{"x", 1, []any{1, 1, 160000}}}
			// The export script asserts that the model has 589 frames.
			f.outputs = []port{{"y", 1, []any{1, 589, 7}}}
		})},
		{"one class a speaker", Segmentation, changed(pyannoteFile(), func(f *file) {
			f.metadata["powerset_max_classes"], f.metadata["num_classes"] = "1", "4"
			f.outputs = []port{{"y", 1, nil}}
			f.tensors[0].dims, f.tensors[0].raw = []int64{4, 1}, 16
		})},
		{"WeSpeaker", Embedding, wespeakerFile()},
		{"WeSpeaker, weights listed as inputs", Embedding, changed(wespeakerFile(), func(f *file) {
			f.ir = 3
			f.inputs = append(f.inputs, port{"w", 1, []any{256, 4}})
		})},
		{"3D-Speaker", Embedding, threeDSpeakerFile()},
		{"NeMo TitaNet", Embedding, titanetFile()},
		{"values in a field of their own", Embedding, changed(titanetFile(), func(f *file) {
			f.tensors = []tensor{{name: "shape", element: 7, dims: []int64{3}, raw: -1, data: 3}}
		})},
	} {
		if err := Check(saved(t, tt.file.encode()), tt.kind); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	dir := t.TempDir()
	if err := fixtures.WriteDiarizationModels(dir, fixtures.DiarizationSpec{
		Seed:          2,
		EmbeddingSize: 1 << 20,
	}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Check(filepath.Join(dir, fixtures.SegmentationName), Segmentation),
		Check(filepath.Join(dir, fixtures.EmbeddingName), Embedding)); err != nil {
		t.Error(err)
	}
}

// TestCheckTakesTheLastOfAKey: if a script adds metadata twice, the file has every key twice. The
// last value counts.
func TestCheckTakesTheLastOfAKey(t *testing.T) {
	entry := func(value string) bytes {
		return bytes{}.sub(14, bytes{}.text(1, "output_dim").text(2, value))
	}
	if err := Check(saved(t, append(append(entry("7"), wespeakerFile().encode()...),
		entry("256")...)), Embedding); err != nil {
		t.Error(err)
	}
	if err := Check(saved(t, append(wespeakerFile().encode(), entry("7")...)),
		Embedding); err == nil {
		t.Error("the last output_dim is wrong: expected an error")
	}
}

func TestCheckRefuses(t *testing.T) {
	type change = func(*file)
	for _, tt := range []struct {
		name   string
		kind   Kind
		file   file
		change change
		want   string
	}{
		{"IR 10", Segmentation, pyannoteFile(), func(f *file) {
			f.ir = 10
		}, "IR version: expected at most 9, which ONNX Runtime 1.17.1 knows, found 10"},
		{"no IR", Segmentation, pyannoteFile(), func(f *file) {
			f.ir = 0
		}, "IR version: expected 3 or more, found 0"},
		{"opset 21", Embedding, wespeakerFile(), func(f *file) {
			f.opsets = map[string]int64{"": 21}
		}, "opset: expected at most 20, which ONNX Runtime 1.17.1 knows, found 21"},
		{"opset 21 by its long name", Embedding, wespeakerFile(), func(f *file) {
			f.opsets = map[string]int64{"ai.onnx": 21}
		}, "found 21"},
		{"no opset", Embedding, wespeakerFile(), func(f *file) {
			f.opsets = nil
		}, "opset: expected 7 or more of the standard operators, found 0"},
		{"no graph", Embedding, wespeakerFile(), func(f *file) {
			f.noGraph = true
		}, "graph: expected one, found none"},
		{
			"no framework", Embedding, wespeakerFile(), without("framework"),
			"metadata framework: expected a value of wespeaker, 3d-speaker, nemo, found none",
		},
		{
			"another framework", Embedding, wespeakerFile(), set("framework", "speechbrain"),
			`metadata framework: expected one of wespeaker, 3d-speaker, nemo, found "speechbrain"`,
		},
		{
			"no language", Embedding, wespeakerFile(), without("language"),
			"metadata language: expected a value, found none",
		},
		{
			"no output_dim", Embedding, wespeakerFile(), without("output_dim"),
			"metadata output_dim: expected a number, found none",
		},
		{
			"a wrong output_dim", Embedding, wespeakerFile(), set("output_dim", "512"),
			`output "embs": expected the shape [*, 512], found [*, 256]`,
		},
		{
			"an output_dim of 0", Embedding, wespeakerFile(), set("output_dim", "0"),
			"metadata output_dim: expected 1 to 65536, found 0",
		},
		{
			"no normalize_samples", Embedding, wespeakerFile(), without("normalize_samples"),
			"metadata normalize_samples: expected a number, found none",
		},
		{
			"no sample_rate", Embedding, wespeakerFile(), without("sample_rate"),
			"metadata sample_rate: expected a number, found none",
		},
		{
			"another normalization", Embedding, threeDSpeakerFile(), set("feature_normalize_type",
				"per_feature"),
			`metadata feature_normalize_type: expected one of global-mean, found "per_feature"`,
		},
		{"40 bands", Embedding, wespeakerFile(), func(f *file) {
			f.inputs[0].dims = []any{"B", "T", 40}
		}, `input "feats": expected the shape [1, *, 80], found [*, *, 40]`},
		{"features of 64 bits", Embedding, wespeakerFile(), func(f *file) {
			f.inputs[0].element = 11
		}, `input "feats": expected elements of type float, found 11`},
		{"a second input", Embedding, wespeakerFile(), func(f *file) {
			f.inputs = append(f.inputs, port{"more", 1, nil})
		}, "inputs: expected 1, the features, found 2"},
		{"no output", Embedding, wespeakerFile(), func(f *file) {
			f.outputs = nil
		}, "outputs: expected the embedding, found none"},
		{"a wrong output_dim, not visible in a shape", Embedding, wespeakerFile(), func(f *file) {
			f.outputs[0].dims = []any{"B", "D"}
			f.metadata["output_dim"] = "192"
		}, `output "embs": expected a last dimension of 192, as the metadata has it, found weights that make it 256`},
		{"the same behind a sum", Embedding, wespeakerFile(), func(f *file) {
			f.outputs[0].dims = nil
			f.metadata["output_dim"] = "192"
			f.nodes = []node{
				{op: "MatMul", inputs: []string{"feats", "w"}, outputs: []string{"a"}},
				{op: "Add", inputs: []string{"a", "one"}, outputs: []string{"embs"}},
			}
			f.tensors = []tensor{
				{name: "w", element: 1, dims: []int64{4, 256}, raw: 4096},
				{name: "one", element: 1, raw: 4},
			}
		}, "found weights that make it 256"},
		{"a node without its input", Embedding, wespeakerFile(), func(f *file) {
			f.nodes[0].inputs[0] = "features"
		}, `graph: expected a node, a weight or an input that gives "features", found none`},
		{"an output that no node produces", Embedding, wespeakerFile(), func(f *file) {
			f.outputs[0].name = "other"
		}, `gives "other", found none`},
		{"weights cut off", Embedding, wespeakerFile(), func(f *file) {
			f.tensors[0].raw = 4000
		}, `tensor "w": expected 4096 bytes for the shape [256 4], found 4000`},
		{"weights without values", Embedding, wespeakerFile(), func(f *file) {
			f.tensors[0].raw = -1
		}, `tensor "w": expected 1024 values for the shape [256 4], found 0`},
		{"weights of an immense shape", Embedding, wespeakerFile(), func(f *file) {
			f.tensors[0].dims = []int64{1 << 62, 1 << 62}
		}, `tensor "w": expected a shape that fits into memory`},
		{"weights of a negative shape", Embedding, wespeakerFile(), func(f *file) {
			f.tensors[0].dims = []int64{-4}
		}, `tensor "w": expected a shape that fits into memory`},
		{"weights without a type", Embedding, wespeakerFile(), func(f *file) {
			f.tensors[0].element = 99
		}, `tensor "w": expected an element type of onnx.proto other than complex, found 99`},
		{"weights in another file", Embedding, wespeakerFile(), func(f *file) {
			f.tensors[0].location = 1
		}, `tensor "w": expected its values in the file, found a reference to another file`},

		{
			"NeMo without feat_dim", Embedding, titanetFile(), without("feat_dim"),
			"metadata feat_dim: expected a number, found none",
		},
		{
			"NeMo of other features", Embedding, titanetFile(), set("feat_dim", "64"),
			`input "audio_signal": expected the shape [1, 64, *], found [*, 80, *]`,
		},
		{
			"NeMo with an unknown window", Embedding, titanetFile(), set("window_type", "kaiser"),
			`metadata window_type: expected one of hann, hanning`,
		},
		{
			"NeMo with an unknown normalization", Embedding, titanetFile(),
			set("feature_normalize_type", "all_features"),
			`expected one of per_feature, found "all_features"`,
		},
		{"NeMo without a length", Embedding, titanetFile(), func(f *file) {
			f.inputs = f.inputs[:1]
		}, "inputs: expected 2, the features and their number of frames, found 1"},
		{"NeMo with the embedding alone", Embedding, titanetFile(), func(f *file) {
			f.outputs = f.outputs[1:]
		}, "outputs: expected 2, the classes and the embedding, found 1"},
		{
			"NeMo with windows of 0 ms", Embedding, titanetFile(), set("window_size_ms", "0"),
			"metadata window_size_ms: expected 1 to 1000, found 0",
		},
		{
			"NeMo with a wrong output_dim", Embedding, titanetFile(), set("output_dim", "16681"),
			`output "embs": expected the shape [*, 16681], found [*, 192]`,
		},

		{
			"inconsistent classes", Segmentation, pyannoteFile(), set("num_classes", "8"),
			"metadata num_classes: expected 7 (1 + 3 speakers + 3 pairs of them), found 8",
		},
		{
			"consistent classes that the output does not have", Segmentation, pyannoteFile(),
			func(f *file) {
				f.metadata["num_speakers"], f.metadata["num_classes"] = "4", "11"
			}, `output "y": expected the shape [1, *, 11], found [*, *, 7]`,
		},
		{"the same, not visible in a shape", Segmentation, pyannoteFile(), func(f *file) {
			f.metadata["num_speakers"], f.metadata["num_classes"] = "4", "11"
			f.outputs[0].dims = nil
		}, `output "y": expected a last dimension of 11, as the metadata has it, found weights that make it 7`},
		{
			"triples", Segmentation, pyannoteFile(), set("powerset_max_classes", "3"),
			"metadata powerset_max_classes: expected 1 to 2, found 3",
		},
		{
			"8 kHz", Segmentation, pyannoteFile(), set("sample_rate", "8000"),
			"metadata sample_rate: expected 16000, found 8000",
		},
		{
			"a window that is divided by as 0", Segmentation, pyannoteFile(),
			set("window_size", "9"),
			"metadata window_size: expected 1600 to 960000, found 9",
		},
		{
			"a shift of 0", Segmentation, pyannoteFile(), set("receptive_field_shift", "0"),
			"metadata receptive_field_shift: expected 1 to 960000, found 0",
		},
		{
			"a number with a unit", Segmentation, pyannoteFile(), set("window_size", "10s"),
			`metadata window_size: expected a whole number, found "10s"`,
		},
		{
			"a receptive field beyond the window", Segmentation, pyannoteFile(),
			set("receptive_field_size", "160001"),
			"metadata receptive_field_size: expected at most the window of 160000 samples, found 160001",
		},
		{
			"frames with gaps", Segmentation, pyannoteFile(), set("receptive_field_shift", "992"),
			"metadata receptive_field_shift: expected at most the receptive field of 991 " +
				"samples, found 992",
		},
		{"more frames than there is room for", Segmentation, pyannoteFile(), func(f *file) {
			f.outputs[0].dims = []any{1, 5890, 7}
		}, `output "y": expected at most 592 frames of a window, found 5890`},
		{"a window of another size", Segmentation, pyannoteFile(), func(f *file) {
			f.inputs[0].dims = []any{1, 1, 80000}
		}, `input "x": expected the shape [1, 1, 160000], found [1, 1, 80000]`},
		{"stereo", Segmentation, pyannoteFile(), func(f *file) {
			f.inputs[0].dims = []any{"N", 2, "T"}
		}, `input "x": expected the shape [1, 1, 160000], found [*, 2, *]`},
		{
			"an embedding model", Segmentation, wespeakerFile(), func(*file) {},
			"metadata num_classes: expected a number, found none",
		},
		{
			"a segmentation model", Embedding, pyannoteFile(), func(*file) {},
			"metadata framework: expected a value",
		},
	} {
		path := saved(t, changed(tt.file, tt.change).encode())
		err := Check(path, tt.kind)
		switch {
		case err == nil:
			t.Errorf("%s: expected an error, found none", tt.name)
		case !strings.Contains(err.Error(), tt.want):
			t.Errorf("%s:\nexpected %s\nfound    %v", tt.name, tt.want, err)
		case !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(),
			"github.com/k2-fsa/sherpa-onnx"):
			t.Errorf("%s: expected the file and what to do, found %v", tt.name, err)
		}
	}
	for _, key := range []string{
		"sample_rate", "window_size", "receptive_field_size",
		"receptive_field_shift", "num_speakers", "powerset_max_classes", "num_classes",
	} {
		err := Check(saved(t, changed(pyannoteFile(), without(key)).encode()), Segmentation)
		if want := "metadata " + key + ": expected a number, found none"; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("expected %s, found %v", want, err)
		}
	}
}

func TestCheckRefusesOtherFiles(t *testing.T) {
	whole := pyannoteFile().encode()
	for name, content := range map[string][]byte{
		"empty": nil,
		"text": []byte("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize " +
			"5905440\n"),
		"zeros":     make([]byte, 4096),
		"html":      []byte("<!DOCTYPE html><html>Access denied</html>"),
		"a group":   {0x0b, 0x0c},
		"a varint":  {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"a length":  {0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"cut by 1":  whole[:len(whole)-1],
		"cut early": whole[:100],
	} {
		err := Check(saved(t, content), Segmentation)
		if err == nil || !strings.Contains(err.Error(), "expected") ||
			!strings.Contains(err.Error(), "export") {
			t.Errorf("%s: found %v", name, err)
		}
		if (err != nil && strings.Contains(err.Error(), "is empty")) != (len(content) == 0) {
			t.Errorf("%s: found %v", name, err)
		}
	}
	for n := range whole { // cut off at every byte
		if _, err := judge(strings.NewReader(string(whole[:n])), int64(n), Segmentation); err == nil {
			t.Errorf("the first %d of %d bytes pass as a model", n, len(whole))
		}
	}
	missing := filepath.Join(t.TempDir(), "none.onnx")
	if err := Check(missing, Embedding); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: found %v", err)
	}
	if err := Check(t.TempDir(), Embedding); err == nil || !strings.Contains(err.Error(),
		"expected an ONNX model, found no regular file") {
		t.Errorf("folder: found %v", err)
	}
}

// FuzzCheck: Check accepts or refuses arbitrary bytes without a panic, and the properties of an
// accepted file are in range.
func FuzzCheck(f *testing.F) {
	for _, seed := range []file{
		pyannoteFile(), wespeakerFile(), threeDSpeakerFile(),
		titanetFile(),
	} {
		f.Add([]byte(seed.encode()))
	}
	f.Add([]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, content []byte) {
		file, size := strings.NewReader(string(content)), int64(len(content))
		if p, err := judge(file, size, Segmentation); err == nil &&
			(p.window < 1600 || p.frame < 1 || p.speakers < 1) {
			t.Errorf("passes with %+v", p)
		}
		if p, err := judge(file, size, Embedding); err == nil && p.dim < 1 {
			t.Errorf("passes with %+v", p)
		}
	})
}
