//go:build whisper

package main

import (
	"fmt"
	"path/filepath"

	"vramsoak/fixtures"
	"vramsoak/pipeline/speakers"
)

// A truth says who speaks when in files, by their absolute paths.
type truth map[string][]speakers.Turn

// readTruth reads the manifest of a batch of audio.
func readTruth(path string) (truth, error) {
	manifest, err := fixtures.ReadManifest(path)
	if err != nil {
		return nil, err
	}
	t := truth{}
	for _, f := range manifest.Files {
		name, err := filepath.Abs(filepath.Join(filepath.Dir(path), f.Path))
		if err != nil {
			return nil, err
		}
		for _, turn := range f.Turns {
			t[name] = append(t[name], speakers.Turn{Start: turn.Start, End: turn.End, Speaker: turn.Speaker})
		}
	}
	return t, nil
}

// A score says how far a document is from the truth.
type score struct {
	ErrorRate    float64              `json:"diarization_error_rate"`
	Errors       speakers.Errors      `json:"diarization_errors"` // seconds
	WordAccuracy float64              `json:"word_accuracy"`      // the share of words that have the right speaker
	Words        speakers.Attribution `json:"words"`

	files int
}

// score compares a document with the truth, nothing around the turns' ends being left out. It is nil for a file that the truth does
// not know.
func (t truth) score(d *document) *score {
	name, err := filepath.Abs(d.Path)
	if err != nil {
		return nil // without a working folder
	}
	turns, known := t[name]
	if !known {
		return nil
	}
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

// String is a line for people:
//
//	diarization error rate 1.2 %: missed 0.10 s, false alarm 0.05 s, confused 0.00 s of 12.34 s; 15 of 16 words (93.8 %) have the right speaker
func (s *score) String() string {
	return fmt.Sprintf("diarization error rate %.1f %%: missed %.2f s, false alarm %.2f s, confused %.2f s of %.2f s; %d of %d words (%.1f %%) have the right speaker",
		100*s.ErrorRate, s.Errors.Missed, s.Errors.FalseAlarm, s.Errors.Confusion, s.Errors.Reference, s.Words.Right, s.Words.Words, 100*s.WordAccuracy)
}
