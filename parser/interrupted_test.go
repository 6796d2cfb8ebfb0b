//go:build !race

package parser_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"vramsoak/parser"
	"vramsoak/parser/record"
)

// TestHarnessLinesAreNotTakenForRows: the harness may write a line between any two lines of the
// pipeline. Each of these lines is read as a line of the harness, also in the middle of a table
// or of another block of lines.
func TestHarnessLinesAreNotTakenForRows(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../fixtures/parser/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(err, "no goldens")
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			lines := strings.SplitAfter(string(f.Data), "\n")
			for i := 0; i < len(lines) && strings.HasSuffix(f.Name, ".log"); i++ {
				log := ownRun + strings.Join(lines[:i], "") + ownExit + strings.Join(lines[i:], "")
				n := 0
				for _, rec := range (*parser.Set)(nil).ParseLine([]byte(log),
					record.Position{Path: f.Name, Line: 1}) {
					if exit, ok := rec.(record.Exit); ok && exit.PID == 777 && exit.Pos.Line == i+2 {
						n++
					}
				}
				if n != 1 {
					t.Errorf("%s: a harness line before line %d is read %d times, want once", path, i+1, n)
				}
			}
		}
	}
}
