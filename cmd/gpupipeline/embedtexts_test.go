//go:build whisper

package main

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vramsoak/parser/record"
)

// TestTextEmbedding: all checkpoints appear in order, the text embedder's cleanup is complete, and
// each segment has an embedding of length 1. In a worker the result is the same.
func TestTextEmbedding(t *testing.T) {
	t.Parallel()
	files := audioFiles(t)[:5]
	read := func(want []string, args ...string) string {
		out := t.TempDir()
		log, stderr, exit := gpupipeline(t, append(append(args, "--text-model", textModel, "--out",
			out), files...)...)
		if exit != "0" || stderr != "" || len(log.Files) != len(files) {
			t.Fatalf("%v: exit %s, %d files, stderr %q", args, exit, len(log.Files), stderr)
		}
		for i, f := range log.Files {
			if diff := cmp.Diff(want, names(f)); f.Status != record.StatusOK || diff != "" {
				t.Errorf("%v: %s: %s\n%s", args, f.Path, f.Status, diff)
			}
			// The model has 2.7 MiB.
			held := holds(t, f, "Text Embedder Cleanup")
			got := freed(t, f, "Text Embedder Cleanup")
			if held < 2<<20 || got < 95 || got > 105 {
				t.Errorf("%v: %s: the text embedder holds %d bytes and freed %.1f %%", args, f.Path,
					held, got)
			}
			if i > 3 && idle(f)-idle(log.Files[i-1]) > 16<<10 {
				t.Errorf("%v: idle level of file %d: %d, of the one before %d", args, i, idle(f),
					idle(log.Files[i-1]))
			}
			d := readDocument(t, out, f.Path)
			if d.TextEmbedding == nil || len(d.TextEmbedding.Segments) != len(d.Segments) ||
				len(d.Segments) == 0 || d.TextEmbedding.Dimension != 384 ||
				d.TextEmbedding.Model != "text.onnx" || d.Fallback != "" {
				t.Fatalf("%v: %s: %d segments, embeddings %+v", args, f.Path, len(d.Segments),
					d.TextEmbedding)
			}
			for _, v := range d.TextEmbedding.Segments {
				sum := 0.0
				for _, x := range v {
					sum += float64(x) * float64(x)
				}
				if len(v) != 384 || math.Abs(sum-1) > 1e-5 {
					t.Errorf("%s: %d numbers, the square of the length is %g", f.Path, len(v), sum)
				}
			}
		}
		return documents(t, out)
	}
	if diff := cmp.Diff(read(twentyThree, withModels()...), read(twentyThree,
		withModels("--isolate", "text")...)); diff != "" {
		t.Errorf("what a worker embeds differs:\n%s", diff)
	}
	alone := slices.Concat(wholeFile[:7], textCheckpoints, wholeFile[7:])
	read(alone, "--model", model) // without a diarization, behind the transcription
}

// TestTextBatches: EMBEDDING_BATCH_SIZE is the size of a batch of texts, and does not change that
// of voices, which VOICE_ENROLLMENT_BATCH_SIZE sets. Small batches give the same embeddings.
func TestTextBatches(t *testing.T) {
	t.Parallel()
	path := audioFiles(t)[0]
	count := func(env string) (texts, voices int, d document) {
		out := t.TempDir()
		log, stderr, exit := gpupipelineIn(t, env, withModels("--text-model", textModel,
			"--clear-every", "1", "--out", out, "--enroll-batch", "4", path)...)
		if exit != "0" || stderr != "" {
			t.Fatalf("%s: exit %s, stderr %q", env, exit, stderr)
		}
		return strings.Count(log, "after 1 batches of text embedding") +
				strings.Count(log, "Cleared GPU cache after text embedding"),
			strings.Count(log, "after 1 batches of voice enrollment") +
				strings.Count(log, "Cleared GPU cache after voice enrollment"),
			readDocument(t, out, path)
	}
	one, voices, d := count("")
	each, sameVoices, e := count("EMBEDDING_BATCH_SIZE=1")
	if segments := len(d.Segments); segments < 2 || one != 1 || each != segments ||
		voices != sameVoices {
		t.Errorf("%d segments in %d batches, and in %d with EMBEDDING_BATCH_SIZE=1; voices in %d and %d",
			segments, one, each, voices, sameVoices)
	}
	if diff := cmp.Diff(d.TextEmbedding, e.TextEmbedding,
		cmpopts.EquateApprox(0, 1e-5)); diff != "" {
		t.Error(diff)
	}
	two, _, _ := count("EMBEDDING_BATCH_SIZE=2")
	if want := (len(d.Segments) + 1) / 2; two != want {
		t.Errorf("%d batches of two, want %d", two, want)
	}
}

