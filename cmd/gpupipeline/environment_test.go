//go:build whisper

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEnableFastPath: with ENABLE_FAST_PATH=true, as without the variable, a file in which memory
// runs out in the diarization goes on without speakers, and all other files have speakers. With
// false the file fails. Both say once on stderr what the variable means now.
func TestEnableFastPath(t *testing.T) {
	t.Parallel()
	files := audioFiles(t)[:3]
	for env, want := range map[string]struct {
		statuses, exit, notice string
		fallback               bool
	}{
		"":                      {"ok ok ok", "0", "", true},
		"ENABLE_FAST_PATH=true": {"ok ok ok", "0", "gpupipeline: ENABLE_FAST_PATH=true: ", true},
		"ENABLE_FAST_PATH=false": {
			"ok oom ok", "1", "gpupipeline: ENABLE_FAST_PATH=false: ", false,
		},
	} {
		out := t.TempDir()
		text, stderr, exit := gpupipelineIn(t, env, append(withModels("--out", out, "--fault",
			"oom-item:2"), files...)...)
		log := timelineOf(t, strings.NewReader(text))
		if exit != want.exit || statuses(log) != want.statuses {
			t.Fatalf("%s: exit %s, files %s, stderr %s", env, exit, statuses(log), stderr)
		}
		if got := strings.Count(stderr, "ENABLE_FAST_PATH"); want.notice != "" &&
			(got != 1 || !strings.HasPrefix(stderr, want.notice)) || want.notice == "" && got != 0 {
			t.Errorf("%s: stderr %q", env, stderr)
		}
		if got := strings.Contains(text, "Falling back to the fast path: no diarization for this "+
			"file"); got != want.fallback {
			t.Errorf("%s: fallback in the log: %v", env, got)
		}
		for i, f := range log.Files {
			if diff := cmp.Diff(nineteen, names(f)); diff != "" {
				t.Errorf("%s: %s", env, diff)
			}
			if i == 1 && !want.fallback {
				if !strings.HasPrefix(f.Error, "Speaker Alignment: voice enrollment: clip 1 of ") ||
					len(f.OOMs) == 0 || f.OOMs[len(f.OOMs)-1].Fallback {
					t.Errorf("%s: error %q, %+v", env, f.Error, f.OOMs)
				}
				continue
			}
			if d := readDocument(t, out, f.Path); (len(d.Turns) > 0) != (i != 1) {
				t.Errorf("%s: file %d has %d turns", env, i+1, len(d.Turns))
			}
		}
		// The notice on stderr, which a soak writes into the same log, is no failure.
		notice, _, _ := strings.Cut(stderr, "\n")
		both := timelineOf(t, strings.NewReader(notice+"\n"+text))
		if want.notice != "" && both.Failures != log.Failures {
			t.Errorf("%s: the parser reads the notice as a failure", env)
		}
	}
}

// TestFast: --fast switches the diarization off in every file, whatever the variable says.
func TestFast(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"", "ENABLE_FAST_PATH=true", "ENABLE_FAST_PATH=false"} {
		text, stderr, exit := gpupipelineIn(t, env, withModels("--fast", audioFiles(t)[0])...)
		if exit != "0" || stderr != "" {
			t.Fatalf("%s: exit %s, stderr %q", env, exit, stderr)
		}
		if diff := cmp.Diff(wholeFile, names(timelineOf(t,
			strings.NewReader(text)).Files[0])); diff != "" {
			t.Errorf("%s: %s", env, diff)
		}
	}
}

// TestSkipVoiceEmbeddings: no voice is embedded, and there are no checkpoints of that. Words and
// segments have the speakers that the diarization found.
func TestSkipVoiceEmbeddings(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	text, stderr, exit := gpupipelineIn(t, "SKIP_VOICE_EMBEDDINGS=true", withModels("--out", out,
		audioFiles(t)[0])...)
	if exit != "0" || stderr != "" {
		t.Fatalf("exit %s, stderr %q", exit, stderr)
	}
	f := timelineOf(t, strings.NewReader(text)).Files[0]
	want := slices.Concat(nineteen[:14], []string{"After Speaker Alignment"}, nineteen[17:])
	if diff := cmp.Diff(want, names(f)); diff != "" {
		t.Error(diff)
	}
	for _, word := range []string{"enrollment", "Alignment Tensors"} {
		if strings.Contains(text, word) {
			t.Errorf("the log has %q:\n%s", word, text)
		}
	}
	d := readDocument(t, out, f.Path)
	if len(d.Turns) == 0 || len(d.Segments) == 0 {
		t.Fatalf("%d turns, %d segments", len(d.Turns), len(d.Segments))
	}
	for _, s := range d.Segments {
		if s.Speaker == "" || s.Words[0].Speaker == "" {
			t.Errorf("a segment without a speaker: %+v", s)
		}
	}
}
