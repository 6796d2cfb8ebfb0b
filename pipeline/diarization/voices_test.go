package diarization

import (
	"path/filepath"
	"testing"

	"vramsoak/fixtures"
	"vramsoak/pipeline/speakers"
)

// TestVoicesKeepTheirNames: the two voices of a batch have the same names in all files, although
// every second file begins with the other voice.
func TestVoicesKeepTheirNames(t *testing.T) {
	d := open(t, config())
	e, err := OpenEmbedder(EmbedderConfig{Model: filepath.Join(models, fixtures.EmbeddingName)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	voices := speakers.NewVoices(0.5)
	names := map[string]string{} // name by the manifest's speaker
	m, files := batch(t, fixtures.AudioSpec{Count: 6, MinSeconds: 6, MaxSeconds: 12, Seed: 4})
	for i, f := range m.Files {
		turns, err := d.Diarize(files[i])
		if err != nil {
			t.Fatal(err)
		}
		embeddings := map[string][][]float32{}
		for _, turn := range turns {
			v, err := e.Embed(files[i][int(turn.Start*sampleRate):int(turn.End*sampleRate)])
			if err != nil {
				t.Fatal(err)
			}
			embeddings[turn.Speaker] = append(embeddings[turn.Speaker], v)
		}
		found, err := voices.Name(embeddings)
		if err != nil {
			t.Fatal(err)
		}
		var reference []speakers.Turn
		reference = append(reference, f.Turns...)
		for name, speaker := range speakers.Compare(reference, speakers.Rename(turns, found),
			0).Mapping {
			if names[speaker] == "" {
				names[speaker] = name
			}
			if names[speaker] != name {
				t.Errorf("%s: %s is %s in the files before and %s here", f.Path, speaker, names[speaker], name)
			}
		}
	}
	if len(names) != 2 {
		t.Errorf("found %v", names)
	}
}