// TestVoiceBatches: VOICE_ENROLLMENT_BATCH_SIZE is the size of a batch of voices.
func TestVoiceBatches(t *testing.T) {
	t.Parallel()
	path := audioFiles(t)[0]
	count := func(env string) int {
		log, _, exit := gpupipelineIn(t, env, withModels("--clear-every", "1", path)...)
		if exit != "0" {
			t.Fatalf("%s: exit %s", env, exit)
		}
		return strings.Count(log, "after 1 batches of voice enrollment") +
			strings.Count(log, "Cleared GPU cache after voice enrollment")
	}
	all, each := count("VOICE_ENROLLMENT_BATCH_SIZE=100"), count("VOICE_ENROLLMENT_BATCH_SIZE=1")
	if texts := count("EMBEDDING_BATCH_SIZE=1 VOICE_ENROLLMENT_BATCH_SIZE=100"); all != 1 ||
		each < 2 || texts != all {
		t.Errorf("%d batches of 100, %d of 1, %d of 100 with EMBEDDING_BATCH_SIZE=1", all, each, texts)
	}
}

// TestTextProfile: EMBEDDING_PROFILE=speed takes the smaller model.
func TestTextProfile(t *testing.T) {
	t.Parallel()
	path := audioFiles(t)[0]
	run := func(env string) (int64, *textEmbedding) {
		out := t.TempDir()
		log, stderr, exit := gpupipelineIn(t, env, "--model", model, "--text-model", textModel,
			"--text-model-fast", textModelFast, "--out", out, path)
		if exit != "0" || stderr != "" {
			t.Fatalf("%s: exit %s, stderr %q", env, exit, stderr)
		}
		file := timelineOf(t, strings.NewReader(log)).Files[0]
		return holds(t, file, "Text Embedder Cleanup"), readDocument(t, out, path).TextEmbedding
	}
	quality, large := run("EMBEDDING_PROFILE=quality")
	speed, small := run("EMBEDDING_PROFILE=speed")
	if large.Model != "text.onnx" || large.Dimension != 384 || small.Model != "text-small.onnx" ||
		small.Dimension != 128 || speed > quality/2 {
		t.Errorf("quality: %s, %d numbers, holds %d; speed: %s, %d numbers, holds %d", large.Model,
			large.Dimension, quality, small.Model, small.Dimension, speed)
	}
}

// TestTextOutOfMemory: if memory runs out, the batch of texts gets smaller and the result stays the
// same. If not one text fits, the file goes on without embeddings. Files end ok in both cases, also
// if the fast path is not allowed. A file may lose its speakers, too.
func TestTextOutOfMemory(t *testing.T) {
	t.Parallel()
	files := audioFiles(t)[:3]
	out := t.TempDir()
	text, stderr, exit := gpupipelineIn(t, "EMBEDDING_BATCH_SIZE=2", append(withModels(
		"--enroll-batch", "4", "--text-model", textModel, "--out", out, "--fast-path=false",
		"--fault", "oom-text-batch:2", "--fault", "oom-text-item:3"), files...)...)
	log := timelineOf(t, strings.NewReader(text))
	if exit != "0" || statuses(log) != "ok ok ok" {
		t.Fatalf("exit %s, files %s, stderr %s", exit, statuses(log), stderr)
	}
	if want := "gpupipeline: file 3, " + files[2] +
		": no text embeddings for want of memory: "; !strings.HasPrefix(stderr, want) ||
		strings.Count(stderr, "\n") != 1 {
		t.Errorf("expected the line %q, found %q", want, stderr)
	}
	for _, want := range []string{
		"Attempting GPU recovery and retry with smaller batch: 1 of 2 texts\n",
		"ADVICE: smaller batches: 2 texts asked for ",
		"(--text-batch 1); that alone is enough\n",
		"Continuing without text embeddings for this file\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("expected %q in the log, found\n%s", want, text)
		}
	}
	if strings.Contains(text, "fast path") {
		t.Errorf("the log names the fast path, which is not allowed:\n%s", text)
	}
	for i, f := range log.Files {
		if diff := cmp.Diff(twentyThree, names(f)); diff != "" {
			t.Error(diff)
		}
		if i == 0 != (len(f.OOMs) == 0) {
			t.Errorf("file %d: %+v", i+1, f.OOMs)
		}
		for _, oom := range f.OOMs {
			if !oom.Fallback {
				t.Errorf("file %d: no fallback after %s", i+1, oom.Text)
			}
		}
		d := readDocument(t, out, f.Path)
		if embedded := d.TextEmbedding != nil; embedded != (i < 2) || embedded != (d.Fallback == "") ||
			len(d.Turns) == 0 || d.Segments[0].Speaker == "" {
			t.Errorf("file %d: fallback %q, embeddings %v, %d turns", i+1, d.Fallback, embedded,
				len(d.Turns))
		}
	}
}

// TestTextEmbedderKept: the fault keep: works for the text embedder's cleanup as for others.
func TestTextEmbedderKept(t *testing.T) {
	t.Parallel()
	log, _, exit := gpupipeline(t, append([]string{
		"--model", model, "--text-model", textModel, "--fault", "keep:Text Embedder",
	}, audioFiles(t)[:3]...)...)
	if exit != "0" || statuses(log) != "ok ok ok" {
		t.Fatalf("exit %s, files %s", exit, statuses(log))
	}
	for _, f := range log.Files {
		if got := freed(t, f, "Text Embedder Cleanup"); got < -1 || got > 1 {
			t.Errorf("Text Embedder Cleanup freed %.2f %%", got)
		}
	}
}
