package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
)

func TestTail(t *testing.T) {
	t.Parallel()
	var l Tail
	if got := l.Lines(); got != "  (it printed nothing)" || l.Cause(false, true) != "" {
		t.Errorf("found %q, %q", got, l.Cause(false, true))
	}
	for i := range 5000 {
		l.add(fmt.Appendf(nil, "line %d\n", i))
	}
	l.add([]byte("10%\r20%\r\n\n\x1b[1;31mred\x1b[0m \x1b]0;title\x07hat\n\xff" +
		strings.Repeat("y", 300)))
	want := ""
	for i := 4983; i < 5000; i++ {
		want += fmt.Sprintf("  line %d\n", i)
	}
	want += "  20%\n  red hat\n  \uFFFD" + strings.Repeat("y", 300)
	if diff := cmp.Diff(want, l.Lines()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if got := l.Cause(false, true); len(got) > causeMax+3 || !strings.HasSuffix(got, "y...") {
		t.Errorf("last line %q", got)
	}
	l.add(bytes.Repeat([]byte("z"), 100_000))
	if len(l.text) > 2*tailMax {
		t.Errorf("%d bytes are kept", len(l.text))
	}
}

// TestLastLine: two kinds of lines do not explain why a file failed: a checkpoint whose beginning
// is lost, and a line about another file.
func TestLastLine(t *testing.T) {
	t.Parallel()
	var c record.Checkpoint
	c.Name = "Before Work"
	c.Set(record.Allocated, record.Exact(1<<20))
	checkpoint := append(c.AppendLine(nil), '\n')
	var l Tail
	l.add([]byte("and they lived happily ever after in file 6\n"))
	for n := range 3 * tailMax { // the kept text begins at each byte of a line
		l.add(checkpoint[n%len(checkpoint) : n%len(checkpoint)+1])
		if n <= 2*tailMax || n%len(checkpoint) != len(checkpoint)-1 {
			continue
		}
		if got := l.Cause(false, true); got != "" {
			t.Fatalf("after %d bytes: %q", n, got)
		}
	}
	l.reset()
	l.add([]byte("of file 6\n"))
	l.begin()
	l.add(checkpoint)
	if got := l.Cause(false, true); got != "" {
		t.Errorf("found %q, of another file", got)
	}
	if got := l.Lines(); got != "  of file 6" {
		t.Errorf("lines %q", got)
	}
	l.add([]byte("no such model\n"))
	if got := l.Cause(false, true); got != "no such model" {
		t.Errorf("found %q", got)
	}
	l.add(bytes.Repeat([]byte("x"),
		tailMax+10)) // only a part of one line is kept
	if got := l.Cause(false, true); len(got) != causeMax+3 {
		t.Errorf("found %q", got)
	}
}
