package models

import "testing"

// The counts are those of the models' pages on Hugging Face, model.num_parameters() with the tied proj_out counted once.
func TestCounts(t *testing.T) {
	for name, want := range map[string]int{
		"openai/whisper-tiny":     37_760_640,
		"openai/whisper-large-v3": 1_543_490_560,
	} {
		m, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Count(); got != want {
			t.Errorf("%s has %d parameters, published are %d", name, got, want)
		}
	}
}
