package wording

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClauses(t *testing.T) {
	for message, want := range map[string][]string{
		"":                           {""},
		"grows by 4 MiB":             {"grows by 4 MiB"},
		"grows (a; b); it is in X; ": {"grows (a; b)", "it is in X"},
		"file 1 (a;b.wav); next":     {"file 1 (a;b.wav)", "next"},
		"a;b.wav failed; next":       {"a;b.wav failed", "next"},
		":-).wav (a; b); next":       {":-).wav (a; b)", "next"},
	} {
		if diff := cmp.Diff(want, Clauses(message)); diff != "" {
			t.Errorf("%q: %s", message, diff)
		}
	}
}
