package dialect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/dialect/dialecttest"
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

// TestRecordsOnOneLine: if several processes write into one line, each record of the line is read,
// and so is a failed allocation whose message tore the record of another process.
func TestRecordsOnOneLine(t *testing.T) {
	dialecttest.Run(t, BuiltIn(), []dialecttest.Case{
		{"another program between two records", `
step: 1 memory: 2.00GiB(3%) Max CUDA memory usage: 5.00 MB step: 2 memory: 3.00GiB(4%)
`, `
1 checkpoint "step" peak_reserved=2048MiB
1 checkpoint "end of training" peak=5MiB
1 checkpoint "step" peak_reserved=3072MiB
`},
		{"a failure inside a record", `
json_stats: {"_type": "train", "dt": CUDA out of memory. Tried to allocate 2.00 GiB. 1, "gpu_mem": "3.00G"}
`, `
1 checkpoint "train" peak=3072MiB
1 out-of-memory requested=2048MiB
`},
	})
}
