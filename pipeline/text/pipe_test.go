package text

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipesAreRefused: opening a pipe that nobody writes to would wait forever.
func TestPipesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ReadVocabulary(path)
	for _, err := range []error{err, Check(path)} {
		if err == nil || !strings.Contains(err.Error(), path+": expected") ||
			!strings.Contains(err.Error(), "found no regular file") {
			t.Errorf("found %v", err)
		}
	}
}
