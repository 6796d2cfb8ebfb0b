package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestContains: a word is found wherever a part of the log ends, and also at its very end.
func TestContains(t *testing.T) {
	const word = " segments "
	path := filepath.Join(t.TempDir(), "run.log")
	for _, at := range []int{0, 1, 1<<20 - 5, 1 << 20, 2<<20 - 1, 3 << 20} {
		text := strings.Repeat("x", at) + word
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if found, err := contains(path, word); err != nil || !found {
			t.Errorf("at %d: found %v, %v", at, found, err)
		}
		if found, err := contains(path, word+"y"); err != nil || found {
			t.Errorf("at %d: found a word that is not there, %v", at, err)
		}
	}
}
