//go:build whisper

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVector: an embedding is the base64 of 32-bit floats in little endian. 1 is 00 00 80 3f, and
// -2 is 00 00 00 c0.
func TestVector(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(vector{1, -2})
	if want := `"AACAPwAAAMA="`; err != nil || string(text) != want {
		t.Errorf("found %s, %v, expected %s", text, err, want)
	}
	var v vector
	if err := json.Unmarshal(text, &v); err != nil || cmp.Diff(vector{1, -2}, v) != "" {
		t.Errorf("read back as %v, %v", v, err)
	}
	for _, bad := range []string{`"AACA"`, `"?"`} {
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s: expected an error", bad)
		}
	}
}

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
