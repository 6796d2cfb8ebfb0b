package simulator_test

import (
	"bytes"
	"strings"
	"testing"

	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

// run runs a scenario and returns its log and outcome.
func run(t *testing.T, src string, o simulator.Options) (string, *simulator.Outcome) {
	t.Helper()
	s, err := scenario.Read([]byte(src), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o.Log = &log
	outcome, err := simulator.Run(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return log.String(), outcome
}

// small is a scenario on a card of 100 MiB: each file loads a model of 40 MiB, and a cleanup frees
// it.
const small = `
gpu: {total: 100MiB, context: 0}
files: {count: 3, seconds: 60}
models: [{id: asr, weights: 40MiB}]
stages:
  - name: Transcription
    models: [asr]
    seconds: 5
    cleanups: [{name: Whisper, frees: [asr], empty_cache: true}]
`

// TestUnlimited: on a card without a limit, a stage gets all the memory it needs. The expressions
// in the scenario still use the size of the scenario's card.
func TestUnlimited(t *testing.T) {
	const src = `
gpu: {total: 100MiB, context: 0}
files: {count: 2, seconds: 60}
stages:
  - {name: First, tensors: [{name: most, size: total, each: stage}, {name: more, size: free + 20*MiB, each: stage}]}
  - {name: Nothing}
`
	_, o := run(t, src, simulator.Options{})
	if o.Failed != 2 || !o.Stages[0].Reached || o.Stages[1].Reached {
		t.Errorf("on the card: got %d failed, stages %+v", o.Failed, o.Stages)
	}
	_, o = run(t, src, simulator.Options{Unlimited: true})
	if o.Failed != 0 || o.Stages[0].Allocated != 220<<20 {
		t.Errorf("without limit: got %d failed, %d allocated, want none and %d", o.Failed,
			o.Stages[0].Allocated, 220<<20)
	}
	if s := o.Stages[1]; !s.Reached || s.File != 1 || s.Allocated != 0 {
		t.Errorf("got a stage without memory: %+v", s)
	}
}

func TestCheckpoints(t *testing.T) {
	log, o := run(t, small, simulator.Options{Files: 1})
	var names []string
	for line := range strings.Lines(log) {
		if _, rest, ok := strings.Cut(line, "[GPU Memory] "); ok {
			name, _, _ := strings.Cut(rest, ":")
			names = append(names, name)
		}
	}
	want := "Before Transcription, Before Whisper Cleanup, After Whisper Cleanup, After " +
		"Transcription (post-cleanup)"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("checkpoints: got %s, want %s", got, want)
	}
	if !strings.Contains(log, " holds=41943040 ") {
		t.Errorf("expected holds=41943040 at the cleanup, got\n%s", log)
	}
	if o.Failed != 0 || o.Peak.Allocated != 40<<20 {
		t.Errorf("got %d failed, peak %d, want none and 41943040", o.Failed, o.Peak.Allocated)
	}
}

// TestFilesOfTheBatch: in expressions, files is the number of files in the batch, in all stages,
// even if the run simulates only a part of the batch.
func TestFilesOfTheBatch(t *testing.T) {
	src := `
gpu: {total: 1GiB, context: 0}
files: {count: 20}
stages:
  - {name: Warm, once: true, tensors: [{name: x, size: files * MiB, until: run}]}
  - {name: T, tensors: [{name: y, size: files * MiB}]}
`
	for want, o := range map[int64]simulator.Options{20: {First: 7, Files: 1}, 10: {Files: 10}} {
		if _, got := run(t, src, o); got.Peak.Allocated != 2*want<<20 {
			t.Errorf("%+v: got a peak of %d, want twice %d MiB", o, got.Peak.Allocated, want)
		}
	}
}

// TestKeepsAShare: a fault keeps whole allocations, so it keeps all of a tensor that has one
// allocation. If two faults keep the same tensor, the larger share counts.
func TestKeepsAShare(t *testing.T) {
	for _, c := range []struct {
		tensor, faults string
		kept           int64 // MiB, after two files
	}{
		{"{name: a, size: 100MiB}", "[{keep: a, share: 50%}]", 200},
		{"{name: a, size: 10MiB, count: 10}", "[{keep: a, share: 35%}]", 60},
		{"{name: a, size: 10MiB, count: 10}", "[{keep: a, share: 50%}, {keep: a, share: 20%, " +
			"from_file: 2}]", 100},
		{"{name: a, size: 10MiB, count: 10}", "[{keep: a, share: 20%}, {keep: a, share: 50%, " +
			"from_file: 2}]", 70},
		{"{name: a, size: 10MiB, each: pass}", "[{keep: a}]", 20},
	} {
		_, o := run(t, "gpu: {total: 1GiB, context: 0}\nfiles: {count: 2}\nstages: [{name: A, "+
			"tensors: ["+c.tensor+"]}]\nfaults: "+c.faults+"\n", simulator.Options{})
		if got := o.PerFile[1].Idle.Allocated; got != c.kept<<20 {
			t.Errorf("%s, %s: %d kept, want %d MiB", c.tensor, c.faults, got, c.kept)
		}
	}
}

// TestBadValueHasAPosition: if an expression has no valid value for a file that the linter did not
// try, the simulation ends at that file, and the error has the expression's position and the file.
func TestBadValueHasAPosition(t *testing.T) {
	for src, want := range map[string]string{
		"stages: [{name: A, items: 4, tensors: [{name: t, each: pass, size: 2 - pass}]}]":                                        "test.yaml:2:68: expected a number of 0 or more for every file, found 2 - pass = -1 in a file of 300 s",
		`stages: [{name: A, items: 2, tensors: [{name: t, each: pass, size: seconds - 300, count: "pass > 1 ? 10000000 : 1"}]}]`: "test.yaml:2:91: expected at most 10000000 a file, found more in a file of 300 s; each is simulated: let one stand for many",
	} {
		s, err := scenario.Read([]byte("gpu: 8GiB\n"+src+"\n"), "test.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := simulator.Run(s, simulator.Options{}); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestTrain: a training step of ViT-B/16 in float32 holds the weights, the gradients and Adam's two
// moments: four times 86,567,656 parameters (torchvision). The allocator rounds each tensor up.
func TestTrain(t *testing.T) {
	src := "gpu: {total: 16GiB, context: 0}\nfiles: {count: 3}\nmodels: [{id: vit, model: " +
		"vit-b-16, dtype: float32, resident: true, train: true}]\n" +
		"stages: [{name: Epoch, models: [vit], items: 24, batch: 8}]\n"
	_, o := run(t, src, simulator.Options{})
	const parameters = 4 * 86_567_656
	for i, f := range o.PerFile { // the end of the stage frees the gradients
		if f.Failed || f.Idle.Allocated < 3*parameters || f.Idle.Allocated > 3*parameters*101/100 {
			t.Errorf("file %d: %d stay allocated, want weights and two moments, %d", i+1,
				f.Idle.Allocated, 3*parameters)
		}
	}
	// PyTorch's own highest memory in the forward and backward pass is 1,030,449,384 bytes,
	// including gradients: see package models. Weights and moments take additional memory.
	if want := int64(3*parameters + 1_030_449_384); o.Peak.Allocated < want*97/100 ||
		o.Peak.Allocated > want*103/100 {
		t.Errorf("got a peak of %d, want %d within 3 %%", o.Peak.Allocated, want)
	}
	if _, s := run(t, strings.Replace(src, "16GiB", "1900MiB", 1),
		simulator.Options{Files: 1}); s.FirstFailure == nil || s.FirstFailure.Fragmented() {
		t.Errorf("on 1900 MiB: got %+v, want a card that is too small", s.FirstFailure)
	}
}

// TestEager: eager attention allocates matrices of scores. In large-v3's encoder 8 items x 20 heads
// x 1500 x 1500 in float16 are 686 MiB, and the softmax needs a second one.
func TestEager(t *testing.T) {
	peaks := map[string]int64{}
	for _, eager := range []string{"true", "false"} {
		_, o := run(t, "gpu: {total: 24GiB, context: 0}\nmodels: [{id: asr, model: "+
			"whisper-large-v3, resident: true, eager: "+eager+"}]\n"+
			"stages: [{name: A, models: [asr], items: 8, item_seconds: 30, batch: 8}]\n",
			simulator.Options{})
		peaks[eager] = o.Peak.Allocated
	}
	if more := peaks["true"] - peaks["false"]; more < 8*20*1500*1500*2 {
		t.Errorf("eager takes %d bytes more, want at least a matrix of scores", more)
	}
}
