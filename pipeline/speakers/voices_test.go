package speakers

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// at returns an embedding of two numbers: the vector of the given length, at an angle in degrees.
func at(degrees, length float64) []float32 {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	return []float32{float32(length * cos), float32(length * sin)}
}

func name(t *testing.T, v *Voices, embeddings map[string][][]float32, want map[string]string) {
	t.Helper()
	got, err := v.Name(embeddings)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestVoicesOverAudios: two voices keep their names, although the diarization of the next audio
// numbers the speakers in the opposite order.
func TestVoicesOverAudios(t *testing.T) {
	v := NewVoices(0.8) // the cosine of 37 degrees
	name(t, v, map[string][][]float32{"0": {at(0, 1), at(4, 10)}, "1": {at(90, 1)}},
		map[string]string{"0": "SPEAKER_00", "1": "SPEAKER_01"})
	name(t, v, map[string][][]float32{"0": {at(85, 3)}, "1": {at(-5, 0.1)}},
		map[string]string{"0": "SPEAKER_01", "1": "SPEAKER_00"})
	name(t, v, map[string][][]float32{"0": {at(180, 1)}}, map[string]string{"0": "SPEAKER_02"})
	name(t, v, map[string][][]float32{"0": {at(172, 1)}, "1": {at(10, 1)}},
		map[string]string{"0": "SPEAKER_02", "1": "SPEAKER_00"})
	name(t, v, nil, map[string]string{})
}

func TestVoicesAreTheirMean(t *testing.T) {
	v := NewVoices(0.8)
	name(t, v, map[string][][]float32{"0": {at(0, 1)}, "1": {at(180, 1)}},
		map[string]string{"0": "SPEAKER_00", "1": "SPEAKER_01"})
	// Both speakers resemble the first voice: they are 20 and 3 degrees away from it. The nearer
	// speaker gets the name of the voice, and the other speaker gets a new name.
	name(t, v, map[string][][]float32{"0": {at(20, 1)}, "1": {at(3, 1)}},
		map[string]string{"0": "SPEAKER_02", "1": "SPEAKER_00"})
	// This speaker joins the first voice, which then is the mean of 0, 3 and -10 degrees. The next
	// speaker, at -38 degrees, is too far from the first embedding (38 degrees), but near enough to
	// the mean (36 degrees).
	name(t, v, map[string][][]float32{"0": {at(-10, 1)}}, map[string]string{"0": "SPEAKER_00"})
	name(t, v, map[string][][]float32{"0": {at(-38, 1)}}, map[string]string{"0": "SPEAKER_00"})
}

// TestVoicesPairAll: both speakers get the name of a voice, because x takes the voice that is less
// similar to x.
func TestVoicesPairAll(t *testing.T) {
	v := NewVoices(0.8)
	name(t, v, map[string][][]float32{"a": {at(0, 1)}, "b": {at(40, 1)}},
		map[string]string{"a": "SPEAKER_00", "b": "SPEAKER_01"})
	// x is 30 degrees away from voice 00 and 10 from voice 01; y is 70 and 30 degrees away. If x
	// took voice 01, y would be too far from voice 00.
	name(t, v, map[string][][]float32{"x": {at(30, 1)}, "y": {at(70, 1)}},
		map[string]string{"x": "SPEAKER_00", "y": "SPEAKER_01"})
}

func TestVoicesSayWhatIsWrong(t *testing.T) {
	v := NewVoices(0.8)
	name(t, v, map[string][][]float32{"0": {at(0, 1)}}, map[string]string{"0": "SPEAKER_00"})
	nan := float32(math.NaN())
	for want, embeddings := range map[string][][]float32{
		"voice of 0: expected an embedding, found none":                nil,
		"voice of 0: expected embeddings of 2 numbers, found 3":        {{1, 2, 3}},
		"voice of 0: expected an embedding of some length, found 0":    {at(0, 1), {0, 0}},
		"voice of 0: expected an embedding of some length, found NaN":  {{nan, 1}},
		"voice of 0: expected an embedding of some length, found +Inf": {{float32(math.Inf(1)), 1}},
	} {
		if _, err := v.Name(map[string][][]float32{"0": embeddings}); err == nil ||
			err.Error() != want {
			t.Errorf("expected error %q, found %v", want, err)
		}
	}
	fresh := NewVoices(0.8)
	if _, err := fresh.Name(map[string][][]float32{"0": {{1, 2, 3}}, "1": {{1, 2}}}); err == nil ||
		!strings.Contains(err.Error(), "3 numbers, found 2") {
		t.Errorf("found %v", err)
	}
	// After an error, the voices can still be used.
	name(t, fresh, map[string][][]float32{"0": {{1}}}, map[string]string{"0": "SPEAKER_00"})
}

func TestRename(t *testing.T) {
	turns := []Turn{{0, 1, "a"}, {1, 2, "b"}}
	got := Rename(turns, map[string]string{"a": "Ann"})
	if diff := cmp.Diff([]Turn{{0, 1, "Ann"}, {1, 2, "b"}}, got); diff != "" ||
		turns[0].Speaker != "a" {
		t.Error(diff)
	}
}
