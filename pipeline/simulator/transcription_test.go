package simulator_test

import (
	"math"
	"testing"

	"vramsoak/parser/record"
	"vramsoak/pipeline/simulator"
)

// TestTranscription compares the readings of a transcription pipeline with those of the document
// that describes it. The files have 27 minutes after and 20 before, so that a waveform has the
// document's 0.1 GB. The readings may differ by 10 %.
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
		{"before: GB before the cleanup", 7.23, reading(before, whisper)},
		{"before: GB after it", 5.42, reading(before, whisperEnd)},
		{"before: recovered, %", 25, freed(before, whisper, whisperEnd)},
		{"GB at initialization", 0.1, reading(after, "Pipeline Initialization")},
		{"GB after preprocessing", 0.2, reading(after, "After Audio Preprocessing")},
		{"GB of Whisper", 7.5, reading(after, whisper)},
		{"GB after Whisper", 0.2, reading(after, "After Transcription (post-cleanup)")},
		{"Whisper recovered, %", 97, freed(after, whisper, whisperEnd)},
		{"GB of pyannote", 5.8, reading(after, waveform)},
		{"GB after pyannote", 0.2, reading(after, diarized)},
		{"pyannote recovered, %", 96, freed(after, waveform, diarized)},
		{"GB at the end", 0.1, reading(after, "After Final Cleanup")},
	} {
		difference := 100 * (c.ours/c.document - 1)
		t.Logf("%-32s document %6.2f, simulated %6.2f, %+5.1f %%", c.what, c.document, c.ours,
			difference)
		if math.Abs(difference) > 10 {
			t.Errorf("%s: got %.2f, want %.2f within 10 %%", c.what, c.ours, c.document)
		}
	}
	if after.Failed > 0 || after.FirstFailure != nil {
		t.Errorf("after: %d files failed, want none", after.Failed)
	}
	if n := len(after.tl.Files[0].Checkpoints); n != 19 {
		t.Errorf("after: got %d checkpoints a file, want nineteen", n)
	}
}

// TestTraining: the crashed run's 6 GiB are cleared on start, and the texts of the third epoch are
// repeated with half the batch. Before, memory runs out in the first step.
func TestTraining(t *testing.T) {
	after := tell(t, "training-after", simulator.Options{})
	if f := after.FirstFailure; f == nil || f.File != 3 || !f.Recovered || after.Failed > 0 {
		t.Errorf("after: got %+v, %d files failed; want an allocation in file 3 that failed, and a "+
			"recovery", f, after.Failed)
	}
	before := tell(t, "training-before", simulator.Options{})
	if f := before.FirstFailure; f == nil || f.File != 1 || f.Fragmented() || before.Failed == 0 {
		t.Errorf("before: got %+v, want the first file to fail, for lack of memory", f)
	}
}
