package validation

import (
	"slices"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/pipeline/scenario"
)

// training trains a ViT on a card on which it lacks some MiB. It needs 327 MiB of weights, 655 of
// Adam's states, 504 of the context, 8 of a workspace and 117 of activations for each image: 4,300
// for a batch of 24, and the card has 4,200. Within 85 %, 3,570 MiB, fit 17 images. A layer that
// does not train saves 1.5 x 148 + 54 MiB, so that 3 must be frozen.
const training = `gpu: 4200MiB
files: {count: 2, seconds: 60}
costs: {malloc: 0, free: 0, synchronize: 0, load: 0}
parameters:
  vit_batch: 24
  n_mels: {value: 128, try: [96, 64], cost: detail of the spectrograms}
models: [{id: vit, model: vit-base-patch16-224-in21k, dtype: float32, resident: true, train: true}]
stages:
  - name: Training
    models: [vit]
    items: 96
    batch: vit_batch
    seconds: ceil(96 / batch) * (0.01 + 0.0025 * batch)
    tensors: [{name: mels, size: n_mels * 8 * MiB}]
`

// proposals returns the changes of a report by their kind.
func proposals(r *Report) map[string]Change {
	all := map[string]Change{}
	if r.Smallest != nil {
		all[r.Smallest.Kind] = *r.Smallest
	}
	for _, c := range r.Others {
		all[c.Kind] = c
	}
	return all
}

