package parser_test

import (
	"fmt"
	"strings"
	"testing"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// TestScreenAcrossWindows: the recorded screen of the program watch fills more than one window.
// Each repaint gives one record, at the right line.
func TestScreenAcrossWindows(t *testing.T) {
	const repaints = 60_000
	var b strings.Builder
	b.WriteString(
		"\x1b[H\x1b[2JSun Jan 25 17:25:39 2026" +
			"\x1b[2;1H[0] NVIDIA A40 | 45'C,  12 % | 00000 / 46068 MB |\x1b[20;1H\r\n",
	)
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
		c, ok := rec.(record.Checkpoint)
		// The first repaint is on line 1, and each line after it has ten repaints.
		line := 2 + (int(next)-1)/10
		if next == 0 {
			line = 1
		}
		if !ok || c.Bytes(record.Used) != next<<20 {
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
