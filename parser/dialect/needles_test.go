//go:build !race

package dialect

import (
	"bytes"
	"slices"
	"testing"

	"vramsoak/parser/search"
)

// TestNeedlesAreFound: the search finds each needle of each built-in dialect behind 0 to 69 other
// bytes. A needle is a fixed text for which a dialect searches.
func TestNeedlesAreFound(t *testing.T) {
	var groups [][]string
	for _, d := range BuiltIn() {
		groups = append(groups, d.Needles)
	}
	set := search.New(groups)
	for owner, d := range BuiltIn() {
		for _, needle := range d.Needles {
			if len(needle) < search.MinNeedle || len(needle) >= search.MaxNeedle {
				t.Errorf("%s: %q has %d bytes, want %d to %d", d.Name, needle, len(needle),
					search.MinNeedle, search.MaxNeedle-1)
			}
			for before := range 70 {
				text := append(bytes.Repeat([]byte{'#'}, before), needle...)
				if !finds(set, text, before, owner) {
					t.Fatalf("%s: %q after %d bytes is not found", d.Name, needle, before)
				}
			}
		}
	}
}

// finds reports whether a needle of the dialect with the index owner begins at an offset of the
// text.
func finds(set *search.Set, text []byte, start, owner int) bool {
	for at := 0; ; at++ {
		var c search.Candidates
		if at, _, c = set.Next(text, at); at < 0 {
			return false
		}
		for _, h := range c.Insert(nil, text, at) {
			if h.Start == start && slices.Contains(h.Owners, owner) {
				return true
			}
		}
	}
}
