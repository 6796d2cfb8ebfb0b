package simulator_test

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

const scenarios = "../../fixtures/scenarios/"

// A story is the simulation of a scenario in fixtures. The scenario re-enacts a documented memory
// problem of a pipeline, or the solution. tl is the timeline of the simulated log.
type story struct {
	*simulator.Outcome
	tl *timeline.Timeline
}

func tell(t *testing.T, name string, o simulator.Options) story {
	t.Helper()
	src, err := os.ReadFile(scenarios + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	if o.EndAtFailure { // the log of such a simulation is long, and no test reads it
		s, err := scenario.Read(src, name)
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := simulator.Run(s, o)
		if err != nil {
			t.Fatal(err)
		}
		return story{Outcome: outcome}
	}
	log, outcome := run(t, string(src), o)
	tl, err := parser.Build(parser.Read(strings.NewReader(log), name))
	if err != nil {
		t.Fatal(err)
	}
	return story{outcome, tl}
}

// at returns, in GiB, quantity q at the checkpoint of the first file that has this name.
func (s story) at(t *testing.T, name string, q record.Quantity) float64 {
	t.Helper()
	for _, f := range s.tl.Files[:1] {
		for i := range f.Checkpoints {
			if f.Checkpoints[i].Name == name {
				return float64(f.Checkpoints[i].Bytes(q)) / float64(record.GiB)
			}
		}
	}
	t.Fatalf("the log has no checkpoint %q", name)
	return 0
}

// speed returns the throughput of the files numbered `from` to `to`, in seconds of audio per second
// of processing. The number of the first file is 1.
func (s story) speed(from, to int) float64 {
	audio, seconds := 0.0, 0.0
	for _, f := range s.PerFile[from-1 : to] {
		audio += f.AudioSeconds
		seconds += f.Seconds
	}
	return audio / seconds
}

// pressedFrom returns the number, from 1, of the first file in which the allocator had to release
// its cache and try again, and after which at least three of the next four files had to do so too.
// It returns 0 if there is no such file.
func (s story) pressedFrom() int {
	for i := 0; i+5 <= len(s.PerFile); i++ {
		pressed := 0
		for _, f := range s.PerFile[i : i+5] {
			if f.Retries > 0 {
				pressed++
			}
		}
		if s.PerFile[i].Retries > 0 && pressed >= 4 {
			return i + 1
		}
	}
	return 0
}

// slowness returns the median, over the files numbered `from` to `to`, of the seconds of processing
// per second of audio. The number of the first file is 1.
func (s story) slowness(from, to int) float64 {
	var all []float64
	for _, f := range s.PerFile[from-1 : to] {
		all = append(all, f.Seconds/f.AudioSeconds)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// TestStories compares the simulations of four stories with the figures in the documents that
// describe these pipelines. They may differ by 10 %.
func TestStories(t *testing.T) {
	few := simulator.Options{Files: 3}
	transcribed, leaked := tell(t, "transcription-after", few), tell(t, "transcription-before", few)
	fast, slow := tell(t, "long-batch-before", simulator.Options{EndAtFailure: true}),
		tell(t, "long-batch-after", simulator.Options{Files: 20})
	flat, training := tell(t, "language-identification-after", few), tell(t, "training-after",
		simulator.Options{})
	freed := func(s story, before, after string) float64 {
		high, low := s.at(t, before, record.Allocated), s.at(t, after, record.Allocated)
		return 100 * (high - low) / high
	}
	reading := func(s story, name string) float64 { return s.at(t, name, record.Allocated) }
	for _, c := range []struct {
		what         string
		origin, ours float64
	}{
		{
			"transcription before: GB before the cleanup", 7.23,
			reading(leaked, "Before Whisper Cleanup"),
		},
		{"transcription before: GB after it", 5.42, reading(leaked, "After Whisper Cleanup")},
		{"transcription before: recovered, %", 25, freed(leaked, "Before Whisper Cleanup",
			"After Whisper Cleanup")},
		{"transcription: GB at initialization", 0.1, reading(transcribed,
			"Pipeline Initialization")},
		{"transcription: GB after preprocessing", 0.2, reading(transcribed,
			"After Audio Preprocessing")},
		{"transcription: GB of Whisper", 7.5, reading(transcribed, "Before Whisper Cleanup")},
		{"transcription: GB after Whisper", 0.2, reading(transcribed,
			"After Transcription (post-cleanup)")},
		{"transcription: Whisper recovered, %", 97, freed(transcribed, "Before Whisper Cleanup",
			"After Whisper Cleanup")},
		{"transcription: GB of pyannote", 5.8, reading(transcribed, "Before Waveform Cleanup")},
		{"transcription: GB after pyannote", 0.2, reading(transcribed,
			"After Diarization (post-cleanup)")},
		{"transcription: pyannote recovered, %", 96, freed(transcribed, "Before Waveform Cleanup",
			"After Diarization (post-cleanup)")},
		{"transcription: GB at the end", 0.1, reading(transcribed, "After Final Cleanup")},
		{"long batch before: file from which on files retry", 21, float64(fast.pressedFrom())},
		{"long batch before: file that runs out of memory", 50, float64(fast.FirstFailure.File)},
		{"long batch: audio hours per hour", 42.5, slow.AudioHoursPerHour()},
		{"long batch: time against before's first 20 files, %", 112.5, 100 * fast.speed(1,
			20) / slow.speed(1, 20)},
		{"language identification: GB allocated", 2.34, reading(flat, "Before Batch Cleanup")},
		{"language identification: GB reserved", 2.86, flat.at(t, "Before Batch Cleanup",
			record.Reserved)},
	} {
		difference := 100 * (c.ours/c.origin - 1)
		t.Logf("%-52s %8.2f %8.2f %+6.1f %%", c.what, c.origin, c.ours, difference)
		if math.Abs(difference) > 10 {
			t.Errorf("%s: got %.2f, want %.2f within 10 %%", c.what, c.ours, c.origin)
		}
	}
	for name, s := range map[string]story{
		"transcription-after": transcribed, "long-batch-after": slow,
		"language-identification-after": flat,
	} {
		if s.Failed > 0 || s.FirstFailure != nil {
			t.Errorf("%s: got %d files that failed, want none", name, s.Failed)
		}
	}
	if f := training.FirstFailure; f == nil || !f.Recovered || training.Failed > 0 {
		t.Errorf("training-after: want an allocation that failed and was recovered from, got "+
			"%+v, %d files failed", f, training.Failed)
	}
	// Enough memory is free in total, but the largest free block is too small.
	if f := fast.FirstFailure; !f.Fragmented() || f.OOM.LargestFree >= f.OOM.Requested ||
		f.OOM.DeviceFree >= f.OOM.Requested {
		t.Errorf("long-batch-before: got %+v, want free in sum, not in one piece", f.OOM)
	}
	// Before memory runs out, files take longer. In nearly every file, allocations on one stream force
	// the allocator to release the cache of the other streams.
	last := min(49, fast.FirstFailure.File-1)
	before, under := fast.slowness(1, 20), fast.slowness(21, last)
	if under < 1.05*before {
		t.Errorf("long-batch-before: a second of audio takes %.4f s in files 21 to %d, %.4f s "+
			"before; want at least 5 %% more", under, last, before)
	}
	pressed := 0
	for _, f := range fast.PerFile[20:last] {
		if f.Retries > 0 {
			pressed++
		}
	}
	if files := last - 20; pressed < files*9/10 {
		t.Errorf("long-batch-before: %d of the %d files from 21 on retry, want nearly all",
			pressed, files)
	}
	if slower := 100*fast.speed(1, 20)/slow.speed(1, len(slow.PerFile)) - 100; slower < 10 ||
		slower > 15 {
		t.Errorf("long-batch-after: %.1f %% slower than the first 20 files before, want 10 to 15 %%",
			slower)
	}
	if n := len(transcribed.tl.Files[0].Checkpoints); n != 19 {
		t.Errorf("transcription-after: got %d checkpoints a file, want nineteen", n)
	}
}

// TestSameBytes: a scenario always gives the same log, even if every pass is simulated (EachPass).
func TestSameBytes(t *testing.T) {
	for _, name := range []string{
		"transcription-before", "training-after",
		"language-identification-after", "gan-vit-before",
	} {
		src, err := os.ReadFile(scenarios + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		first, o := run(t, string(src), simulator.Options{Files: 4, Segments: true})
		again, _ := run(t, string(src), simulator.Options{Files: 4, Segments: true})
		each, _ := run(t, string(src), simulator.Options{Files: 4, Segments: true, EachPass: true})
		if first != again {
			t.Errorf("%s: two runs differ", name)
		}
		if name == "transcription-before" && o.Stats.Repeated < o.Stats.Passes/2 {
			t.Errorf("%s: %d of %d passes repeat an earlier one, want most", name, o.Stats.Repeated,
				o.Stats.Passes)
		}
		if first != each {
			t.Errorf("%s: simulating every pass gives another log", name)
		}
	}
}

// BenchmarkTranscription measures the simulation of a thousand files of the transcription scenario.
func BenchmarkTranscription(b *testing.B) {
	src, err := os.ReadFile(scenarios + "transcription-after.yaml")
	if err != nil {
		b.Fatal(err)
	}
	s, err := scenario.Read(src, "transcription-after.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var log bytes.Buffer
		if _, err := simulator.Run(s, simulator.Options{Files: 1000, Log: &log}); err != nil {
			b.Fatal(err)
		}
	}
}
