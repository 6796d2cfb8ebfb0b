package output

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// TestCut: however the output is divided into chunks, cut yields the same bytes, and yields each
// line that may hold a record as a whole.
func TestCut(t *testing.T) {
	t.Parallel()
	text := "plain\n\n[pipeline] file-start path=a\nx\ny\n[GPU Memory] A: Allocated: 1GB\n" +
		"out of memory, emory\n[pipeline] file-end\nz\nend emory"
	want := []string{
		"[pipeline] file-start path=a\n", "[GPU Memory] A: Allocated: 1GB\n",
		"out of memory, emory\n", "[pipeline] file-end\n",
		"end emory",
	}
	for size := 1; size <= len(text); size++ {
		var l lines
		var all string
		var looked []string
		take := func(p piece) {
			all += string(p.text)
			if p.parse {
				looked = append(looked, string(p.text))
			}
		}
		for i := 0; i < len(text); i += size {
			for p := range l.cut([]byte(text[i:min(i+size, len(text))])) {
				take(p)
			}
		}
		take(l.rest())
		if all != text {
			t.Fatalf("chunks of %d: found %q", size, all)
		}
		if diff := cmp.Diff(want, looked); diff != "" {
			t.Fatalf("chunks of %d: lines to look at (-want +got):\n%s", size, diff)
		}
	}
}

// TestCutProgressBar: the states of a progress bar that never prints a newline are passed on in
// time. Only its last state is held back, because it may become a record.
func TestCutProgressBar(t *testing.T) {
	t.Parallel()
	bar := []byte(strings.Repeat("\r 10%|#         | 6/60", 1000))
	var l lines
	passed := 0
	for range 10 * lineMax / len(bar) {
		for p := range l.cut(bar) {
			passed += len(p.text)
		}
		if len(l.held) > lineMax+len(bar) {
			t.Fatalf("%d bytes are held", len(l.held))
		}
	}
	if passed < 8*lineMax {
		t.Errorf("%d bytes were passed on", passed)
	}
	var looked string
	for p := range l.cut([]byte("\r[pipeline] file-end path=x status=ok\n")) {
		if p.parse {
			looked = string(p.text)
		}
	}
	if recs := (*parser.Set)(nil).ParseLine([]byte(looked), record.Position{}); len(recs) != 1 {
		t.Errorf("found %v in the line's end", recs)
	}
}

// TestNeedles: every kind of line on which the harness acts is recognized as one that may hold a
// record, and is parsed.
func TestNeedles(t *testing.T) {
	t.Parallel()
	var checkpoint record.Checkpoint
	checkpoint.Name = "x"
	checkpoint.Set(record.Allocated, record.Exact(1))
	for _, line := range []string{
		string(checkpoint.AppendLine(nil)),
		string(record.FileStart{Pipeline: true, Path: "x"}.AppendLine(nil)),
		string(record.FileEnd{Pipeline: true, Path: "x", Status: record.StatusOK}.AppendLine(nil)),
		"RuntimeError: CUDA error: out of memory",
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
		"\x1b[32m[GPU \x1b[1mMemory]\x1b[0m x: Allocated: 1.00GB",
	} {
		if len((*parser.Set)(nil).ParseLine([]byte(line), record.Position{})) == 0 {
			t.Errorf("the parser finds nothing in %q", line)
		}
		looked := false
		for p := range pieces([]byte(line+"\n"), nil) {
			looked = p.parse
		}
		if !looked {
			t.Errorf("%q is not looked at", line)
		}
	}
}
