package dialect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPrograms: each pattern of programs.yaml matches its example, and gives the record that the
// entry names. An entry gives the same result if it is parsed alone and if the whole file is
// parsed.
func TestPrograms(t *testing.T) {
	all, err := load(programsYAML)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(entries()) {
		t.Fatalf("programs.yaml has %d programs, of which %d are found: write each %q as the others",
			len(all), len(entries()), "  - name: ")
	}
	for i, p := range all {
		e := entries()[i]
		if p.Source == "" {
			t.Errorf("%s: expected source:, the file that prints the lines", p.Name)
		}
		var patterns []string
		for _, l := range p.Lines {
			patterns = append(patterns, l.Pattern)
			switch {
			case l.Example == "":
				t.Errorf("%s: add example:, a line that this pattern matches: %s", p.Name, l.Pattern)
			case l.Gives == "":
				t.Errorf("%s: compare this with the example, and add it to the entry:\n        gives: '%s'",
					p.Name, l.Read(p.Name, l.Example))
			}
			if len(l.Literals()) == 0 {
				t.Errorf("%s: expected a text of four bytes or more that is in each line that matches %s",
					p.Name, l.Pattern)
			}
		}
		if diff := cmp.Diff(patterns, e.patterns); diff != "" {
			t.Errorf("%s: write pattern: on one line in single quotes (-want +found):\n%s", p.Name, diff)
		}
		if !t.Failed() {
			if diff := cmp.Diff(&p, e.program()); diff != "" {
				t.Errorf("%s by itself (-in the file +alone):\n%s", p.Name, diff)
			}
		}
	}
}
