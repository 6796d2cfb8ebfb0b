//go:build !race

package parser_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// These tests fail if reading a longer log takes more time for each byte, or more memory. They
// need large logs, which take ten times longer under the race detector. So the build tag excludes
// this file there, and other tests look for races with small logs.

// TestBuildHostile: building the timeline of a log that is made to be slow takes time in
// proportion to the log's length. If the time grew with the square of the length, the test would
// take hours.
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
				fmt.Fprintf(b,
					"[GPU Memory] Before Model Cleanup: Allocated: 1.00GB | allocated=1073741824 device=0 rank=%d\n", i)
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

// TestReadHostile: reading a log that is made to be slow takes time in proportion to the log's
// length. If the time grew with the square of the length, the test would take minutes.
func TestReadHostile(t *testing.T) {
	var fill strings.Builder
	for i := range 300 {
		fmt.Fprintf(&fill, "\x1b[%d;1H| 0%% 1C P0 9W / 9W | %dMiB / 99999MiB | %s|", i+1, i,
			strings.Repeat("x", 440))
	}
	for name, log := range map[string]string{
		"a full screen, painted cell by cell": fill.String() +
			strings.Repeat("\x1b[2;1Hx\x1b[1;1Hy\n\x1b[2;1Hz\x1b[1;1Hw\n", 50_000),
		"a screen that scrolls":    fill.String() + strings.Repeat("\x1b[S\x1b[T\x1b[L", 50_000),
		"a screen that is cleared": fill.String() + strings.Repeat("\x1b[2Jx", 200_000),
		"many columns of memory":   strings.Repeat(strings.Repeat("memory.used,", 300)+"\n", 500),
		"rows of percentages":      strings.Repeat(strings.Repeat("1 %, ", 800)+"\n", 500),
		"many cells":               strings.Repeat(strings.Repeat("1MiB |", 170)+"\n", 2000),
		"tables without rows": strings.Repeat("| NVIDIA-SMI 1 Driver Version\n"+
			strings.Repeat("|\n", 20), 20_000),
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

// TestRMMHostile: in a log that allocates and never frees, each allocation is a reading until the
// program holds 1,048,576 blocks. The next allocation is an error, and the rest of the log is not
// read. So the memory for the blocks is limited.
func TestRMMHostile(t *testing.T) {
	const blocks = 1<<20 + 10
	var b strings.Builder
	b.WriteString("Thread,Time,Action,Pointer,Size,Stream\n")
	for i := range blocks {
		fmt.Fprintf(&b, "1,15:47:02.841961,allocate,0x%x,2,0\n", i+1)
	}
	readings, bad := 0, 0
	peak := int64(0)
	for rec, err := range parser.Read(strings.NewReader(b.String()), "rmm.dev3.csv") {
		if err != nil {
			t.Fatal(err)
		}
		switch r := rec.(type) {
		case record.Checkpoint:
			readings++
			peak = max(peak, r.Bytes(record.Allocated))
			if r.Lane.Device != 3 {
				t.Fatalf("got device %d, want 3", r.Lane.Device)
			}
		case record.SyntaxError:
			bad++
		}
	}
	if readings != 1<<20 || peak != 2<<20 || bad != 1 {
		t.Errorf("got %d readings up to %d bytes and %d errors, want 1048576 up to 2097152 and 1",
			readings, peak, bad)
	}
}

// TestNotebookLarge: the memory for skipping an image of 256 MB in a notebook, or a line of text
// of 100 MB, does not depend on its size.
func TestNotebookLarge(t *testing.T) {
	text := `{"output_type": "stream", "text": ["` + line + `\n"]},` + "\n"
	log := io.MultiReader(
		strings.NewReader(
			notebookHead+"\n"+text+`{"data": {"image/png": "`,
		),
		io.LimitReader(&repeat{text: `iVBORw0KGgo\n`}, 256<<20/13*13),
		strings.NewReader(`"}},`+"\n"+text+`{"text": "`),
		io.LimitReader(&repeat{text: `#`}, 100<<20),
		strings.NewReader(line+`"}]}], "nbformat": 4}`),
	)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var at []int
	for rec, err := range parser.Read(log, "large.ipynb") {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := rec.(record.Checkpoint); !ok {
			t.Errorf("got %v", rec)
		}
		at = append(at, rec.At().Line)
	}
	runtime.ReadMemStats(&after)
	if diff := cmp.Diff([]int{2, 4, 5}, at); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 {
		t.Errorf("reading took %d bytes of memory", used)
	}
}

// A repeat is a reader that returns the same text again and again, without end.
type repeat struct {
	text string
	at   int // offset in the text of the next byte
}

func (r *repeat) Read(p []byte) (n int, err error) {
	for n < len(p) {
		k := copy(p[n:], r.text[r.at:])
		n, r.at = n+k, (r.at+k)%len(r.text)
	}
	return n, nil
}
