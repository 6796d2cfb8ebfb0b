package html

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestAssets: make test-browser checks the types of all scripts. Here each script is among those
// that it checks, names no type "any", and has lines of at most 100 columns.
func TestAssets(t *testing.T) {
	config, err := os.ReadFile("assets/tsconfig.json")
	if err != nil {
		t.Fatal(err)
	}
	var checked struct{ Files []string }
	if err := json.Unmarshal(config, &checked); err != nil {
		t.Fatal(err)
	}
	anyType := regexp.MustCompile(`[{(<|:]\s*any\b`)
	scripts := 0
	for _, pattern := range []string{"*.js", "*.ts", "*.css"} {
		paths, err := filepath.Glob("assets/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			name := filepath.Base(path)
			isScript := !strings.HasSuffix(name, ".css") && !strings.HasSuffix(name, ".test.js")
			if isScript {
				scripts++
			}
			if isScript && !slices.Contains(checked.Files, name) {
				t.Errorf("%s is missing in tsconfig.json, so its types are not checked", path)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(text), "\n") {
				if n := utf8.RuneCountInString(line); n > 100 {
					t.Errorf("%s:%d has %d columns", path, i+1, n)
				}
				if isScript && anyType.MatchString(line) {
					t.Errorf("%s:%d has the type any, which is not checked: %s", path, i+1, line)
				}
			}
		}
	}
	if scripts != len(checked.Files) {
		t.Errorf("tsconfig.json has %d files, assets has %d scripts", len(checked.Files), scripts)
	}
}
