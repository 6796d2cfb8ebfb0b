package validation

import (
	"strings"
	"sync/atomic"
	"testing"

	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
)

const file = `name: search
gpu: 16GiB
env: {PYTORCH_CUDA_ALLOC_CONF: "max_split_size_mb:64"}
files: {count: 100, seconds: 60}
models:
  - id: asr
    model: whisper-large-v3
    resident: true
stages:
  - name: Enrollment # a comment
    batch: 32
    tensors:
      - {name: buffers, size: batch * GiB, each: pass, until: file}
  - {name: Transcription, models: [asr], batch: "floor(total / GiB)"}
faults: [{leak: 1MiB, stage: Enrollment}]
`

// gib is what a trial of these tests says that the scenario needs: a GiB a file of Enrollment's batch, and the model's weights.
func gib(s *scenario.Scenario) int64 {
	m, _ := models.Lookup(s.Models[0].Model)
	batch, _ := s.Stages[0].Batch.Int(scenario.Vars{})
	return int64(batch)<<30 + m.Weights(models.Float16)
}

// sized is a trial that goes by size alone: the answer of what needs so much on a card of 16 GiB, from the first file on.
func sized(need int64, files int) Result {
	r := Result{Files: files, Need: need, Share: float64(need) / (16 << 30), Speed: 40}
	switch {
	case r.Share > 1:
		r.Answer, r.Failed, r.FirstFailed = DoesNotFit, files, 1
	case r.Share > 0.85:
		r.Answer = Tight
	}
	return r
}

func search(t *testing.T, of func(s *scenario.Scenario, files int) (Result, error)) *Found {
	t.Helper()
	s, err := scenario.Read([]byte(file), "search.yaml")
	if err != nil {
		t.Fatal(err)
	}
	now, err := of(s, 100)
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int32
	counted := func(s *scenario.Scenario, f Files) (Result, error) {
		calls.Add(1)
		return of(s, f.First+f.Count-1)
	}
	sample := []Files{{1, 1}, {40, 1}}
	if now.FirstFailed > 0 {
		sample = []Files{{1, min(100, now.FirstFailed+10)}}
	}
	found, err := Search([]byte(file), "search.yaml", now, counted, Options{Files: 100, Stage: "Enrollment", Sample: sample})
	if err != nil {
		t.Fatal(err)
	}
	if int(calls.Load()) != found.Simulations {
		t.Errorf("%d simulations counted, %d made", found.Simulations, calls.Load())
	}
	return found
}

// Where size alone counts, the largest batch that fits is found: 85 % of 16 GiB is 13.6 GiB, large-v3 has 2.87 GiB in
// float16 (1.54 billion parameters), which leaves 10 items of a GiB each.
func TestSearchBatch(t *testing.T) {
	found := search(t, func(s *scenario.Scenario, files int) (Result, error) { return sized(gib(s), files), nil })
	if found.Smallest == nil || found.Smallest.Kind() != "batch" {
		t.Fatalf("got %+v, want a smaller batch", found.Smallest)
	}
	e := found.Smallest.Edits[0]
	if e.Key != "stages[0].batch" || e.Old != "32" || e.New != "10" || e.Line != 11 || e.Column != 12 {
		t.Errorf("got %+v, want stages[0].batch: 32 -> 10 at 11:12", e)
	}
	if found.Smallest.Files != 100 {
		t.Errorf("proved over %d files, want 100", found.Smallest.Files)
	}
	if len(found.Others) != 0 {
		t.Errorf("got also %+v: nothing else helps", found.Others)
	}
}

