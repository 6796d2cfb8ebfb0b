//go:build whisper

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"vramsoak/fixtures"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// child is the variable that makes this test binary run as gpupipeline. The tests start it as a
// separate process, which may die.
const child = "GPUPIPELINE_TEST_CHILD"

// The paths of the tiny models and of a batch of audio. They are made once.
var model, segmentation, embedding, textModel, textModelFast, batch string

func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		main()
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "gpupipeline")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		model, batch = filepath.Join(dir, "tiny.bin"), filepath.Join(dir, "audio")
		_, err = fixtures.WriteAudio(batch, fixtures.AudioSpec{
			Count: 6, MinSeconds: 3,
			MaxSeconds: 6, Seed: 1,
		})
		segmentation, embedding = filepath.Join(dir, fixtures.SegmentationName), filepath.Join(dir,
			fixtures.EmbeddingName)
		textModel, textModelFast = filepath.Join(dir, fixtures.TextName), filepath.Join(dir,
			fixtures.TextFastName)
		err = errors.Join(err, fixtures.WriteWhisperModel(model, 1),
			fixtures.WriteDiarizationModels(dir, fixtures.DiarizationSpec{Seed: 1}),
			fixtures.WriteTextModels(dir, 1))
		if err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

func audioFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(batch, "*.wav"))
	if err != nil || len(files) != 6 {
		t.Fatalf("%v, %v", files, err)
	}
	return files
}

// variablesRead are the environment variables that affect gpupipeline.
var variablesRead = []string{
	"ENABLE_FAST_PATH", "SKIP_VOICE_EMBEDDINGS", "VOICE_ENROLLMENT_BATCH_SIZE",
	"EMBEDDING_BATCH_SIZE", "EMBEDDING_PROFILE", "VRAMSOAK_FIRST",
	"OMP_WAIT_POLICY", "GLIBC_TUNABLES",
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(args, "--device") && !slices.Contains(args, workerFlag) {
		args = append([]string{"--device", "host"}, args...) // also on a machine with a GPU
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(variablesRead, name) || strings.HasPrefix(name, "MALLOC_")
	}), child+"=1", "GORACE=atexit_sleep_ms=0")
	return cmd
}

// gpupipeline runs the program until it ends. It returns the log, the stderr, and the exit code or
// the signal that ended it.
func gpupipeline(t *testing.T, args ...string) (log *timeline.Timeline, stderr, exit string) {
	t.Helper()
	out, stderr, exit := gpupipelineIn(t, "", args...)
	return timelineOf(t, strings.NewReader(out)), stderr, exit
}

// gpupipelineIn runs the program in an environment of variables with blanks between. It returns the
// text of the log.
func gpupipelineIn(t *testing.T, env string, args ...string) (log, stderr, exit string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := command(t, args...)
	cmd.Env = append(cmd.Env, strings.Fields(env)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return out.String(), errs.String(), ending(cmd)
}

func timelineOf(t *testing.T, r io.Reader) *timeline.Timeline {
	t.Helper()
	tl, err := parser.Build(parser.Read(r, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if len(tl.Bad) > 0 {
		t.Errorf("bad lines: %v", tl.Bad)
	}
	return tl
}

func ending(cmd *exec.Cmd) string {
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return fmt.Sprint(cmd.ProcessState.ExitCode())
}

var wholeFile = []string{
	"Pipeline Initialization", "Before Audio Preprocessing", "After Audio Preprocessing",
	"Before Transcription",
	"Before Whisper Cleanup", "After Whisper Cleanup", "After Transcription (post-cleanup)",
	"Before Final Cleanup", "After Final Cleanup",
}

// nineteen are the checkpoints of a file with a diarization.
var nineteen = slices.Concat(wholeFile[:7], []string{
	"Before Diarization", "Before Waveform Cleanup", "After Waveform Cleanup",
	"Before Diarization Model Cleanup",
	"After Diarization Model Cleanup", "After Diarization (post-cleanup)",
	"Before Speaker Alignment",
	"Before Alignment Tensors Cleanup", "After Alignment Tensors Cleanup",
	"After Speaker Alignment (post-cleanup)",
}, wholeFile[7:])

// twentyThree are the checkpoints of a file with a diarization and text embeddings.
var twentyThree = slices.Concat(nineteen[:17], textCheckpoints, nineteen[17:])

// textCheckpoints are the checkpoints of text embedding.
var textCheckpoints = []string{
	"Before Text Embedding", "Before Text Embedder Cleanup", "After Text Embedder Cleanup",
	"After Text Embedding (post-cleanup)",
}

// withModels adds the arguments for the models of transcription and diarization.
func withModels(args ...string) []string {
	return append([]string{
		"--model", model, "--segmentation", segmentation, "--embedding",
		embedding,
	}, args...)
}

func names(f *timeline.File) []string {
	var names []string
	for _, c := range f.Checkpoints {
		names = append(names, c.Name)
	}
	return names
}

// freed returns how much of its memory a cleanup freed, in percent.
func freed(t *testing.T, f *timeline.File, cleanup string) float64 {
	t.Helper()
	for _, c := range f.Cleanups {
		if c.Name == cleanup {
			before, after := f.Checkpoints[c.Before], f.Checkpoints[c.After]
			return 100 * float64(before.Bytes(record.Allocated)-after.Bytes(
				record.Allocated)) / float64(before.Bytes(record.Holds))
		}
	}
	t.Errorf("%s has no %s", f.Path, cleanup)
	return 0
}

func idle(f *timeline.File) int64 {
	return f.Checkpoints[len(f.Checkpoints)-1].Bytes(record.Allocated)
}

func statuses(tl *timeline.Timeline) string {
	var all []string
	for _, f := range tl.Files {
		all = append(all, string(f.Status))
	}
	return strings.Join(all, " ")
}
