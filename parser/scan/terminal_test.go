package scan

import (
	"strings"
	"testing"

	"vramsoak/parser/source"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestTerminal compares the screen with the one that tmux shows for the same bytes.
func TestTerminal(t *testing.T) {
	archive, err := txtar.ParseFile("../../fixtures/terminal/random.txtar")
	if err != nil || len(archive.Files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		in, want := archive.Files[i], archive.Files[i+1]
		t.Run(in.Name, func(t *testing.T) {
			term := source.Terminal{
				Height:   20,
				Width:    60,
				Back:     func() {},
				Gone:     func([]rune) {},
				Painting: true,
			}
			term.Write([]byte(strings.TrimSuffix(string(in.Data), "\n")))
			var rows []string
			for _, row := range term.Rows {
				rows = append(rows, string(rowText(nil, row.Cells)))
			}
			got := strings.TrimRight(strings.Join(rows, "\n"), "\n")
			if diff := cmp.Diff(strings.TrimRight(string(want.Data), "\n"), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
