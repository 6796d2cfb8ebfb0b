package diarization

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/fixtures"
	"vramsoak/pipeline/onnx"
)

// printLibrary is an environment variable. If it is set, the test program prints the file from
// which ONNX Runtime was loaded, and ends.
const printLibrary = "VRAMSOAK_TEST_PRINT_LIBRARY"

// install runs ci/sherpa.sh, which puts the libraries into a folder. It returns what the script
// prints.
func install(t *testing.T, dir, prefix string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "../../ci/sherpa.sh", dir)
	cmd.Env = append(os.Environ(), "SHERPA_PREFIX="+prefix)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// TestLibrariesBesideTheProgram: a program that was moved loads the libraries from the folder lib
// beside it, and not from the folder on the machine that built it.
func TestLibrariesBesideTheProgram(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, content, 0o777); err != nil {
		t.Fatal(err)
	}
	where := func() string {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = append(os.Environ(), printLibrary+"=1")
		text, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := where(); strings.HasPrefix(got, dir) || !strings.HasSuffix(got, "libonnxruntime.so") {
		t.Errorf("without lib next to it: loaded %s", got)
	}
	lib := filepath.Join(dir, "lib")
	if text, err := install(t, lib, ""); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if got, want := where(), filepath.Join(lib, "libonnxruntime.so"); got != want {
		t.Errorf("with lib next to it: loaded %s, want %s", got, want)
	}
}

