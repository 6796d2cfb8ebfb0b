package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// kinds holds the first words of a page, by the page's folder.
var kinds = map[string]string{
	"how-to":      "How-to: ",
	"reference":   "Reference: ",
	"explanation": "Explanation: ",
	"schema":      "Reference: ",
}

// TestPages: the first line of a page has its kind and the question that it answers, and the index
// lists the page. Prose has at most 100 columns.
func TestPages(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pages(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(string(text), "\n\n")
		question, _, _ := strings.Cut(body, "\n\n")
		if kind, ok := kinds[filepath.Dir(path)]; ok {
			if !strings.HasPrefix(question, kind) || !strings.Contains(question, "?") {
				t.Errorf("%s begins with %q, expected %q and a question", path, question, kind)
			}
			if !strings.Contains(string(index), "("+filepath.ToSlash(path)+")") {
				t.Errorf("README.md does not list %s", path)
			}
		}
		for line := range strings.Lines(codeBlock.ReplaceAllString(string(text), "")) {
			prose := !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "![")
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); prose && n > 100 {
				t.Errorf("%s has a line of %d columns: %s", path, n, line)
			}
		}
	}
}

// TestMap: CONTRIBUTING.md names each package such as harness/check that has a doc.go.
func TestMap(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob("../*/*/doc.go")
	if err != nil || len(folders) < 20 {
		t.Fatalf("packages: %q, %v", folders, err)
	}
	for _, file := range folders {
		folder := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(file), "../"))
		if !strings.HasPrefix(folder, "fixtures/") && !strings.Contains(string(text), "("+folder+")") {
			t.Errorf("CONTRIBUTING.md does not name %s", folder)
		}
	}
}

var (
	testName = regexp.MustCompile(`\bTest[A-Z][A-Za-z]+\b`)
	codePath = regexp.MustCompile(
		"`((?:cmd|harness|parser|pipeline|reports|fixtures|ci|docs)/[a-z0-9_./-]+)`")
)

// TestNames: every test and file that a page names exists. NAME in a path matches any name.
func TestNames(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range testName.FindAllString(string(text), -1) {
			tests[name] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pages(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range testName.FindAllString(string(text), -1) {
			if !tests[name] {
				t.Errorf("%s names the test %s, which does not exist", path, name)
			}
		}
		for _, m := range codePath.FindAllStringSubmatch(string(text), -1) {
			if found, err := filepath.Glob(filepath.Join("..", m[1])); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which does not exist", path, m[1])
			}
		}
	}
}