// A setting of the allocator costs less than a batch, a batch less than a restart; each is there.
func TestSearchCost(t *testing.T) {
	found := search(t, func(s *scenario.Scenario, files int) (Result, error) {
		batch, _ := s.Stages[0].Batch.Int(scenario.Vars{})
		expandable := strings.Contains(s.Env["PYTORCH_CUDA_ALLOC_CONF"], "expandable_segments:True")
		// It fails in the 57th file of a process.
		if files < 57 || batch <= 8 || expandable || s.RestartEvery > 0 && s.RestartEvery < 57 {
			return sized(8<<30, files), nil
		}
		return Result{Answer: DoesNotFit, Files: files, Failed: files - 56, FirstFailed: 57, Need: 8 << 30, Share: 0.5}, nil
	})
	var got []string
	for _, c := range append([]Change{*found.Smallest}, found.Others...) {
		got = append(got, c.Kind()+": "+c.Text())
	}
	want := []string{
		`allocator setting: env.PYTORCH_CUDA_ALLOC_CONF: max_split_size_mb:64,expandable_segments:True`,
		`batch: stages[0].batch: 8`,
		`restart: restart_every: 56`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if e := found.Smallest.Edits[0]; e.Export != `export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,expandable_segments:True` || e.Line != 3 {
		t.Errorf("got %+v", e)
	}
}

// Where no single change does, two do: of the pairs the cheapest, with each as far back as it goes.
func TestSearchPairs(t *testing.T) {
	found := search(t, func(s *scenario.Scenario, files int) (Result, error) {
		need := gib(s)
		if s.Stages[0].Tensors[0].Until != scenario.Pass {
			need += 4 << 30
		}
		if s.Clear.Every == 0 || s.Clear.Every > 5 {
			need += 8 << 30
		}
		return sized(need, files), nil
	})
	c := found.Smallest
	if c == nil || len(c.Kinds) != 2 {
		t.Fatalf("got %+v, want a pair", c)
	}
	// 13.6 - 2.87 - 4 leaves 6 items.
	if want := "clear.every: 5, stages[0].batch: 6"; c.Text() != want || c.Kind() != "clear policy and batch" {
		t.Errorf("got %s (%s), want %s", c.Text(), c.Kind(), want)
	}
}

// Where a pair leaves it tight at best, that is said rather than nothing.
func TestSearchTight(t *testing.T) {
	found := search(t, func(s *scenario.Scenario, files int) (Result, error) {
		batch, _ := s.Stages[0].Batch.Int(scenario.Vars{})
		return sized(14<<30+int64(batch-1)<<30, files), nil
	})
	if c := found.Smallest; c == nil || c.Answer != Tight || c.Text() != "stages[0].batch: 1" {
		t.Errorf("got %+v, want a batch of 1, tight", c)
	}
}

func TestSearchNothing(t *testing.T) {
	found := search(t, func(_ *scenario.Scenario, files int) (Result, error) { return sized(20<<30, files), nil })
	if found.Smallest != nil || found.Others != nil {
		t.Errorf("got %+v, want nothing", found)
	}
}

func TestEdit(t *testing.T) {
	d, err := newDocument([]byte(file), "search.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		edit Edit
		at   [2]int
		text string
		want func(*scenario.Scenario) bool
	}{
		{d.edit("int8", "models", 0, "dtype"), [2]int{6, 5}, "models[0].dtype: none -> int8", func(s *scenario.Scenario) bool { return s.Models[0].DType == "int8" }},
		{d.edit(5, "clear", "every"), [2]int{1, 1}, "clear.every: none -> 5", func(s *scenario.Scenario) bool { return s.Clear.Every == 5 }},
		{d.edit([]string{"Enrollment"}, "clear", "before"), [2]int{1, 1}, "clear.before: none -> [Enrollment]", func(s *scenario.Scenario) bool { return s.Clear.Before[0] == "Enrollment" }},
		{
			d.edit("pass", "stages", 0, "tensors", 0, "until"),
			[2]int{13, 63},
			"stages[0].tensors[0].until: file -> pass",
			func(s *scenario.Scenario) bool { return s.Stages[0].Tensors[0].Until == scenario.Pass },
		},
		{d.edit(nil, "faults", 0), [2]int{15, 10}, "faults[0]: {leak: 1MiB, stage: Enrollment} -> none", func(s *scenario.Scenario) bool { return len(s.Faults) == 0 }},
	} {
		e := c.edit
		if got := e.Key + ": " + e.Old + " -> " + e.New; got != c.text || [2]int{e.Line, e.Column} != c.at {
			t.Errorf("got %s at %d:%d, want %s at %v", got, e.Line, e.Column, c.text, c.at)
		}
		src, err := d.with([]Edit{e})
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenario.Read(src, "edited")
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.text, err, src)
		}
		if !c.want(s) {
			t.Errorf("%s: not so in\n%s", c.text, src)
		}
	}
}

// A line that an edit says is to be added is YAML that does what the edit does.
func TestEditAdd(t *testing.T) {
	d, err := newDocument([]byte(file), "search.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		edit       Edit
		add, under string
	}{
		{d.edit(5, "clear", "every"), "clear: {every: 5}", ""},
		{d.edit("expandable_segments:True", "env", "PYTORCH_ALLOC_CONF"), `PYTORCH_ALLOC_CONF: "expandable_segments:True"`, "env"},
		{d.edit("int8", "models", 0, "dtype"), "dtype: int8", "models[0]"},
		{d.edit([]string{"Enrollment"}, "clear", "before"), "clear: {before: [Enrollment]}", ""},
		{d.edit(8, "stages", 0, "batch"), "", ""},
		{d.edit(nil, "faults", 0), "", ""},
	} {
		if c.edit.Add != c.add || c.edit.Under != c.under {
			t.Errorf("%s: got %q under %q, want %q under %q", c.edit.Key, c.edit.Add, c.edit.Under, c.add, c.under)
		}
		if c.add != "" && c.under == "" {
			if _, err := scenario.Read([]byte(file+c.add+"\n"), "added"); err != nil {
				t.Errorf("%s: %v", c.add, err)
			}
		}
	}
}

// Float32 weights with float16 arithmetic take less as float16, as float32 ones do.
func TestFormats(t *testing.T) {
	for dtype, want := range map[string]string{"float32": "float16 int8", "autocast": "float16 int8", "half": "int8", "int8": ""} {
		src := []byte(strings.Replace(file, "    resident: true", "    dtype: "+dtype, 1))
		s, err := scenario.Read(src, "search.yaml")
		if err != nil {
			t.Fatal(err)
		}
		d, err := newDocument(src, "search.yaml")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range formats(d, s, 0) {
			for i := range l.steps {
				got = append(got, l.at(i)[0].New)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", dtype, got, want)
		}
	}
}
