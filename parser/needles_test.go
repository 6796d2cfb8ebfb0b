//go:build !race

package parser

import (
	"strings"
	"testing"

	"vramsoak/parser/dialect"
)

// TestHostileNeedles: a line that consists only of needles, with or without numbers between them,
// is read in time proportional to the line's length. If the reader scanned the whole line for
// each needle, the test would run for hours.
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
