package parser

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// What is read at once is what is read piece by piece.
func TestUsualField(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const usual = "Allocated: 7.23GB (30.1%) | Reserved: 10.00MB | Free: 123.99GB | Total: 99999.99GB | "
	read := 0
	for range 200_000 {
		text := []byte(usual)[random.IntN(len(usual)):]
		text = slices.Clone(text[:random.IntN(len(text)+1)])
		for range random.IntN(3) {
			if len(text) > 0 {
				text[random.IntN(len(text))] = usual[random.IntN(len(usual))]
			}
		}
		q, s, n := usualField(text)
		if n == 0 {
			continue
		}
		read++
		wantQ, rest, ok := cutLabel(text)
		number, rest, isNumber := cutNumber(trimBlanks(rest))
		unit, rest := cutUnit(rest)
		want, fits := number.times(unit)
		if !ok || !isNumber || !fits || q != wantQ || s != want || n != len(text)-len(rest) {
			t.Fatalf("%q: %s %v of %d bytes, want %s %v of %d", text, q, s, n, wantQ, want, len(text)-len(rest))
		}
	}
	if read < 1000 {
		t.Errorf("%d fields were read at once", read)
	}
}
