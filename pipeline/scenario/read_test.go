package scenario_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/strictyaml"
	"vramsoak/pipeline/scenario"
)

// documented returns the example of a scenario file in the documentation of the package.
func documented(t testing.TB) string {
	t.Helper()
	src, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(src), "// A complete file:\n//\n")
	if !found {
		t.Fatal("doc.go has no example")
	}
	block, _, _ := strings.Cut(after, "//\n")
	return strings.ReplaceAll(block, "//\t", "")
}

func mustRead(t testing.TB, src string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Read([]byte(src), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReadDocumentedExample(t *testing.T) {
	s := mustRead(t, documented(t))
	if lint := s.Lint(); len(lint) > 0 {
		t.Errorf("the linter finds in the example: %v", lint)
	}
	if s.GPU.Card != "RTX 5080" || s.GPU.Occupied != 300<<20 || s.GPU.Total != 15840<<20 {
		t.Errorf("gpu: got %+v", s.GPU)
	}
	want := []scenario.Model{
		{ID: "asr", Model: "whisper-large-v3", DType: "float16", Beams: 5, Tokens: 200},
		{ID: "own", DType: "float16", Weights: 600 << 20, Resident: true, Beams: 1},
	}
	sameText := cmp.Comparer(func(a, b scenario.Expr) bool { return a.String() == b.String() })
	if diff := cmp.Diff(want, s.Models, sameText); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	st := s.Stage("Transcription")
	v := scenario.Vars{Seconds: 61, Batch: 8, File: 1}
	for _, c := range []struct {
		name string
		expr scenario.Expr
		want float64
	}{
		{"items", st.Items, 3},
		{"batch", st.Batch, 8},
		{"item_seconds", st.ItemSeconds, 30},
		{"seconds", st.Seconds, 61.0 / 60},
	} {
		if got, err := c.expr.Eval(v); err != nil || got != c.want {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	for i, want := range []int64{61 * 16000 * 4, 8 * 448 * 8} {
		if got, err := st.Tensors[i].Bytes(v); err != nil || got != want {
			t.Errorf("tensor %d: got %d, %v, want %d", i, got, err, want)
		}
	}
	if diff := cmp.Diff([]scenario.Fault{{Keep: "asr", Share: 0.1, FromFile: 150}},
		s.Faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// TestReadStreams: a tensor that names no stream is on the stream of its stage.
func TestReadStreams(t *testing.T) {
	s, err := scenario.Read([]byte(`gpu: 8GiB
stages:
  - name: Enrollment
    tensors: [{name: a, size: 1MiB}, {name: b, size: 1MiB, stream: 0}, {name: c, size: 1MiB, stream: 1}]
    stream: 2
`), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	st := s.Stages[0]
	if got, want := []int{
		st.Stream, st.Tensors[0].Stream, st.Tensors[1].Stream,
		st.Tensors[2].Stream,
	}, []int{2, 2, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("streams of the stage and its tensors: got %v, want %v", got, want)
	}
}

// TestReadMistakes: one run reports every mistake with its line and column.
func TestReadMistakes(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"sixteen", `name: sixteen mistakes
gpu: {card: RTX 5008}
env:
  PYTORCH_CUDA_ALLOC_CONF: "max_split_size_mb:20,expandable_segments:true,garbage_colection_threshold:0.8"
memory_fraction: 150%
models:
  - {id: asr, model: whisper-larg-v3}
  - {id: asr, weights: 300}
stages:
  - name: Transcription
    models: [asr, vad]
    items: ceil(second / 30)
    batch: 0
    tensors:
      - {name: mel, size: 4, each: pass, untill: file}
    cleanups:
      - {name: Whisper, frees: [asr, waveform]}
clear: {every: 5, before: [Transcripton]}
restart_every: -1
`, `p.yaml:2:13: expected a card such as RTX 5080, or a size such as 16GiB, found "RTX 5008"; did you mean RTX 5080?
p.yaml:4:47: expected a whole number of MiB above 20, found "20"; PyTorch stops at its first allocation: CachingAllocator option max_split_size_mb too small, must be > 20
p.yaml:4:70: expected True or False, with a capital letter, found "true"; PyTorch stops at its first allocation: Expected a single True/False argument for expandable_segments
p.yaml:4:75: expected garbage_collection_threshold, found "garbage_colection_threshold:0.8"; PyTorch stops at its first allocation: Unrecognized CachingAllocator option: garbage_colection_threshold
p.yaml:5:18: expected a share such as 95% or 0.95, above 0 and up to 1, found "150%"
p.yaml:7:22: expected a model that is known, found "whisper-larg-v3"; did you mean whisper-large-v3, whisper-large-v1, whisper-large-v2? For another one give weights: its size
p.yaml:8:10: expected an id that no other model has, found "asr"; give each its own id
p.yaml:8:24: expected a size with its unit, found "300"; write 300MiB, or 300B if it is so few bytes
p.yaml:11:19: expected the id of a model, found "vad"; there are asr
p.yaml:12:17: expected a number, a size or an expression (unknown name second, did you mean seconds?), found "ceil(second / 30)"
p.yaml:13:12: expected a batch of 1 or more, found "0"
p.yaml:15:27: expected a size with its unit, found "4"; write 4MiB, or 4B if it is so few bytes
p.yaml:15:42: expected one of the keys count, dtype, each, kept, name, pin_memory, prefetch, shape, size, stream, until, workers (did you mean "until"?), found "untill"
p.yaml:17:38: expected what this stage or one before it loads or allocates, found "waveform"; there are asr, mel, vad
p.yaml:18:28: expected the name of a stage (did you mean "Transcription"?), found "Transcripton"; there are Transcription
p.yaml:19:16: expected a whole number of 0 or more, found "-1"`},
		{"kinds", `gpu: {total: 16, context: 20GiB}
files: {count: 0, seconds: 600-60}
models: [{id: a}, {weights: 1GiB, model: whisper-tiny}, three]
stages:
  - {name: A, once: maybe, on_oom: retry, batch: "items * ", seconds: soon}
  - {name: A, tensors: [{size: 1MiB}, {name: t}, {name: u, size: 1MiB, until: pass}, {name: u, shape: [0]}]}
  - {batch: 2}
faults: [{keep: a, crash: 3}, {leak: many}, {keep: z}]
name: again
name: twice
`, `p.yaml:1:14: expected a size with its unit, found "16"; write 16MiB, or 16B if it is so few bytes
p.yaml:2:16: expected a whole number of 1 or more, found "0"
p.yaml:2:28: expected the length of a file such as 300, or from-to such as 60-600 (seconds) or 1m-10m, found "600-60"
p.yaml:3:10: expected either a model (its name) or weights (its size), found "{id: a}"
p.yaml:3:19: expected either a model (its name) or weights (its size), found "{weights: 1GiB, model: whisper-tiny}"
p.yaml:3:57: expected key: value, found "three"
p.yaml:5:21: expected true or false, found "maybe"
p.yaml:5:36: expected one of fail, halve, skip, found "retry"
p.yaml:5:57: expected a number, a size or an expression (unexpected token EOF), found "items *"
p.yaml:5:71: expected a number, a size or an expression (unknown name soon; known are KiB, MiB, GiB, random, seconds, items, batch, pass, item_seconds, index, file, files, total, free, ceil, floor, round, min, max, abs), found "soon"
p.yaml:6:12: expected a name that no other stage has, found "A"; give each its own name
p.yaml:6:25: expected a name for the tensor, found "{size: 1MiB}"
p.yaml:6:39: expected either a size or a shape, found "{name: t}"
p.yaml:6:79: expected until: stage, file, next or run for what is allocated once a stage, found "pass"; or add each: pass
p.yaml:6:93: expected a name that no other tensor of the stage has, found "u"; give each its own name
p.yaml:6:104: expected a dimension above 0, found "0"
p.yaml:7:5: expected a name for the stage, found "{batch: 2}"; add name: "Transcription"
p.yaml:8:10: expected one of keep, graph, leak and crash, found "{keep: a, crash: 3}"
p.yaml:8:38: expected a size such as 512MiB, found "many"
p.yaml:8:52: expected the id of a model or the name of a tensor that stays, found "z"; there are t, u
p.yaml:10:1: expected each key once, found "name"; delete one of the two`},
		{
			"empty", "",
			`p.yaml:1:1: expected a scenario: at least stages:, found an empty file; docs/reference/pipeline-file.md has an example`,
		},
		{
			"comments", "# nothing\n---\n",
			`p.yaml:1:1: expected a scenario: at least stages:, found an empty file; docs/reference/pipeline-file.md has an example`,
		},
		{
			"no stages", "name: x\n",
			`p.yaml:1:1: expected stages: with at least one stage, found none; docs/reference/pipeline-file.md has an example`,
		},
		{
			"names with colons",
			"models: [{id: a, model: 'whisper: large', dtype: 'fp: 16'}]\nstages: [{name: A}]\n",
			`p.yaml:1:25: expected a model that is known, found "whisper: large"; did you mean whisper-base, whisper-base.en, whisper-large-v1, whisper-large-v2, whisper-large-v3, whisper-large-v3-turbo? For another one give weights: its size
p.yaml:1:50: expected the type of the weights, found "fp: 16"; use float32, float16, bfloat16, int8 or autocast (float32 weights, float16 arithmetic)`,
		},
		{"a list", "- name: x\n", `p.yaml:1:1: expected key: value, found "- name: x"`},
		{
			"tabs", "stages:\n\t- name: x\n",
			`p.yaml:2:1: expected YAML, found "found character '\t' that cannot start any token"; indent with spaces, not with tabs`,
		},
		{
			"two documents", "stages: [{name: A}]\n---\nstages: [{name: B}]\n",
			`p.yaml:3:1: expected one document, found "stages: [{name: B}]"; put the second one in a file of its own`,
		},
		{
			"not UTF-8", "stages: [{name: A}]\nname: \xff\n",
			`p.yaml:2:7: expected UTF-8, found other bytes; save the file as UTF-8`,
		},
		{
			"deep", "stages: " + strings.Repeat("[", 1e4),
			`p.yaml:1:73: expected at most 64 brackets within each other, found more`,
		},
		{
			"large", strings.Repeat("#", 300<<10),
			`p.yaml:1:1: expected a file of at most 64.0 KiB, found 300 KiB; is this the right file?`,
		},
		{
			"a byte order mark and carriage returns",
			"\ufeffname: x\r\nstages:\r\n  - name: A\r\n    batch: 0\r\n",
			`p.yaml:4:12: expected a batch of 1 or more, found "0"`,
		},
		{
			"alias of itself", "x-a: &a {<<: *a, name: A}\nstages: [*a]\n",
			`p.yaml:1:14: expected a merge of something else than itself, found "*a"`,
		},
		{
			"no anchor", "x-a: &base {name: A}\nstages: [*bsae]\n",
			`p.yaml:2:10: expected the name of an anchor before it (did you mean "base"?), found "*bsae"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := scenario.Read([]byte(c.src), "p.yaml")
			if err == nil {
				t.Fatal("got no error")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReadBomb: Read refuses YAML whose merges double the text at each step, which would fill the
// memory.
func TestReadBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("x-0: &x0 {name: x}\n")
	for i := range 25 {
		from, to := string(rune('a'+i)), string(rune('a'+i+1))
		if i == 0 {
			from = "x0"
		}
		b.WriteString("x-" + to + ": &" + to + " {<<: [*" + from + ", *" + from + ", *" +
			from + "]}\n")
	}
	b.WriteString("stages: [*z]\n")
	_, err := scenario.Read([]byte(b.String()), "p.yaml")
	if err == nil || !strings.Contains(err.Error(), "at most 10000 values") {
		t.Errorf("got the error %v", err)
	}
}

func TestReadAnchorsAndMerges(t *testing.T) {
	s := mustRead(t, `x-common: &common {on_oom: halve, batch: 4, items: 8}
x-more: &more
  <<: *common
  seconds: 2s
stages:
  - <<: [*more, {batch: 7}]
    name: A
    items: &items ceil(seconds/30)
  - {name: B, <<: *common, batch: 2, items: *items}
`)
	v := scenario.Vars{Seconds: 90}
	for i, want := range [][3]float64{{3, 4, 2}, {3, 2, 0}} {
		st := s.Stages[i]
		items, _ := st.Items.Eval(v)
		batch, _ := st.Batch.Eval(v)
		seconds, _ := st.Seconds.Eval(v)
		if got := [3]float64{items, batch, seconds}; got != want || st.OnOOM != scenario.OOMHalves {
			t.Errorf("stage %s: got %v, %s, want %v, halve", st.Name, got, st.OnOOM, want)
		}
	}
}

// TestClone: changes of a clone do not change the original.
func TestClone(t *testing.T) {
	s := mustRead(t, documented(t))
	want := mustRead(t, documented(t)).Stages[0]
	c := s.Clone()
	c.Env["PYTORCH_CUDA_ALLOC_CONF"] = ""
	c.Models[0].Model = "whisper-tiny"
	c.Clear.Before[0] = ""
	st := c.Stage("Transcription")
	st.Models[0], st.Cleanups[0].Frees[0] = "", ""
	st.Tensors[1].Shape[0] = scenario.Constant(1)
	st.Batch = scenario.Constant(1)
	got := s.Stages[0]
	if s.Env["PYTORCH_CUDA_ALLOC_CONF"] == "" || s.Models[0].Model == "whisper-tiny" ||
		s.Clear.Before[0] == "" ||
		got.Models[0] == "" || got.Cleanups[0].Frees[0] == "" ||
		got.Tensors[1].Shape[0].String() != want.Tensors[1].Shape[0].String() ||
		got.Batch.String() != "8" {
		t.Errorf("the original changed: %+v", s)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(documented(f)))
	f.Add([]byte("x-a: &a {<<: *a}\nstages: [*a]\n"))
	f.Add([]byte("env: {PYTORCH_CUDA_ALLOC_CONF: 'a:[1,2],b'}\nstages: [{name: A, batch: " +
		"'2**items'}]\n"))
	f.Add([]byte("gpu: 16GiB\nfiles: {seconds: 1-2}\nstages:\n- name: |\n    A\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := scenario.Read(src, "p.yaml")
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "p.yaml:") {
					t.Fatalf("%q names no position, in the error %v", line, err)
				}
			}
			return
		}
		for _, m := range s.Clone().Lint() {
			if m.Severity == strictyaml.Error || m.Line < 1 || m.Column < 1 {
				t.Fatalf("%+v", m)
			}
		}
	})
}

// TestEmptyItems: Read refuses a list item without keys.
func TestEmptyItems(t *testing.T) {
	for src, want := range map[string]string{
		"stages: [{}]":                        `p.yaml:1:10: expected a name for the stage, found "{}"`,
		"stages: [{x-a: 1}]":                  `p.yaml:1:10: expected a name for the stage, found "{x-a: 1}"`,
		"stages: [{name: a, tensors: [{}]}]":  `p.yaml:1:30: expected a name for the tensor, found "{}"`,
		"stages: [{name: a, cleanups: [{}]}]": `p.yaml:1:31: expected a name for the cleanup, found "{}"`,
		"{stages: [{name: a}], final: [{}]}":  `p.yaml:1:31: expected a name for the cleanup, found "{}"`,
		"{stages: [{name: a}], models: [{}]}": `p.yaml:1:32: expected either a model (its name) or weights`,
		// Models that have none of the known keys are refused too.
		"{stages: [{name: a}], models: [{i: x}]}": `p.yaml:1:33: expected one of the keys`,
	} {
		_, err := scenario.Read([]byte(src), "p.yaml")
		if err == nil || !strings.HasPrefix(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: expected %s, found %v", src, want, err)
		}
	}
}
