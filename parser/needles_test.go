//go:build !race

package parser

import (
	"bytes"
	"strings"
	"testing"

	"vramsoak/parser/dialect"
)

// TestNeedlesAreFound: the search for the needles of all built-in dialects finds each of them
// behind 0 to 69 other bytes.
func TestNeedlesAreFound(t *testing.T) {
	for _, d := range dialect.BuiltIn() {
		for _, needle := range d.Needles {
			for before := range 70 {
				text := append(bytes.Repeat([]byte{'#'}, before), needle...)
				if at := allDialects().Next(text, 0); at < 0 {
					t.Fatalf("%s: %q after %d bytes is not found", d.Name, needle, before)
				}
			}
		}
	}
}

// TestHostileNeedles: reading a line that consists only of needles, with or without numbers between
// them, takes time in proportion to the line's length. If each needle cost a scan of the line, this
// would run for hours.
func TestHostileNeedles(t *testing.T) {
	for _, d := range dialect.BuiltIn() {
		for _, needle := range d.Needles {
			for _, behind := range []string{"", " ", "1 ", "1.00 GB ", "a: 1 b=2 (", "\"", "1\n"} {
				log := strings.Repeat(needle+behind, 16<<10/len(needle+behind))
				for _, err := range Read(strings.NewReader(log), "hostile.log") {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}
