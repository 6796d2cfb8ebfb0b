package check_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"vramsoak/fixtures/golden"
	"vramsoak/harness/check"
	"vramsoak/parser"
)

// TestCases judges the logs of fixtures/check. A case holds a log, perhaps a policy, and the findings that are wanted.
// UPDATE=1 rewrites them; read the difference before you keep it.
func TestCases(t *testing.T) {
	cases, err := filepath.Glob("../../fixtures/check/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			policy := check.DefaultPolicy()
			var log string
			want := -1
			for i, f := range archive.Files {
				switch f.Name {
				case "run.log":
					log = string(f.Data)
				case "vramsoak.yaml":
					if policy, err = check.ParsePolicy(f.Data, f.Name); err != nil {
						t.Fatal(err)
					}
				case "want":
					want = i
				default:
					t.Fatalf("%s: expected run.log, vramsoak.yaml or want, found %q", path, f.Name)
				}
			}
			tl, err := parser.Build(parser.Read(strings.NewReader(log), "run.log"))
			if err != nil {
				t.Fatal(err)
			}
			got := render(check.Of(tl, policy))
			if golden.Updating() {
				if want < 0 {
					archive.Files = append(archive.Files, txtar.File{Name: "want"})
					want = len(archive.Files) - 1
				}
				archive.Files[want].Data = []byte(got)
				golden.Rewrite(t, path, txtar.Format(archive))
				return
			}
			if want < 0 {
				t.Fatalf("%s: no want; run UPDATE=1 go test ./harness/check", path)
			}
			if diff := cmp.Diff(string(archive.Files[want].Data), got); diff != "" {
				t.Errorf("findings differ (-want +got):\n%s", diff)
			}
		})
	}
}

// render is a report for people to compare: one line a finding.
func render(r *check.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s files=%d checkpoints=%d\n", r.Verdict, r.Files, r.Checkpoints)
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %s", f.Verdict, f.Check)
		if !f.Gates {
			b.WriteString(" (does not gate)")
		}
		fmt.Fprintf(&b, " | %s", f.Subject)
		if f.File != 0 {
			fmt.Fprintf(&b, " | file %d", f.File)
		}
		if f.At != nil {
			fmt.Fprintf(&b, " | line %d", f.At.Line)
		}
		if f.Measured != nil {
			fmt.Fprintf(&b, " | %.4g", *f.Measured)
		}
		fmt.Fprintf(&b, "\n    %s\n", f.Message)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	return b.String()
}
