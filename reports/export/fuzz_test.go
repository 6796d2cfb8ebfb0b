package export_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"
)

// point matches a line of OpenMetrics text that is no comment: the series, and its time.
var point = regexp.MustCompile(
	`^(vramsoak_[a-z_]+\{(?:[a-z]+="(?:[^"\\]|\\["\\])*",?)+\}) -?[0-9.]+(?: ([0-9]+\.[0-9]{3}))?$`)

// checkText fails if a text is not valid OpenMetrics: if a line has another form, or if the points
// of a series do not stand together with rising times.
func checkText(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || !strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("not valid: %q", text)
	}
	last, current := map[string]float64{}, ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "# ") {
			continue
		}
		m := point.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("not a point: %q", line)
		}
		at, _ := strconv.ParseFloat(m[2], 64) // 0 without a time
		if before, again := last[m[1]]; again && (at <= before || current != m[1]) {
			t.Errorf("after %f, in %s: %q", before, current, line)
		}
		last[m[1]], current = at, m[1]
	}
}

// FuzzExport: whatever a log and its name are, the trace and the text are valid.
func FuzzExport(f *testing.F) {
	goldens, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(goldens) == 0 {
		f.Fatalf("no goldens: %v", err)
	}
	for _, path := range goldens {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Name, string(archive.Files[0].Data))
	}
	night, err := os.ReadFile("../../fixtures/examples/night.log")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("\"\\\n\xff", string(night[:4096]))
	f.Fuzz(func(t *testing.T, name, text string) {
		trace, om := both(t, log{name, text})
		decode(t, trace)
		checkText(t, string(om))
	})
}
