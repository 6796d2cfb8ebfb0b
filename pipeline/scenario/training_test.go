package scenario_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
)

// trained is a pipeline file whose parts depend on parameters that are defined below them.
const trained = `
gpu: 16GiB
files: {count: 12, seconds: 60}
models:
  - {id: vit, model: vit-b-16, dtype: autocast, train: true, checkpointing: true,
     train_layers: "file < 5 ? 0 : file < 10 ? 4 : 12"}
stages:
  - name: Training
    models: [vit]
    items: 64
    batch: vit_batch
    accumulate: 4
    tensors: [{name: mel, each: pass, size: batch * n_mels * 4, pin_memory: true, workers: 3}]
parameters:
  vit_batch: 16
  n_mels: {value: 128, try: [96, 64], cost: detail of the spectrograms}
table:
  12/6: {vit_batch: 6}
  all data: {vit_batch: 64, n_mels: 256}
`

func TestParameters(t *testing.T) {
	s := mustRead(t, trained)
	if diff := cmp.Diff([]scenario.Parameter{
		{Name: "vit_batch", Value: 16},
		{Name: "n_mels", Value: 128, Try: []float64{96, 64}, Cost: "detail of the spectrograms"},
	}, s.Parameters); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]scenario.Row{
		{Name: "12/6", Values: map[string]float64{"vit_batch": 6}},
		{Name: "all data", Values: map[string]float64{"vit_batch": 64, "n_mels": 256}},
	}, s.Table); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	bytes := func(s *scenario.Scenario) int64 {
		v := scenario.Vars{Batch: 4, Parameters: s.Values()}
		n, err := s.Stages[0].Tensors[0].Bytes(v)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	other := s.Clone()
	if err := other.Set("n_mels", 64); err != nil {
		t.Fatal(err)
	}
	if got, changed := bytes(s), bytes(other); got != 4*128*4 || changed != 4*64*4 {
		t.Errorf("got %d bytes, and %d with n_mels: 64", got, changed)
	}
	err := other.Set("n_mel", 1)
	if err == nil || !strings.Contains(err.Error(), `did you mean "n_mels"?`) ||
		!strings.Contains(err.Error(), "the file has vit_batch, n_mels") {
		t.Errorf("an unknown parameter: got %v", err)
	}
	if m := s.Lint(); len(m) > 0 {
		t.Errorf("the linter finds %v", m)
	}
}

func TestTrainingKeys(t *testing.T) {
	s := mustRead(t, trained)
	st, m := &s.Stages[0], s.Models[0]
	if got := st.OfPass(18); got != 5 { // the optimizer's batch of 18 in 4 passes: 5, 5, 5, 3
		t.Errorf("a pass takes %d of a batch of 18, want 5", got)
	}
	if got := st.Tensors[0].PinnedBuffers(); got != 1+3*2 {
		t.Errorf("got %d pinned buffers, want 3 workers x 2 prefetched + 1", got)
	}
	of, err := models.Lookup(m.Model)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[int]int{1: 12, 4: 12, 5: 8, 9: 8, 10: 0} {
		if got, err := m.Frozen(of, scenario.Vars{File: file}); err != nil || got != want {
			t.Errorf("epoch %d: %d frozen layers, %v, want %d", file, got, err, want)
		}
	}
	if got := (&scenario.Stage{}).OfPass(7); got != 7 {
		t.Errorf("a stage made in code takes %d of 7", got)
	}
}

func TestTrainingMistakes(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"checkpointing: true", "checkpointing: yes", `expected true or false, found "yes"`},
		{"train: true, ", "", "expected checkpointing beside train: true"},
		{
			"model: vit-b-16", "model: specgan-discriminator",
			"the layers of specgan-discriminator are not known one by one",
		},
		{"accumulate: 4", "accumulate: 0", "expected a whole number of 1 or more"},
		{"items: 64", "items: parameter(0)", "unknown name parameter"},
		{"batch: vit_batch", "batch: vit_batc", "unknown name vit_batc, did you mean vit_batch?"},
		{"vit_batch: 16", "batch: 16", "expected a name such as n_mels"},
		{"vit_batch: 16", "vit-batch: 16", "expected a name such as n_mels"},
		{"vit_batch: 16", "matches: 16", "expected a name such as n_mels"},
		{"vit_batch: 16", "GiB: 16", "expected a name such as n_mels"},
		{"vit_batch: 16", "vit_batch: seconds", "expected a number of 0 or more"},
		{"vit_batch: 16", "vit_batch: -1", "expected a number of 0 or more"},
		{"vit_batch: 16", "vit_batch: 0", "expected a batch of 1 or more"},
		{"vit_batch: 16", "vit_batch: {try: [8]}", "expected a number of 0 or more, or {value: 128"},
		{"{vit_batch: 6}", "{vit_bach: 6}", `a parameter of the file (did you mean "vit_batch"?)`},
		{"pin_memory: true, ", "", "expected pin_memory: true beside workers"},
		{"workers: 3", "workers: 1000000000", "expected at most 1000 batches in pinned memory"},
		{"file < 5 ? 0", "batch < 5 ? 0", "expected a number of layers by file"},
		{"file < 5 ? 0", "file < 5 ? -1", "expected a number of 0 or more for every file"},
	} {
		src := strings.Replace(trained, c.from, c.to, 1)
		if src == trained {
			t.Fatalf("the file has no %s", c.from)
		}
		if _, err := scenario.Read([]byte(src), "p.yaml"); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.to, err, c.want)
		}
	}
}

// TestOneMistakeOfAParameter: a value that is no number is one mistake.
func TestOneMistakeOfAParameter(t *testing.T) {
	for _, value := range []string{"", ".nan", "true", "[1]"} {
		src := strings.Replace(trained, "vit_batch: 16", "vit_batch: "+value, 1)
		_, err := scenario.Read([]byte(src), "p.yaml")
		if err == nil || strings.Contains(err.Error(), "\n") ||
			!strings.Contains(err.Error(), ": expected a number of 0 or more, or {value: 128") {
			t.Errorf("%q: got %v, want one mistake, with a line and a column", value, err)
		}
	}
}

// FuzzParameters: no parameter makes the reader or an expression panic.
func FuzzParameters(f *testing.F) {
	f.Add("n_mels: 128", "n_mels * 4", "12/6: {n_mels: 64}")
	f.Add("parameter: 1", "parameter(0)", "a: {b: 1}")
	f.Add("x: {value: 1GiB, try: [2, 1]}", "max(x, parameter(7))", "a: {x: 1}")
	f.Fuzz(func(t *testing.T, parameters, size, table string) {
		s, err := scenario.Read([]byte("stages: [{name: A, tensors: [{name: t, size: \""+size+"\"}]}]\n"+
			"parameters: {"+parameters+"}\ntable: {"+table+"}\n"), "p.yaml")
		if err != nil {
			return
		}
		s.Lint()
		for _, p := range s.Parameters {
			if err := s.Set(p.Name, p.Value+1); err != nil {
				t.Error(err)
			}
		}
		_, _ = s.Stages[0].Tensors[0].Bytes(scenario.Vars{Parameters: s.Values()})
	})
}
