//go:build whisper

package main

import (
	"strings"
	"testing"
)

// TestDocumentNameOfALongName: file systems accept names of up to 255 bytes.
func TestDocumentNameOfALongName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		strings.Repeat("a", 200):       strings.Repeat("a", 200) + "-",
		strings.Repeat("a", 250):       strings.Repeat("a", 200) + "-",
		"a" + strings.Repeat("ü", 125): "a" + strings.Repeat("ü", 99) + "-",
		strings.Repeat("\x80", 250):    strings.Repeat("\x80", 196) + "-",
	} {
		if got := documentName(name, "json"); !strings.HasPrefix(got, want) ||
			len(got) > len(want)+len("0123456789ab.json") {
			t.Errorf("%q: found %q", name, got)
		}
	}
}

// TestDocumentName: files with the same name in two folders have two transcripts. The name of a
// document is the same in every process.
func TestDocumentName(t *testing.T) {
	t.Parallel()
	a, b := documentName("day1/call.wav", "json"), documentName("day2/call.wav", "json")
	if a == b || a != documentName("./day1/call.wav", "json") || !strings.HasPrefix(a,
		"call.wav-") {
		t.Errorf("%s, %s", a, b)
	}
}
