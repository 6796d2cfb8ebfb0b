package parser_test

import (
	"testing"

	"golang.org/x/tools/txtar"

	"vramsoak/parser/record"
)

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
			if c, ok := rec.(record.Checkpoint); ok && c.Dialect == "rmm" && c.Bytes(record.Allocated) < 0 {
				t.Fatalf("got %+v, want sizes of 0 or more", c)
			}
		}
	})
}
