package parser_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"vramsoak/parser"
)

// A log that frees nothing is read up to the blocks that a program may have at once.
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
		case parser.Checkpoint:
			readings++
			peak = max(peak, r.Bytes(parser.Allocated))
			if r.Lane.Device != 3 {
				t.Fatalf("got device %d", r.Lane.Device)
			}
		case parser.SyntaxError:
			bad++
		}
	}
	if readings != 1<<20 || peak != 2<<20 || bad != 1 {
		t.Errorf("got %d readings up to %d, %d unreadable", readings, peak, bad)
	}
}

func FuzzRMM(f *testing.F) {
	for _, name := range []string{"rmm-csv", "rmm-csv-old"} {
		archive, err := txtar.ParseFile("../fixtures/parser/" + name + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		for rec := range fuzzed(t, log, "fuzz.dev1.csv") {
			if c, ok := rec.(parser.Checkpoint); ok && c.Dialect == "rmm" && c.Bytes(parser.Allocated) < 0 {
				t.Fatalf("got %+v", c)
			}
		}
	})
}
