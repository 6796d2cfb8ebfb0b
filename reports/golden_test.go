package reports_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"vramsoak/fixtures/golden"
	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/timeline"
	"vramsoak/reports/junit"
	"vramsoak/reports/markdown"
	"vramsoak/reports/text"
)

// TestGoldens writes every report in text of the cases in testdata. A case holds a log, perhaps a policy to judge it by,
// then the reports. UPDATE=1 rewrites them; read the difference before you keep it.
func TestGoldens(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			tl, rep, given := readCase(t, archive)
			write := func(name string, f func(w *bytes.Buffer) error) txtar.File {
				var out bytes.Buffer
				if err := f(&out); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				return txtar.File{Name: name, Data: out.Bytes()}
			}
			got := append(archive.Files[:given:given],
				write("plain.txt", func(w *bytes.Buffer) error { return text.Report(w, tl, rep, text.Options{}) }),
				write("terminal-80.txt", func(w *bytes.Buffer) error {
					return text.Report(w, tl, rep, text.Options{Terminal: true, Width: 80})
				}),
				write("terminal-140-color.txt", func(w *bytes.Buffer) error {
					return text.Report(w, tl, rep, text.Options{Terminal: true, Width: 140, Color: true})
				}),
				write("junit.xml", func(w *bytes.Buffer) error { return junit.Write(w, tl, rep) }),
				write("summary.md", func(w *bytes.Buffer) error { return markdown.Report(w, tl, rep) }),
			)
			if golden.Updating() {
				archive.Files = got
				golden.Rewrite(t, path, txtar.Format(archive))
				return
			}
			for i, f := range got {
				if i >= len(archive.Files) || archive.Files[i].Name != f.Name {
					t.Fatalf("%s: no %s; run UPDATE=1 go test ./reports", path, f.Name)
				}
				if diff := cmp.Diff(string(archive.Files[i].Data), string(f.Data)); diff != "" {
					t.Errorf("%s differs (-want +got):\n%s", f.Name, diff)
				}
			}
		})
	}
}

// readCase reads a case's log and judges it, and says how many of the case's files were given for that.
func readCase(t *testing.T, archive *txtar.Archive) (tl *timeline.Timeline, rep *check.Report, given int) {
	t.Helper()
	if len(archive.Files) == 0 || archive.Files[0].Name != "run.log" {
		t.Fatal("expected run.log first")
	}
	tl, err := parser.Build(parser.Read(bytes.NewReader(archive.Files[0].Data), "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	policy, given := check.DefaultPolicy(), 1
	if len(archive.Files) > 1 && archive.Files[1].Name == "vramsoak.yaml" {
		if policy, err = check.ParsePolicy(archive.Files[1].Data, "vramsoak.yaml"); err != nil {
			t.Fatal(err)
		}
		given++
	}
	return tl, check.Of(tl, policy), given
}
