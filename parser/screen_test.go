package parser_test

import (
	"fmt"
	"strings"
	"testing"

	"vramsoak/parser"
)

// A record of watch that is longer than a window gives each repaint once, at its line.
func TestScreenAcrossWindows(t *testing.T) {
	const repaints = 60_000
	var b strings.Builder
	b.WriteString("\x1b[H\x1b[2JSun Jan 25 17:25:39 2026\x1b[2;1H[0] NVIDIA A40 | 45'C,  12 % | 00000 / 46068 MB |\x1b[20;1H\r\n")
	for i := range repaints {
		fmt.Fprintf(&b, "\x1b[2;32H%05d\x1b[20;1H", i+1)
		if i%10 == 9 {
			b.WriteString("\r\n")
		}
	}
	if b.Len() < 1<<20 {
		t.Fatalf("the log has %d bytes, less than a window", b.Len())
	}
	next := int64(0)
	for rec, err := range parser.Read(strings.NewReader(b.String()), "watch.log") {
		if err != nil {
			t.Fatal(err)
		}
		c, ok := rec.(parser.Checkpoint)
		// The first one is on line 1, then there are ten on each line.
		line := 2 + (int(next)-1)/10
		if next == 0 {
			line = 1
		}
		if !ok || c.Bytes(parser.Used) != next<<20 {
			t.Fatalf("got %+v, want the reading of %d MiB", rec, next)
		}
		if c.Pos.Line != line {
			t.Fatalf("%d MiB at line %d, want %d", next, c.Pos.Line, line)
		}
		next++
	}
	if next != repaints+1 {
		t.Errorf("got %d readings, want %d", next, repaints+1)
	}
}

// Logs that are made to be slow: reading is linear in them. A quadratic one would run for minutes, and the test with it.
func TestReadHostile(t *testing.T) {
	var fill strings.Builder
	for i := range 300 {
		fmt.Fprintf(&fill, "\x1b[%d;1H| 0%% 1C P0 9W / 9W | %dMiB / 99999MiB | %s|", i+1, i, strings.Repeat("x", 440))
	}
	for name, log := range map[string]string{
		"a full screen, painted cell by cell": fill.String() + strings.Repeat("\x1b[2;1Hx\x1b[1;1Hy\n\x1b[2;1Hz\x1b[1;1Hw\n", 50_000),
		"a screen that scrolls":               fill.String() + strings.Repeat("\x1b[S\x1b[T\x1b[L", 50_000),
		"a screen that is cleared":            fill.String() + strings.Repeat("\x1b[2Jx", 200_000),
		"many columns of memory":              strings.Repeat(strings.Repeat("memory.used,", 300)+"\n", 500),
		"rows of percentages":                 strings.Repeat(strings.Repeat("1 %, ", 800)+"\n", 500),
		"many cells":                          strings.Repeat(strings.Repeat("1MiB |", 170)+"\n", 2000),
		"tables without rows":                 strings.Repeat("| NVIDIA-SMI 1 Driver Version\n"+strings.Repeat("|\n", 20), 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			last := 0
			for rec, err := range parser.Read(strings.NewReader(log), "hostile.log") {
				if err != nil {
					t.Fatal(err)
				}
				if rec.At().Line < last {
					t.Fatalf("line %d after line %d", rec.At().Line, last)
				}
				last = rec.At().Line
			}
		})
	}
}
