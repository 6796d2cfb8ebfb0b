package docs_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vramsoak/fixtures/golden"
)

// licences are the licences that a linked module may have, each with a text that no other licence
// has.
var licences = []struct{ name, words string }{
	{"Apache-2.0", "apache license version 2.0, january 2004"},
	{"CC-BY-4.0", "creative commons attribution 4.0"},
	{"FTL or GPL-2.0", "freetype license"},
	{"BSD-3-Clause", "neither the name"},
	{"BSD-3-Clause", "nor the names of its contributors"},
	{"MIT", "permission is hereby granted, free of charge"},
}

// linked returns the Go modules of both programs, with their folders.
func linked(t *testing.T) map[string]string {
	t.Helper()
	modules := map[string]string{}
	for _, program := range []string{"vramsoak", "gpupipeline"} {
		cmd := exec.Command("go", "list", "-deps", "-tags=whisper", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "../cmd/"+program)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if path, dir, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				modules[path] = dir
			}
		}
	}
	return modules
}

// licenceOf returns the row of a module in the table of licences.
func licenceOf(t *testing.T, path, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "LICENSE*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no licence: %v", path, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(strings.ToLower(string(text))), " ")
	var names []string
	for _, l := range licences {
		if strings.Contains(words, l.words) && !slices.Contains(names, l.name) {
			names = append(names, l.name)
		}
	}
	if names == nil {
		t.Errorf("%s has a licence that the test does not know: %s", path, files[0])
	}
	return fmt.Sprintf("| %s | %s | %s |\n", path, strings.Join(names, ", "), holder(string(text)))
}

var copyrighted = regexp.MustCompile(
	`(?mi)^[ \t]*copyright (?:(?:\(c\) ?|© ?)[0-9]{0,4}|[0-9]{4})[^\n]*`)

// holder returns the owner of the copyright, from the first line of a licence that names one.
func holder(text string) string {
	line := copyrighted.FindString(text)
	if line == "" {
		return "its authors"
	}
	line = regexp.MustCompile(`(?i)^[ \t]*copyright (\(c\) ?|© ?)?[0-9, -]*(by )?`).ReplaceAllString(
		line, "")
	line = regexp.MustCompile(`(?i)\.? *all rights reserved\.?| *<[^>]*>`).ReplaceAllString(line, "")
	return strings.Trim(line, " .")
}

// TestLicences compares the table of modules in reference/licences.md with the modules that the two
// programs link. UPDATE=1 rewrites the table. Read the difference, because somebody must decide on
// a new licence.
func TestLicences(t *testing.T) {
	t.Parallel()
	const path = "reference/licences.md"
	modules := linked(t)
	var table strings.Builder
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		table.WriteString(licenceOf(t, module, modules[module]))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)(^\| module \| licence \| copyright \|\n\|[-|]+\n)((?:\|.*\n)*)`)
	found := rows.FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s has no table of modules", path)
	}
	if golden.Updating() {
		golden.Rewrite(t, path, rows.ReplaceAll(text, []byte("${1}"+table.String())))
		return
	}
	if string(found[2]) != table.String() {
		t.Errorf("%s does not list the linked modules; UPDATE=1 go test ./docs rewrites it:\n%s", path,
			golden.Diff(path, found[2], []byte(table.String())))
	}
}
