//go:build whisper

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vramsoak/pipeline/audio"
	"vramsoak/pipeline/speakers"
)

// A truth holds the true speaker turns of some files, to compare a diarization with.
type truth struct {
	path  string                     // the file it was read from
	turns map[string][]speakers.Turn // by key
	key   func(path string) string   // returns the key of a file
}

// readTruth reads a truth from the manifest of a batch of audio or from RTTM. A manifest has the
// paths of the files. RTTM has their names without folder and extension.
func readTruth(path string) (*truth, error) {
	if strings.EqualFold(filepath.Ext(path), ".rttm") {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // only read
		turns, err := speakers.ReadRTTM(f, path)
		return &truth{path, turns, func(path string) string {
			return speakers.RTTMField(audioName(path))
		}}, err
	}
	manifest, err := audio.ReadManifest(path)
	if err != nil {
		return nil, err
	}
	t := &truth{path, map[string][]speakers.Turn{}, absolute}
	for _, f := range manifest.Files {
		name := absolute(filepath.Join(filepath.Dir(path), f.Path))
		t.turns[name] = f.Turns
	}
	return t, nil
}

// absolute returns the absolute path, or the path itself if there is no working folder.
func absolute(path string) string {
	if name, err := filepath.Abs(path); err == nil {
		return name
	}
	return filepath.Clean(path)
}

// knows reports whether the truth contains a file.
func (t *truth) knows(path string) bool {
	_, known := t.turns[t.key(path)]
	return known
}

// none returns the error for a truth that contains none of the n files.
func (t *truth) none(n int) error {
	return fmt.Errorf("--truth: none of the %s is in %s", files(n), t.path)
}

// A score says how much a document differs from the truth.
type score struct {
	ErrorRate float64         `json:"diarization_error_rate"`
	Errors    speakers.Errors `json:"diarization_errors"` // seconds
	// WordAccuracy is the fraction of words with the right speaker.
	WordAccuracy float64              `json:"word_accuracy"`
	Words        speakers.Attribution `json:"words"`

	files int
}

// score compares a document with the truth, with a collar of 0. It returns nil if the truth does
// not contain the document's file.
func (t *truth) score(d *document) *score {
	if !t.knows(d.Path) {
		return nil
	}
	turns := t.turns[t.key(d.Path)]
	s := &score{Errors: speakers.Compare(turns, d.Turns, 0)}
	var words []speakers.Word
	for _, segment := range d.Segments {
		words = append(words, segment.Words...)
	}
	s.Words = speakers.Attribute(words, turns)
	return s.sum()
}

// add adds the score of another file.
func (s *score) add(other *score) {
	s.files++
	s.Errors.Add(other.Errors)
	s.Words.Add(other.Words)
	s.sum()
}

func (s *score) sum() *score {
	s.ErrorRate, s.WordAccuracy = s.Errors.Rate(), s.Words.Accuracy()
	return s
}

// String returns a line for people:
//
//	diarization error rate 1.2 %: missed 0.10 s, false alarm 0.05 s, confused 0.00 s of 12.34 s;
//	15 of 16 words (93.8 %) have the right speaker
func (s *score) String() string {
	return fmt.Sprintf("diarization error rate %.1f %%: missed %.2f s, false alarm %.2f s, "+
		"confused %.2f s of %.2f s; "+
		"%d of %d words (%.1f %%) have the right speaker",
		100*s.ErrorRate, s.Errors.Missed, s.Errors.FalseAlarm, s.Errors.Confusion,
		s.Errors.Reference, s.Words.Right, s.Words.Words, 100*s.WordAccuracy)
}
