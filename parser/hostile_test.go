package parser_test

import (
	"fmt"
	"strings"
	"testing"

	"vramsoak/parser"
)

// Logs that are made to be slow: building is linear in them. A quadratic one would run for hours, and the test with it.
func TestBuildHostile(t *testing.T) {
	const n = 100_000
	logs := map[string]func(b *strings.Builder){
		"befores without afters, then afters without befores": func(b *strings.Builder) {
			for i := range n {
				fmt.Fprintf(b, "[GPU Memory] Before A%d: Allocated: 1.00GB\n", i)
			}
			for i := range n {
				fmt.Fprintf(b, "[GPU Memory] After B%d: Allocated: 1.00GB\n", i)
			}
		},
		"cleanups in ever more open stages": func(b *strings.Builder) {
			for i := range n {
				fmt.Fprintf(b, "[GPU Memory] Before A%d: Allocated: 1.00GB\n", i)
				fmt.Fprintf(b, "[GPU Memory] Before %d Cleanup: Allocated: 1.00GB\n", i)
				fmt.Fprintf(b, "[GPU Memory] After %d Cleanup: Allocated: 0.00GB\n", i)
			}
			for i := range n {
				fmt.Fprintf(b, "[GPU Memory] After A%d: Allocated: 1.00GB\n", n-1-i)
			}
		},
		"many ranks": func(b *strings.Builder) {
			for i := range n {
				fmt.Fprintf(b, "[GPU Memory] Before Model Cleanup: Allocated: 1.00GB | allocated=1073741824 device=0 rank=%d\n", i)
			}
		},
	}
	for name, write := range logs {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			write(&b)
			tl, err := parser.Build(parser.Read(strings.NewReader(b.String()), "hostile.log"))
			if err != nil {
				t.Fatal(err)
			}
			checkInvariants(t, tl)
		})
	}
}