func validated(t *testing.T, src string, set map[string]float64) *Report {
	t.Helper()
	s, err := scenario.Read([]byte(src), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b := &Batch{
		Scenario: s, Source: []byte(src), Files: s.Files.Count, Policy: check.DefaultPolicy(),
	}
	for name, value := range set {
		if err := b.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	r, err := b.Validate(Evidence{Progress: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTrainingChanges: what people try when training does not fit is proposed, proved by a
// simulation of all files, and has a cost.
func TestTrainingChanges(t *testing.T) {
	src := strings.Replace(training, "n_mels * 8 * MiB", "n_mels * 4 * KiB", 1)
	found := proposals(validated(t, src, nil))
	for kind, want := range map[string]struct{ edit, cost string }{
		"gradient accumulation":  {"stages[0].accumulate: 2", "throughput"},
		"gradient checkpointing": {"models[0].checkpointing: true", "a fifth to a third more time"},
		"batch":                  {"parameters.vit_batch: 17", "throughput"},
		"number format":          {"models[0].dtype: autocast", "a little accuracy"},
		"frozen layers":          {"models[0].train_layers: 9", "perhaps accuracy"},
	} {
		c, ok := found[kind]
		if !ok || c.Answer != Fits || c.Text() != want.edit || c.Cost != want.cost || c.Files != 2 {
			t.Errorf("%s: got %s, %s, %+v, want %s at the cost of %s", kind, c.Text(), c.Cost, c.Result,
				want.edit, want.cost)
		}
	}
	// A step of 24 images takes 70 ms, one of 12 takes 40. With checkpointing it is 61 / 50 as long.
	whole := found["number format"].Speed
	for kind, slower := range map[string]float64{
		"gradient accumulation": 80.0 / 70, "gradient checkpointing": 61.0 / 50,
	} {
		if got := whole / found[kind].Speed; got < slower-0.05 || got > slower+0.05 {
			t.Errorf("%s: %.2f times slower, want %.2f", kind, got, slower)
		}
	}
}

// TestAccumulatedWhole: a step of 15 images is made in 3 or 5 passes. 2 and 4 do not divide it, and
// would make steps of another number of images.
func TestAccumulatedWhole(t *testing.T) {
	for memory, want := range map[string]string{
		"3000MiB": "stages[0].accumulate: 3", "2650MiB": "stages[0].accumulate: 5",
	} {
		src := strings.Replace(training, "vit_batch: 24", "vit_batch: 15", 1)
		src = strings.Replace(src, "n_mels * 8 * MiB", "n_mels * 4 * KiB", 1)
		src = strings.Replace(src, "4200MiB", memory, 1)
		c := proposals(validated(t, src, nil))["gradient accumulation"]
		if c.Text() != want {
			t.Errorf("on %s: got %q, want %s", memory, c.Text(), want)
		}
		src = strings.Replace(src, "vit_batch: 15", "vit_batch: 16", 1)
		c = proposals(validated(t, src, map[string]float64{"vit_batch": 15}))["gradient accumulation"]
		if c.Text() != want {
			t.Errorf("on %s, with a batch that the caller set: got %q, want %s", memory, c.Text(), want)
		}
	}
}

// TestParameterChanges: validate proposes the values that the file names for a parameter, and no
// value for one that the caller set.
func TestParameterChanges(t *testing.T) {
	// With 1024 MiB of data it needs 5,320 MiB, with 768 5,070, and with 512 4,810. 85 % of the card
	// are 5,015.
	src := strings.Replace(training, "4200MiB", "5900MiB", 1)
	found := proposals(validated(t, src, nil))
	c, ok := found["parameter"]
	if !ok || c.Text() != "parameters.n_mels.value: 64" || c.Cost != "detail of the spectrograms" {
		t.Errorf("got %s, %s, want another n_mels", c.Text(), c.Cost)
	}
	for kind, c := range proposals(validated(t, src, map[string]float64{
		"n_mels": 128, "vit_batch": 24,
	})) {
		if strings.Contains(c.Text(), "parameters") {
			t.Errorf("%s: %s, although the caller set it", kind, c.Text())
		}
	}
	if r := validated(t, src, map[string]float64{"n_mels": 64}); r.Answer != Fits {
		t.Errorf("with n_mels: 64 it %s", r.Answer)
	}
}

// TestUnfreezingSchedule: a change limits a schedule, and does not replace it.
func TestUnfreezingSchedule(t *testing.T) {
	src := strings.Replace(training, "train: true",
		`train: true, train_layers: "file == 1 ? 0 : 12"`, 1)
	src = strings.Replace(src, "n_mels * 8 * MiB", "n_mels * 4 * KiB", 1)
	r := validated(t, src, nil)
	if r.FirstFailed != 2 {
		t.Errorf("file %d fails first, want the epoch in which all layers train", r.FirstFailed)
	}
	c := proposals(r)["frozen layers"]
	if want := "models[0].train_layers: min(9, file == 1 ? 0 : 12)"; c.Text() != want {
		t.Errorf("got %s, want %s", c.Text(), want)
	}
}

// TestClearEveryTen: to empty the cache every 10 passes is one of the changes, and the speed shows
// its cost. A driver call takes 10 ms here.
func TestClearEveryTen(t *testing.T) {
	src := strings.Replace(training, "4200MiB", "12GiB", 1)
	src = strings.Replace(src, "malloc: 0, free: 0", "malloc: 10ms, free: 10ms", 1)
	d, err := newDocument([]byte(src), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Read([]byte(src), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, c := range clears(d, s, "Training") {
		for step := range c.steps {
			change := newChange(c.edits(step), c.kind)
			found = found || change.Text() == "clear.every: 10" && change.Cost == "time"
		}
	}
	if !found {
		t.Error("clear.every: 10 at the cost of time is not among the changes")
	}
	rare, often := validated(t, src, nil), validated(t, src+"clear: {every: 2}\n", nil)
	if rare.Answer != Fits || often.Answer != Fits || often.Speed > 0.9*rare.Speed {
		t.Errorf("got %s at %.1f x real time, and %s at %.1f x with clear: {every: 2}", rare.Answer,
			rare.Speed, often.Answer, often.Speed)
	}
}

// TestFormatsOfTraining: a model that trains keeps a float32 copy of its weights. It is never
// offered float16, bfloat16 or int8 weights.
func TestFormatsOfTraining(t *testing.T) {
	for dtype, want := range map[string]struct{ trained, other []string }{
		"float32":  {[]string{"autocast"}, []string{"float16", "int8"}},
		"autocast": {nil, []string{"float16", "int8"}},
		"float16":  {nil, []string{"int8"}},
		"bfloat16": {nil, []string{"int8"}},
		"int8":     {nil, nil},
	} {
		for _, train := range []bool{true, false} {
			src := strings.Replace(training, "dtype: float32", "dtype: "+dtype, 1)
			if !train {
				src = strings.Replace(src, ", train: true", "", 1)
			}
			d, err := newDocument([]byte(src), "p.yaml")
			if err != nil {
				t.Fatal(err)
			}
			s, err := scenario.Read([]byte(src), "p.yaml")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range formats(d, s, 0) {
				for step := range c.steps {
					got = append(got, c.edits(step)[0].New)
				}
			}
			expected := want.other
			if train {
				expected = want.trained
			}
			if !slices.Equal(got, expected) {
				t.Errorf("%s, train: %v: offers %v, want %v", dtype, train, got, expected)
			}
		}
	}
}
