package simulator_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/pipeline/simulator"
)

// train is a file that trains ViT-B/16 with a batch of 16 on a large card. model and stage are
// further keys.
func train(model, stage, rest string) string {
	return fmt.Sprintf(`
gpu: {total: 40GiB, context: 0}
files: {count: 3, seconds: 60}
models:
  - {id: vit, model: vit-base-patch16-224-in21k, dtype: float32, resident: true, train: true%s}
stages: [{name: Training, models: [vit], items: 160, batch: 16, seconds: 10%s}]
%s`, model, stage, rest)
}

// part returns the MiB of a kind of memory at the highest point of the first stage.
func part(o *simulator.Outcome, kind simulator.PartKind) float64 {
	for _, p := range o.Stages[0].Parts {
		if p.Kind == kind {
			return float64(p.Bytes) / (1 << 20)
		}
	}
	return 0
}

// want reports an error unless got is within a share of the expected MiB.
func want(t *testing.T, what string, got, expected, within float64) {
	t.Helper()
	if math.Abs(got-expected) > within*expected {
		t.Errorf("%s: got %.1f MiB, want %.1f", what, got, expected)
	}
}

// weights is the size of the ViT's weights in MiB: 85,800,194 float32.
const weights = 327.3

// TestTrainingStep: memory at the highest point of training ViT-B/16, as measured on an H200 (see
// package models).
func TestTrainingStep(t *testing.T) {
	for _, c := range []struct {
		model string
		peak  float64
	}{
		{"", 2889},
		{", checkpointing: true", 1655},
		{", train_layers: 0", 447},
	} {
		_, o := run(t, train(c.model, "", ""), simulator.Options{})
		want(t, "peak"+c.model, float64(o.Peak.Allocated)/(1<<20), c.peak, 0.08)
		if o.Failed > 0 {
			t.Errorf("%s: %d files failed", c.model, o.Failed)
		}
	}
	_, o := run(t, train("", "", ""), simulator.Options{})
	want(t, "weights", part(o, simulator.Weights), weights, 0.01)
	want(t, "optimizer states", part(o, simulator.Optimizer), 2*weights, 0.01)
	want(t, "activations", part(o, simulator.Activations), 1873, 0.02) // 1795 saved, 78 of the layer
}

// TestAccumulate: with accumulate: 2, passes are half as large, the gradients of a step live
// through both of them, and the optimizer steps half as often.
func TestAccumulate(t *testing.T) {
	src := train("", ", accumulate: 2", "")
	log, o := run(t, src, simulator.Options{})
	if o.Stats.Passes != 3*20 {
		t.Errorf("got %d passes, want 20 of 8 in each of 3 files", o.Stats.Passes)
	}
	want(t, "gradients", part(o, simulator.Gradients), weights, 0.06)
	// Of a batch of 8: 897 MiB saved, and 40 of the layer; a gradient before it is added.
	want(t, "activations", part(o, simulator.Activations), 937, 0.03)
	want(t, "peak", float64(o.Peak.Allocated)/(1<<20), 4*weights+937, 0.02)
	if o.Stats.Repeated == 0 {
		t.Error("every pass was simulated, want those left out that repeat earlier ones")
	}
	each, _ := run(t, src, simulator.Options{EachPass: true})
	if log != each {
		t.Error("simulating every pass gives another log")
	}
	// 160 items in steps of 12: each has passes of 3, 3, 3 and 3, the last one of 3 and 1.
	uneven := strings.Replace(train("", ", accumulate: 5", ""), "batch: 16", "batch: 12", 1)
	log, o = run(t, uneven, simulator.Options{})
	each, _ = run(t, uneven, simulator.Options{EachPass: true})
	if log != each || o.Stats.Passes != 3*54 {
		t.Errorf("uneven steps: %d passes, want 54 a file; equal logs: %v", o.Stats.Passes, log == each)
	}
}

// TestAccumulateHalves: the second pass of the second step runs out of memory: 982 MiB of weights
// and states, 327 of gradients and 937 of activations are more than 2,200. The step goes on with
// passes of 4, and keeps its batch of 16: 10 steps in each file.
func TestAccumulateHalves(t *testing.T) {
	src := strings.Replace(train("", ", accumulate: 2, on_oom: halve", ""), "40GiB", "2200MiB", 1)
	_, o := run(t, src, simulator.Options{})
	f := o.FirstFailure
	if f == nil || !f.Recovered || f.File != 1 || o.Failed > 0 {
		t.Fatalf("got %+v and %d files that failed, want a failure in file 1 that was recovered from",
			f, o.Failed)
	}
	// File 1: 3 passes of 8, 2 of 4 for the rest of the second step, and 8 steps of 4 passes.
	if want := int64(3 + 2 + 8*4 + 2*10*4); o.Stats.Passes != want {
		t.Errorf("got %d passes, want %d", o.Stats.Passes, want)
	}
}

