package dialect

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"vramsoak/parser/record"
)

// TestUsualFields: usualFields gives the same sizes as the slower code, which reads the same
// fields in lower case.
func TestUsualFields(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const usual = "Allocated: 7.23GB (30.1%) | Reserved: 10.00MB | Free: 123.99GB (100.0%)  |  " +
		"Total: 99999.99GB | Peak: 1.00GB"
	lower := strings.NewReplacer("Allocated", "allocated", "Reserved", "reserved", "Free", "free",
		"Total", "total")
	read := 0
	for range 200_000 {
		text := []byte(usual)
		if random.IntN(2) == 0 {
			text = text[random.IntN(len(usual)):]
		}
		text = slices.Clone(text[:random.IntN(len(text)+1)])
		for range random.IntN(3) {
			if len(text) > 0 {
				text[random.IntN(len(text))] = usual[random.IntN(len(usual))]
			}
		}
		var got, want record.Checkpoint
		rest, bad := readFields(&got, text)
		wantRest, wantBad := readFields(&want, []byte(lower.Replace(string(text))))
		sameRest := lower.Replace(string(rest)) == string(wantRest)
		if !sameRest || (bad == nil) != (wantBad == nil) || got != want {
			t.Fatalf("%q: %v, %q and %v, want %v, %q and %v",
				text, got.Reading, rest, bad, want.Reading, wantRest, wantBad)
		}
		if got.Len() > 1 {
			read++
		}
	}
	if read < 10_000 {
		t.Errorf("%d with several fields", read)
	}
}
