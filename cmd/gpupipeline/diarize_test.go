//go:build whisper

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
)

// TestDiarization: all nineteen checkpoints appear in order, and every cleanup is complete, both in
// the process and in workers. The result is the same in both.
func TestDiarization(t *testing.T) {
	t.Parallel()
	files := audioFiles(t)[:5]
	read := func(args ...string) string {
		out := t.TempDir()
		args = append(withModels("--out", out, "--device", "host", "--formats",
			"json,srt,vtt,rttm"), args...)
		log, stderr, exit := gpupipeline(t, append(args, files...)...)
		if exit != "0" || stderr != "" || len(log.Files) != len(files) {
			t.Fatalf("%v: exit %s, %d files, stderr %q", args, exit, len(log.Files), stderr)
		}
		for i, f := range log.Files {
			if f.Status != record.StatusOK {
				t.Errorf("%s: %s", f.Path, f.Status)
			}
			if diff := cmp.Diff(nineteen, names(f)); diff != "" {
				t.Error(diff)
			}
			for _, cleanup := range slices.DeleteFunc(slices.Clone(cleanups), func(name string) bool {
				return name == "Text Embedder"
			}) {
				if got := freed(t, f, cleanup+" Cleanup"); got < 95 || got > 105 {
					t.Errorf("%s: %s freed %.1f %%", f.Path, cleanup, got)
				}
			}
			if i > 3 && idle(f)-idle(log.Files[i-1]) > 16<<10 {
				t.Errorf("idle level of file %d: %d, of the one before %d", i, idle(f),
					idle(log.Files[i-1]))
			}
		}
		return documents(t, out)
	}
	here := read()
	if diff := cmp.Diff(here, read("--isolate", "whisper,diarization")); diff != "" {
		t.Errorf("what workers find differs:\n%s", diff)
	}
	for _, want := range []string{
		"SPEAKER audio-0001 1 ", "WEBVTT\n", "<v SPEAKER_00>",
		"[SPEAKER_01]: ", `"speaker": "SPEAKER_00"`,
	} {
		if !strings.Contains(here, want) {
			t.Errorf("the documents lack %q:\n%s", want, here)
		}
	}
}

// TestEnrollmentOutOfMemory: if memory suffices for fewer voices at a time, batches get smaller and
// the result stays the same. If it suffices for no voice, the file has no speakers, and the log
// says so. The file ends ok in both cases, and the parser reports the fallback.
func TestEnrollmentOutOfMemory(t *testing.T) {
	t.Parallel()
	files := audioFiles(t)[:3]
	out := t.TempDir()
	log, stderr, exit := gpupipeline(t, append(withModels("--out", out, "--fault", "oom-batch:2",
		"--fault", "oom-item:3"), files...)...)
	if exit != "0" || statuses(log) != "ok ok ok" {
		t.Fatalf("exit %s, files %s, stderr %s", exit, statuses(log), stderr)
	}
	if want := "gpupipeline: file 3, " + files[2] +
		": no diarization for want of memory: "; !strings.HasPrefix(stderr, want) ||
		strings.Count(stderr, "\n") != 1 {
		t.Errorf("expected the line %q, found %q", want, stderr)
	}
	for i, f := range log.Files {
		if diff := cmp.Diff(nineteen, names(f)); diff != "" {
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
		if spoken := len(d.Turns) > 0 && d.Segments[0].Speaker != ""; spoken != (i < 2) ||
			spoken != (d.Fallback == "") || len(d.Segments) == 0 {
			t.Errorf("file %d: %d turns, first speaker %q, fallback %q", i+1, len(d.Turns),
				d.Segments[0].Speaker, d.Fallback)
		}
	}
}

// documents returns all written documents by name.
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

// readDocument reads the document of a file.
func readDocument(t *testing.T, dir, path string) (d document) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, documentName(path, "json")))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}
