//go:build !race

package parser

import (
	"bytes"
	"strings"
	"testing"

	"vramsoak/parser/dialect"
)

// Each needle of the built-in dialects is found wherever it begins, beside all the others.
func TestNeedlesAreFound(t *testing.T) {
	for _, d := range dialect.BuiltIn() {
		for _, needle := range d.Needles {
			for before := range 70 {
				text := append(bytes.Repeat([]byte{'#'}, before), needle...)
				if at := allDialects().Next(text, 0); at < 0 {
					t.Fatalf("%s: %q behind %d bytes is not found", d.Name, needle, before)
				}
			}
		}
	}
}

// A line of nothing but needles, with numbers behind them or without, is read in a time that grows
// with its length. Where each needle cost as much as the line is long, this would run for hours.
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
