package check_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"vramsoak/fixtures/golden"
	"vramsoak/harness/check"
	"vramsoak/parser"
)

// TestCases judges the logs of fixtures/check. A case holds a log, the expected findings and, if it
// needs one, a policy.
func TestCases(t *testing.T) {
	golden.Each(t, "../../fixtures/check/*.txtar", func(t *testing.T, c golden.Case) {
		policy := check.DefaultPolicy()
		for _, f := range c.Files {
			switch f.Name {
			case "run.log", "want":
			case "vramsoak.yaml":
				var err error
				if policy, err = check.ParsePolicy(f.Data, f.Name); err != nil {
					t.Fatal(err)
				}
			default:
				t.Fatalf("expected run.log, vramsoak.yaml or want, found %q", f.Name)
			}
		}
		tl, err := parser.Build(parser.Read(bytes.NewReader(c.Part("run.log")), "run.log"))
		if err != nil {
			t.Fatal(err)
		}
		c.Compare(txtar.File{Name: "want", Data: []byte(render(check.Of(tl, policy)))})
	})
}

// render returns a report as text that people can compare, one line per finding.
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
		for _, advice := range f.Advice {
			fmt.Fprintf(&b, "    - %s\n", advice)
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	if r.Work != nil {
		fmt.Fprintf(&b, "work: %s\n", r.Work)
	}
	return b.String()
}
