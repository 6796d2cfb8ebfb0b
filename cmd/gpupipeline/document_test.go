//go:build whisper

package main

import (
	"strings"
	"testing"
)

// Files of one name in two folders have two transcripts, and a file has the same name in every process.
func TestDocumentName(t *testing.T) {
	a, b := documentName("day1/call.wav", "json"), documentName("day2/call.wav", "json")
	if a == b || a != documentName("./day1/call.wav", "json") || !strings.HasPrefix(a, "call.wav-") {
		t.Errorf("%s, %s", a, b)
	}
}
