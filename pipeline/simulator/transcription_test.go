package simulator_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"vramsoak/parser/record"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

// TestTranscription compares the readings of a transcription pipeline with those of the document
// that describes it. The files have 27 minutes, so that a waveform has the document's 0.1 GB. The
// readings may differ by 15 %.
func TestTranscription(t *testing.T) {
	few := simulator.Options{Files: 3}
	after, before := tell(t, "transcription-after", few), tell(t, "transcription-before", few)
	reading := func(s story, name string) float64 { return s.at(t, name, record.Allocated) }
	freed := func(s story, from, to string) float64 {
		return 100 * (1 - reading(s, to)/reading(s, from))
	}
	const whisper, whisperEnd = "Before Whisper Cleanup", "After Whisper Cleanup"
	const waveform, diarized = "Before Waveform Cleanup", "After Diarization (post-cleanup)"
	for _, c := range []struct {
		what           string
		document, ours float64
	}{
		{"before the cleanup, before", 7.23, reading(before, whisper)},
		{"after the cleanup, before", 5.42, reading(before, whisperEnd)},
		{"recovered, before", 25, freed(before, whisper, whisperEnd)},
		{"initialization", 0.1, reading(after, "Pipeline Initialization")},
		{"after preprocessing", 0.2, reading(after, "After Audio Preprocessing")},
		{"Whisper", 7.5, reading(after, whisper)},
		{"after Whisper", 0.2, reading(after, "After Transcription (post-cleanup)")},
		{"recovered by Whisper's cleanup", 97, freed(after, whisper, whisperEnd)},
		{"pyannote", 5.8, reading(after, waveform)},
		{"after pyannote", 0.2, reading(after, diarized)},
		{"recovered by pyannote's cleanup", 96, freed(after, waveform, diarized)},
		{"at the end", 0.1, reading(after, "After Final Cleanup")},
	} {
		difference := 100 * (c.ours/c.document - 1)
		t.Logf("%-32s document %6.2f, simulated %6.2f, %+5.1f %%", c.what, c.document, c.ours,
			difference)
		if strings.HasPrefix(c.what, "recovered") {
			documented(t, c.what, fmt.Sprintf("%.0f %%", c.document), fmt.Sprintf("%.0f %%", c.ours))
		} else {
			documented(t, c.what, fmt.Sprint(c.document), fmt.Sprintf("%.2f", c.ours))
		}
		if math.Abs(difference) > 15 {
			t.Errorf("%s: got %.2f, want %.2f within 15 %%", c.what, c.ours, c.document)
		}
	}
	if after.Failed > 0 || after.FirstFailure != nil {
		t.Errorf("after: %d files failed, want none", after.Failed)
	}
	if n := len(after.tl.Files[0].Checkpoints); n != 19 {
		t.Errorf("after: got %d checkpoints a file, want nineteen", n)
	}
}

// TestTranscriptionAssumptions: the tensors that are assumed, none of them or twice of them, do not
// decide that memory runs out before, and not after.
func TestTranscriptionAssumptions(t *testing.T) {
	for _, name := range []string{"features", "alignment_heads", "spectrogram", "emissions"} {
		for _, by := range []float64{0, 2} {
			vary := func(story string) *simulator.Outcome {
				s := readScenario(t, "transcription-"+story)
				found := false
				for i := range s.Stages {
					for k := range s.Stages[i].Tensors {
						if tensor := &s.Stages[i].Tensors[k]; tensor.Name == name && by == 0 {
							found, tensor.Count = true, scenario.Constant(0)
						} else if tensor.Name == name {
							found, tensor.Shape = true, append(tensor.Shape, scenario.Constant(by))
						}
					}
				}
				if !found {
					t.Fatalf("%s has no tensor %s", s.Name, name)
				}
				return simulate(t, s)
			}
			before, after := vary("before"), vary("after")
			if before.FirstFailure == nil || after.FirstFailure != nil {
				t.Fatalf("%s x %g: before %+v, after %+v; want before to fail, and after not", name, by,
					before.FirstFailure, after.FirstFailure)
			}
			t.Logf("%s x %g: before fails in file %d, after needs %.2f GiB", name, by,
				before.FirstFailure.File, gib(after.Peak.Allocated))
		}
	}
}

// TestTraining: memory runs out in the first step of a fine-tuning with batches of 16. It does not
// with gradients that are accumulated over two passes of 8. With on_oom: halve, the step is made
// again with half the batch, and all epochs end. The numbers that are assumed, by half and twice,
// change nothing of it.
func TestTraining(t *testing.T) {
	for what, change := range map[string]func(s *scenario.Scenario){
		"as it is":        func(*scenario.Scenario) {},
		"half occupied":   func(s *scenario.Scenario) { s.GPU.Occupied /= 2 },
		"twice occupied":  func(s *scenario.Scenario) { s.GPU.Occupied *= 2 },
		"half examples":   func(s *scenario.Scenario) { s.Parameters[0].Value /= 2 },
		"twice examples":  func(s *scenario.Scenario) { s.Parameters[0].Value *= 2 },
		"half the epochs": func(s *scenario.Scenario) { s.Files.Count /= 2 },
	} {
		of := func(name string) *scenario.Scenario {
			s := readScenario(t, name)
			change(s)
			return s
		}
		o := simulate(t, of("training-before"))
		if f := o.FirstFailure; f == nil || f.File != 1 || f.Fragmented() || f.Recovered {
			t.Errorf("%s, before: got %+v, want the first epoch to fail, for lack of memory", what, f)
		}
		if o := simulate(t, of("training-after")); o.FirstFailure != nil {
			t.Errorf("%s, after: got %+v, want no failure", what, o.FirstFailure)
		}
		checkpointed := of("training-before")
		checkpointed.ClearOnStart, checkpointed.Models[0].Checkpointing = true, true
		if o := simulate(t, checkpointed); o.FirstFailure != nil {
			t.Errorf("%s, with checkpointing: got %+v, want no failure", what, o.FirstFailure)
		}
		halved := of("training-before")
		halved.ClearOnStart, halved.Stages[0].OnOOM = true, scenario.OOMHalves
		o = simulate(t, halved)
		if f := o.FirstFailure; f == nil || f.File != 1 || !f.Recovered || o.Failed > 0 ||
			o.Stats.OOMs != 1 {
			t.Errorf("%s, halved: got %+v, %d epochs failed; want one allocation in the first epoch that "+
				"failed, and a recovery", what, f, o.Failed)
		}
	}
}
