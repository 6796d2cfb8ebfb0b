//go:build whisper

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
)

func TestCleanBatch(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	log, stderr, exit := gpupipeline(t, append([]string{
		"--model", model, "--out", out, "--device",
		"host",
	}, audioFiles(t)...)...)
	if exit != "0" || stderr != "" || len(log.Files) != 6 {
		t.Fatalf("exit %s, %d files, stderr %q", exit, len(log.Files), stderr)
	}
	for i, f := range log.Files {
		if f.Path != audioFiles(t)[i] || f.Status != record.StatusOK {
			t.Errorf("file %d: %s, %s", i, f.Path, f.Status)
		}
		if diff := cmp.Diff(wholeFile, names(f)); diff != "" {
			t.Error(diff)
		}
		for _, cleanup := range []string{"Whisper Cleanup", "Final Cleanup"} {
			if got := freed(t, f, cleanup); got < 95 || got > 105 {
				t.Errorf("%s: %s freed %.1f %%", f.Path, cleanup, got)
			}
		}
		// Libraries and threads allocate memory once, during the first files. Then the level is
		// flat.
		if i > 3 && idle(f)-idle(log.Files[i-1]) > 4<<10 {
			t.Errorf("idle level of file %d: %d, of the one before %d", i, idle(f),
				idle(log.Files[i-1]))
		}
	}
	written, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil || len(written) != 6 {
		t.Fatalf("transcripts %v, %v", written, err)
	}
	data, err := os.ReadFile(filepath.Join(out, documentName(log.Files[0].Path, "json")))
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if d.Path != log.Files[0].Path || d.Seconds < 3 || d.Seconds > 6 || d.Language != "en" ||
		len(d.Segments) == 0 {
		t.Errorf("transcript %+v", d)
	}
}

func TestBadFilesDoNotEndTheBatch(t *testing.T) {
	t.Parallel()
	files := audioFiles(t)[:2]
	bad := filepath.Join(t.TempDir(), "empty.wav")
	if err := os.WriteFile(bad, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	log, stderr, exit := gpupipeline(t, "--model", model, files[0], bad, filepath.Join(batch,
		"missing.wav"), files[1])
	if exit != "1" || statuses(log) != "ok failed failed ok" {
		t.Fatalf("exit %s, files %s", exit, statuses(log))
	}
	for _, want := range []string{
		"gpupipeline: file 2, " + bad + ": ", "missing.wav: ",
		"gpupipeline: 2 of 4 files failed\n",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q: %s", want, stderr)
		}
	}
	want := []string{
		"Pipeline Initialization", "Before Audio Preprocessing", "After Audio Preprocessing",
		"Before Final Cleanup", "After Final Cleanup",
	}
	if diff := cmp.Diff(want, names(log.Files[1])); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(log.Files[1].Error, "empty") {
		t.Errorf("the log says %q", log.Files[1].Error)
	}
}

// TestClearing: the cache is cleared at the start, when one model makes room for another, and after
// enrollment. During enrollment it is cleared after a number of batches; --clear-every 0 never
// clears it there.
func TestClearing(t *testing.T) {
	t.Parallel()
	path := audioFiles(t)[0]
	cleared := func(every string) int {
		out, err := command(t, append(withModels("--clear-every", every, "--enroll-batch", "1"),
			path)...).Output()
		if err != nil {
			t.Fatalf("--clear-every %s: %v", every, err)
		}
		return strings.Count(string(out), " Cleared GPU cache ")
	}
	if never, seldom, often := cleared("0"), cleared("1000"), cleared("1"); never != 0 ||
		seldom != 4 || often <= seldom {
		t.Errorf("cleared %d times for --clear-every 0, %d for 1000, %d for 1", never,
			seldom, often)
	}
}

// TestCutOffAudio: a recording that was cut off is transcribed up to its end. The log says how much
// is missing.
func TestCutOffAudio(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(audioFiles(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cut.wav")
	// Write the file without its last second.
	if err := os.WriteFile(path, whole[:len(whole)-32000], 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := command(t, "--model", model, path).Output()
	if want := " WARNING: " + path + ": the file ends 1.0 s before its header says; what is " +
		"there is "; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v: expected %q in the log, found\n%s", err, want, out)
	}
}
