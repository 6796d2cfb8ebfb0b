package source

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"vramsoak/parser/search"
)

// TestLineEnd: LineEnd finds the line's end from every offset, and reports an escape byte before
// it. LineStart finds the line's beginning.
func TestLineEnd(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		text := bytes.Repeat([]byte{'x'}, random.IntN(200))
		for range random.IntN(4) {
			if len(text) > 0 {
				text[random.IntN(len(text))] = "\n\r\x1b "[random.IntN(4)]
			}
		}
		want := bytes.IndexAny(text, "\n\r")
		if want < 0 {
			want = len(text)
		}
		w := Window{Buf: text}
		for at := 0; at <= want; at += 7 {
			if end, escaped := w.LineEnd(
				at,
			); end != want ||
				escaped != (bytes.IndexByte(text[at:want], search.Escape) >= 0) {
				t.Fatalf("%q from %d: %d, %t", text, at, end, escaped)
			}
		}
		for at := range len(text) + 1 {
			if start, want := w.LineStart(at), bytes.LastIndexAny(text[:at], "\n\r")+1; start != want {
				t.Fatalf("%q at %d: %d, want %d", text, at, start, want)
			}
		}
	}
}