func TestLibrariesOfTheUser(t *testing.T) {
	lib, prefix := filepath.Join(t.TempDir(), "new", "lib"), t.TempDir()
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(prefix, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	found := func() map[string]string {
		t.Helper()
		entries, err := os.ReadDir(lib)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, e := range entries {
			content, err := os.ReadFile(filepath.Join(lib, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[e.Name()] = string(content)
		}
		return files
	}
	write("lib/libsherpa-onnx-c-api.so", "sherpa")
	if text, err := install(t, lib, prefix); err == nil || !strings.Contains(text,
		"found no libonnxruntime.so there") {
		t.Errorf("half a build: found %v: %s", err, text)
	}
	write("lib/libonnxruntime.so.1", "gpu runtime")
	if err := os.Symlink("libonnxruntime.so.1", filepath.Join(prefix,
		"lib/libonnxruntime.so")); err != nil {
		t.Fatal(err)
	}
	write("lib/libonnxruntime_providers_cuda.so", "kernels")
	if text, err := install(t, lib, prefix); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	want := map[string]string{
		"libsherpa-onnx-c-api.so": "sherpa", "libonnxruntime.so": "gpu runtime",
		"libonnxruntime.so.1":              "gpu runtime",
		"libonnxruntime_providers_cuda.so": "kernels",
	}
	if diff := cmp.Diff(want, found()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// The script does not write files again that did not change.
	before, err := os.Stat(filepath.Join(lib, "libonnxruntime.so"))
	if err != nil {
		t.Fatal(err)
	}
	write("lib/libsherpa-onnx-c-api.so", "newer sherpa")
	if text, err := install(t, lib, prefix); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	after, err := os.Stat(filepath.Join(lib, "libonnxruntime.so"))
	if err != nil || !os.SameFile(before, after) ||
		found()["libsherpa-onnx-c-api.so"] != "newer sherpa" {
		t.Errorf("an update: found %v, %v", found(), err)
	}
	// With the module's libraries again, the CUDA library of the other build must be gone.
	if text, err := install(t, lib, ""); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if files := found(); len(files) != 2 || len(files["libonnxruntime.so"]) < 1<<20 {
		t.Errorf("back to the module's libraries: found %d files", len(files))
	}
	if text, err := install(t, lib, filepath.Join(prefix, "none")); err == nil ||
		!strings.Contains(text, "expected SHERPA_PREFIX to be a folder") {
		t.Errorf("no folder: found %v: %s", err, text)
	}
}

// TestOpenRefusesWhatTheRuntimeDoesNotLoad: if only ONNX Runtime can detect a fault in a model,
// Open returns an error too, and the process does not end.
func TestOpenRefusesWhatTheRuntimeDoesNotLoad(t *testing.T) {
	for name, change := range map[string]func(*file){
		"an unknown operator":   func(f *file) { f.nodes[0].op = "Gem" },
		"inputs that don't fit": func(f *file) { f.nodes[0].inputs = f.nodes[0].inputs[:1] },
	} {
		path := saved(t, changed(wespeakerFile(), change).encode())
		if err := Check(path, Embedding); err != nil {
			t.Errorf("%s: the check of the file already refuses it: %v", name, err)
		}
		c := config()
		c.Embedding = path
		_, err := Open(c)
		_, alone := OpenEmbedder(c.Embedder())
		for _, err := range []error{err, alone} {
			if err == nil || !strings.Contains(err.Error(),
				path+": expected a model that ONNX Runtime "+onnx.Version()+
					" runs, found what it does not: ") {
				t.Errorf("%s: found %v", name, err)
			}
		}
	}
}

// TestTrySaysThatMemoryRanOut: if a model needs more memory than there is, the error says that
// memory ran out, and not that the model is bad. This model requests 2^48 bytes, more than any
// process can address.
func TestTrySaysThatMemoryRanOut(t *testing.T) {
	const n = 1 << 23
	step := func(op string, ports ...string) node {
		last := len(ports) - 1
		return node{op: op, inputs: ports[:last], outputs: ports[last:]}
	}
	path := saved(t, changed(titanetFile(), func(f *file) {
		f.metadata["output_dim"] = "80"
		f.outputs = []port{{"logits", 1, []any{"a", "b"}}, {"embs", 1, []any{"c", "d"}}}
		f.tensors = []tensor{
			{name: "v", element: 1, dims: []int64{n, 1}, raw: 4 * n},
			{name: "w", element: 1, dims: []int64{1, n}, raw: 4 * n},
		}
		f.nodes = []node{step("GlobalAveragePool", "audio_signal", "m"), step("Flatten", "m",
			"embs"), step("Add", "v", "w", "logits")}
	}).encode())
	if err := Try(path, Embedding); !errors.Is(err, onnx.ErrOutOfMemory) {
		t.Errorf("found %v", err)
	}
}

// TestOpenRefusesWrongMetadata: if a file leaves dimensions open and its metadata give wrong ones,
// sherpa-onnx would write beyond its arrays. Open refuses such a file.
func TestOpenRefusesWrongMetadata(t *testing.T) {
	content, err := os.ReadFile(config().Segmentation)
	if err != nil {
		t.Fatal(err)
	}
	// According to the metadata, a window has 160000 / 670 = 238 frames, but the model returns 589.
	c := config()
	c.Segmentation = saved(t, []byte(strings.Replace(string(content),
		"receptive_field_shift\x12\x03270", "receptive_field_shift\x12\x03670", 1)))
	_, err = Open(c)
	if want := "expected at most 238 frames of a window, found 589"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("expected %s, found %v", want, err)
	}
	// This model returns a mean for each frame: 208 in the trial run.
	c = config()
	c.Embedding = saved(t, changed(wespeakerFile(), func(f *file) {
		f.outputs[0].dims = []any{"B", "D"}
		f.nodes = []node{{
			op: "GlobalAveragePool", inputs: []string{"feats"},
			outputs: []string{"mean"},
		}, {
			op: "Flatten", inputs: []string{"mean"},
			outputs: []string{"embs"},
		}}
	}).encode())
	_, err = Open(c)
	if want := "expected the shape [1, 256], found [1, 208]"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("expected %s, found %v", want, err)
	}
}

// TestNeMo: NeMo's models have other features as input, a second input, and the embedding as second
// output. The model of this test computes a mean over time.
func TestNeMo(t *testing.T) {
	step := func(op, from, to string) node {
		return node{op: op, inputs: []string{from}, outputs: []string{to}}
	}
	c := config()
	c.Embedding = saved(t, changed(titanetFile(), func(f *file) {
		f.metadata["output_dim"] = "80"
		f.outputs = []port{{"logits", 1, []any{"a", 80}}, {"embs", 1, []any{"b", "c"}}}
		f.nodes = []node{step("GlobalAveragePool", "audio_signal", "a"), step("Flatten", "a",
			"embs"), step("Relu", "embs", "logits")}
	}).encode())
	e, err := OpenEmbedder(c.Embedder())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, files := batch(t, fixtures.AudioSpec{Count: 1, MinSeconds: 12, MaxSeconds: 12, Seed: 1})
	if v, err := e.Embed(files[0]); err != nil || len(v) != 80 {
		t.Errorf("found %v, %v", v, err)
	}
	if turns, err := open(t, c).Diarize(files[0]); err != nil || len(turns) == 0 {
		t.Errorf("found %v, %v", turns, err)
	}
}
