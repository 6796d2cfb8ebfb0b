package audio

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// saved writes `file` to a temporary folder and returns its path.
func saved(t *testing.T, file []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWAVSecondsReadsNoSamples: WAVSeconds returns the length of a file with hours of audio at
// once, because it does not read the samples. The samples are a hole in the file, which takes no
// disk space.
func TestWAVSecondsReadsNoSamples(t *testing.T) {
	const seconds = 10 * 3600
	size := uint32(seconds * 48000 * 2)
	path := saved(t, le("RIFF", size+36, "WAVE", format(1, 1, 48000, 16), "data", size))
	if err := os.Truncate(path, 44+int64(size)); err != nil {
		t.Fatal(err)
	}
	if got, ok := WAVSeconds(path); !ok || got != seconds {
		t.Errorf("%g s (%v), want %d", got, ok, seconds)
	}
}

func TestWAVSecondsUnknown(t *testing.T) {
	mono16 := format(1, 1, 16000, 16)
	far := make([]byte, headerMax)
	tests := map[string]string{
		"missing":      filepath.Join(t.TempDir(), "missing"),
		"folder":       t.TempDir(),
		"empty":        saved(t, nil),
		"other format": saved(t, []byte("fLaC\x00\x00\x00\x22 and so on")),
		"A-law":        saved(t, riff(format(6, 1, 8000, 8), data("abcd"))),
		"cut short":    saved(t, riff(mono16)),
		"no samples":   saved(t, riff(mono16, data())),
		"far header":   saved(t, riff(le("id3 ", uint32(len(far)), far), mono16, data(int16(1)))),
		"pipe":         filepath.Join(t.TempDir(), "pipe"),
	}
	if err := unix.Mkfifo(tests["pipe"], 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range tests {
		if got, ok := WAVSeconds(path); ok || got != 0 {
			t.Errorf("%s: %g s (%v), want none", name, got, ok)
		}
	}
}