// TestUnfreeze: with a schedule, the layers that do not train yet have no gradients and no states.
// Once the whole model trains, memory is that of the whole model.
func TestUnfreeze(t *testing.T) {
	const head, layer, norm = 2 * 769, 7_087_872, 2 * 768
	log, o := run(t, train(`, train_layers: "file == 1 ? 0 : file == 2 ? 4 : 12"`, "", ""),
		simulator.Options{})
	tl, err := parser.Build(parser.Read(strings.NewReader(log), "log"))
	if err != nil {
		t.Fatal(err)
	}
	mib := func(parameters int) float64 { return float64(parameters) * 4 / (1 << 20) }
	for i, trained := range []float64{
		mib(head), mib(head + 4*layer + norm), weights,
	} {
		last := tl.Files[i].Checkpoints[len(tl.Files[i].Checkpoints)-1]
		got := float64(last.Bytes(record.Allocated)) / (1 << 20)
		want(t, fmt.Sprintf("after epoch %d", i+1), got, weights+2*trained, 0.005)
	}
	want(t, "peak", float64(o.Peak.Allocated)/(1<<20), 2889, 0.06)
}

// TestCheckpointingTakesTime: a stage that trains with checkpointing takes 61 / 50 of its seconds.
func TestCheckpointingTakesTime(t *testing.T) {
	costs := "costs: {malloc: 0, malloc_per_gib: 0, free: 0, free_per_gib: 0, load: 0}\n"
	_, fast := run(t, train("", "", costs), simulator.Options{})
	_, slow := run(t, train(", checkpointing: true", "", costs), simulator.Options{})
	if math.Abs(slow.Seconds/fast.Seconds-1.22) > 1e-9 {
		t.Errorf("got %.1f s and %.1f s with checkpointing", fast.Seconds, slow.Seconds)
	}
}

// TestKeptGraph: a fault that keeps the graph of each pass keeps what autograd saved: 1,795 MiB of
// a step as measured. On 16 GiB, the graphs of 7 steps leave no room for another step.
func TestKeptGraph(t *testing.T) {
	src := train("", "", "faults: [{graph: vit, from_file: 2}]\n")
	_, o := run(t, strings.Replace(src, "40GiB", "16GiB", 1), simulator.Options{})
	f := o.FirstFailure
	if f == nil || f.File != 2 || f.OOM == nil {
		t.Fatalf("got %+v, want out of memory in file 2", f)
	}
	kept := f.Parts[0]
	if kept.Kind != simulator.Kept || kept.Name != "graph of vit" {
		t.Errorf("got %+v as the largest part", kept)
	}
	steps := float64(kept.Bytes) / (1 << 20) / 1795
	if math.Abs(steps-7) > 0.2 { // blocks are up to 1 MiB larger than what they hold
		t.Errorf("the graphs of %.2f steps stay", steps)
	}
}

// TestPinned: a DataLoader with pin_memory=True and two workers holds 2 x 2 + 1 batches in pinned
// memory. PyTorch rounds 3 MiB up to 4 MiB.
func TestPinned(t *testing.T) {
	const tensors = ", tensors: [{name: b, each: pass, size: 3MiB, pin_memory: true, workers: 2}]"
	src := train("", tensors, "")
	log, _ := run(t, src, simulator.Options{Files: 1})
	if pinned := fmt.Sprintf(" pinned=%d ", 20<<20); strings.Count(log, pinned) != 1 ||
		strings.Count(log, " pinned=") != 1 {
		t.Errorf("want%sat the end of the stage, got\n%s", pinned, log)
	}
	log, _ = run(t, strings.Replace(src, ", pin_memory: true, workers: 2", "", 1), simulator.Options{})
	if strings.Contains(log, "pinned=") {
		t.Errorf("a log without pinned memory has it:\n%s", log)
	}
}

// TestStatesBesideAFootprint: a footprint that was measured from the second file on does not have
// Adam's states, which were there before: two for each weight of a resident model. vit-b-16 has
// 86,567,656 weights.
func TestStatesBesideAFootprint(t *testing.T) {
	_, o := run(t, `
gpu: {total: 16GiB}
files: {count: 3, seconds: 60}
models: [{id: vit, model: vit-b-16, dtype: float32, resident: true, train: true}]
stages:
  - {name: Training, models: [vit], footprint: {base: 2GiB}}
`, simulator.Options{})
	const weights = 86567656 * 4
	for i, f := range o.PerFile {
		if got := float64(f.Idle.Allocated) / (3 * weights); got < 1 || got > 1.001 {
			t.Errorf("file %d: %d bytes stay allocated, want the weights and twice as much",
				i+1, f.Idle.Allocated)
		}
	}
	if got, want := float64(o.Peak.Allocated), float64(3*weights+2<<30); got/want < 1 ||
		got/want > 1.001 {
		t.Errorf("peak: %.0f bytes allocated, want %.0f", got, want)
	}
}
