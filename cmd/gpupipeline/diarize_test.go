//go:build whisper

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
)

// All nineteen checkpoints in their order, every cleanup whole, in the process and in workers alike; and what is found does not
// depend on where.
func TestDiarization(t *testing.T) {
	files := audioFiles(t)
	read := func(args ...string) string {
		out := t.TempDir()
		args = append(withModels("--out", out, "--device", "host", "--formats", "json,srt,vtt,rttm"), args...)
		log, stderr, exit := gpupipeline(t, append(args, files...)...)
		if exit != "0" || stderr != "" || len(log.Files) != len(files) {
			t.Fatalf("%v: exit %s, %d files, stderr %q", args, exit, len(log.Files), stderr)
		}
		for i, f := range log.Files {
			if f.Status != parser.StatusOK {
				t.Errorf("%s: %s", f.Path, f.Status)
			}
			if diff := cmp.Diff(nineteen, names(f)); diff != "" {
				t.Error(diff)
			}
			for _, cleanup := range []string{"Whisper", "Waveform", "Diarization Model", "Final"} {
				if got := freed(t, f, cleanup+" Cleanup"); got < 95 || got > 105 {
					t.Errorf("%s: %s freed %.1f %%", f.Path, cleanup, got)
				}
			}
			if i > 3 && idle(f)-idle(log.Files[i-1]) > 16<<10 {
				t.Errorf("idle level of file %d: %d, of the one before %d", i, idle(f), idle(log.Files[i-1]))
			}
		}
		return documents(t, out)
	}
	here := read()
	if diff := cmp.Diff(here, read("--isolate", "whisper,diarization")); diff != "" {
		t.Errorf("what workers find differs:\n%s", diff)
	}
	for _, want := range []string{"SPEAKER audio-0001 1 ", "WEBVTT\n", "<v SPEAKER_00>", "[SPEAKER_01]: ", `"speaker": "SPEAKER_00"`} {
		if !strings.Contains(here, want) {
			t.Errorf("the documents lack %q:\n%s", want, here)
		}
	}
}

// documents is all that was written, by name.
func documents(t *testing.T, dir string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(filepath.Base(path) + "\n")
		b.Write(text)
	}
	return b.String()
}
