package reports_test

import (
	"bytes"
	"io"
	"testing"

	"golang.org/x/tools/txtar"

	"vramsoak/fixtures/golden"
	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/timeline"
	"vramsoak/reports/junit"
	"vramsoak/reports/markdown"
	"vramsoak/reports/text"
)

// TestGoldens writes the reports on each case in testdata. A case holds a log, the expected reports
// and, if it needs one, a policy.
func TestGoldens(t *testing.T) {
	golden.Each(t, "testdata/*.txtar", func(t *testing.T, c golden.Case) {
		tl, rep := readCase(t, c)
		write := func(name string, f func(w io.Writer) error) txtar.File {
			var out bytes.Buffer
			if err := f(&out); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return txtar.File{Name: name, Data: out.Bytes()}
		}
		narrow := text.Options{Terminal: true, Width: 80}
		wide := text.Options{Terminal: true, Width: 140, Color: true, Verbose: true}
		phone := text.Options{Terminal: true, Width: 40, Verbose: true}
		c.Compare(
			write("plain.txt", func(w io.Writer) error {
				return text.Report(w, tl, rep, text.Options{})
			}),
			write("verbose.txt", func(w io.Writer) error {
				return text.Report(w, tl, rep, text.Options{Verbose: true})
			}),
			write("terminal-40.txt", func(w io.Writer) error {
				return text.Report(w, tl, rep, phone)
			}),
			write("terminal-80.txt", func(w io.Writer) error {
				return text.Report(w, tl, rep, narrow)
			}),
			write("terminal-140-color.txt", func(w io.Writer) error {
				return text.Report(w, tl, rep, wide)
			}),
			write("junit.xml", func(w io.Writer) error { return junit.Write(w, tl, rep) }),
			write("summary.md", func(w io.Writer) error { return markdown.Report(w, tl, rep) }),
		)
	})
}

// readCase reads a case's log and judges it.
func readCase(t *testing.T, c golden.Case) (*timeline.Timeline, *check.Report) {
	t.Helper()
	tl, err := parser.Build(parser.Read(bytes.NewReader(c.Part("run.log")), "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	policy := check.DefaultPolicy()
	if yaml := c.Part("vramsoak.yaml"); yaml != nil {
		if policy, err = check.ParsePolicy(yaml, "vramsoak.yaml"); err != nil {
			t.Fatal(err)
		}
	}
	return tl, check.Of(tl, policy)
}
