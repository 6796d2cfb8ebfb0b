//go:build whisper

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramsoak/pipeline/speakers"
)

// TestTruth: on the fixtures' two voices the diarization is right for at least 95 % of the speech
// of each file. With enrollment a voice has the same name in all files. Without it, the first
// speaker of a file is SPEAKER_00, and the two voices take turns.
func TestTruth(t *testing.T) {
	t.Parallel()
	files := audioFiles(t)[:4]
	manifest := filepath.Join(batch, "manifest.json")
	for _, enroll := range []bool{true, false} {
		out := t.TempDir()
		args := withModels("--out", out, "--truth", manifest)
		if !enroll {
			args = append(args, "--no-enroll")
		}
		log, stderr, exit := gpupipeline(t, append(args, files...)...)
		if exit != "0" || len(log.Files) != len(files) {
			t.Fatalf("exit %s, %d files, stderr %s", exit, len(log.Files), stderr)
		}
		if !strings.HasPrefix(stderr, "gpupipeline: 4 files: diarization error rate ") ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("stderr: %q", stderr)
		}
		mappings := map[string]map[string]string{}
		for _, path := range files {
			d := readDocument(t, out, path)
			if d.Truth == nil || d.Truth.Errors.Reference == 0 || d.Truth.ErrorRate > 0.05 ||
				d.Truth.WordAccuracy < 0.95 || d.Truth.Words.Words == 0 {
				t.Errorf("%s: %+v", path, d.Truth)
				continue
			}
			mappings[d.Truth.Errors.Mapping["SPEAKER_00"]] = d.Truth.Errors.Mapping
		}
		if (len(mappings) == 1) != enroll {
			t.Errorf("enrollment %v: names stand for %v", enroll, mappings)
		}
	}
}

// TestScore: a score counts correct words and seconds. A file that is missing from the manifest is
// not judged.
func TestScore(t *testing.T) {
	t.Parallel()
	all, err := readTruth(filepath.Join(batch, "manifest.json"))
	if err != nil || len(all.turns) != 6 {
		t.Fatalf("%v, %v", all, err)
	}
	path := audioFiles(t)[0]
	right := all.turns[path]
	segment := speakers.Segment{Words: []speakers.Word{{
		Text: " a", Start: right[0].Start,
		End: right[0].End, Speaker: right[0].Speaker,
	}}}
	d := &document{Path: path, Turns: right, Segments: []speakers.Segment{segment}}
	if s := all.score(d); s.ErrorRate != 0 || s.WordAccuracy != 1 || s.Words.Right != 1 {
		t.Errorf("the truth itself: %+v", s)
	}
	d = &document{Path: path}
	if s := all.score(d); s.ErrorRate != 1 || s.Errors.Missed != s.Errors.Reference {
		t.Errorf("nothing: %+v", s)
	}
	if s := all.score(&document{Path: "elsewhere.wav"}); s != nil {
		t.Errorf("another file: %+v", s)
	}
}

// TestTruthInRTTM: a truth in RTTM, which names files without their folders, gives the same score
// as the manifest.
func TestTruthInRTTM(t *testing.T) {
	t.Parallel()
	files := audioFiles(t)[:2]
	manifest, err := readTruth(filepath.Join(batch, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := speakers.WriteRTTM(&text, audioName(files[1]), manifest.turns[files[1]]); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "truth.rttm")
	if err := os.WriteFile(path, text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	log, stderr, exit := gpupipeline(t, append(withModels("--truth", path), files...)...)
	if exit != "0" || statuses(log) != "ok ok" || !strings.HasPrefix(stderr,
		"gpupipeline: 1 file: diarization error rate ") {
		t.Errorf("exit %s, files %s, stderr %q", exit, statuses(log), stderr)
	}
}

// TestTruthOfOtherFiles: a truth that covers none of the files is an error. It is reported at the
// start if the files are known, otherwise at the end.
func TestTruthOfOtherFiles(t *testing.T) {
	t.Parallel()
	files := audioFiles(t)[:1]
	path := filepath.Join(t.TempDir(), "truth.rttm")
	if err := os.WriteFile(path, []byte("SPEAKER other 1 0.0 1.0 <NA> <NA> A <NA> <NA>\n"),
		0o666); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "list.txt")
	if err := os.WriteFile(list, []byte(files[0]), 0o666); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{"": files, "ok": {"--list", list}} {
		log, stderr, exit := gpupipeline(t, append(withModels("--truth", path), args...)...)
		if exit != "2" || statuses(log) != want ||
			stderr != "gpupipeline: --truth: none of the 1 file is in "+path+"\n" {
			t.Errorf("%v: exit %s, files %s, stderr %q", args, exit, statuses(log), stderr)
		}
	}
}
