//go:build !race

package parser

import (
	"strings"
	"testing"

	"vramsoak/parser/dialect"
)

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
