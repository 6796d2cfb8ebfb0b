package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	docsLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	docsHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	codeBlock   = regexp.MustCompile("(?ms)^```.*?^```")
)

// anchors returns the anchors of a page as GitHub makes them: "Dark memory: two ledgers" is
// dark-memory-two-ledgers.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range docsHeading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case strings.ContainsRune("`.,:;?!()'\"/|=<>[]*", r):
				return -1
			}
			return r
		}, strings.ToLower(m[1]))
		all[anchor] = true
	}
	return all
}

// pages returns the paths of all pages: those of docs/ with its folders, README.md and
// CONTRIBUTING.md.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"../*.md", "*.md", "*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no pages in %s: %v", pattern, err)
		}
		all = append(all, found...)
	}
	return all
}

// TestLinks checks that every link of every page leads to a file of the repository, and to a
// heading of that file.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, from := range pages(t) {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range docsLink.FindAllStringSubmatch(codeBlock.ReplaceAllString(string(text), ""),
			-1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			to := from
			if file != "" {
				to = filepath.Join(filepath.Dir(from), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which does not exist", from, m[1])
				continue
			}
			if anchor == "" || filepath.Ext(to) != ".md" {
				continue
			}
			target, err := os.ReadFile(to)
			if err != nil {
				t.Fatal(err)
			}
			if !anchors(string(target))[anchor] {
				t.Errorf("%s links to %s, and that page has no such heading", from, m[1])
			}
		}
	}
}

var mention = regexp.MustCompile(`\bdocs/[a-z/-]+\.md\b`)

// TestMentions: every page that messages, help, comments or scripts name exists. It skips logs in
// fixtures/logs, which come from other projects, and earlier runs, which may name pages of earlier
// versions.
func TestMentions(t *testing.T) {
	t.Parallel()
	found := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path != ".." && strings.HasPrefix(d.Name(), ".") ||
			slices.Contains([]string{"../fixtures/logs", "../runs", "../bin"}, path)):
			return fs.SkipDir
		case !slices.Contains([]string{".go", ".sh", ".yaml", ".yml", ".json", ".txtar", ""},
			filepath.Ext(path)),
			!d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		for _, page := range mention.FindAllString(string(text), -1) {
			found++
			if _, err := os.Stat("../" + page); err != nil {
				t.Errorf("%s names %s, which does not exist", path, page)
			}
		}
		return err
	})
	if err != nil || found < 20 {
		t.Errorf("found %d mentions of pages, %v", found, err)
	}
}
