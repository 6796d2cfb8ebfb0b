package lex

import (
	"strings"
	"testing"
)

// TestLevels: each level is read in upper and lower case. A longer word is no level.
func TestLevels(t *testing.T) {
	t.Parallel()
	for level := range strings.SplitSeq(Levels, "|") {
		if n := LevelAt([]byte(level + " - hello")); n != len(level) {
			t.Errorf("%s: expected %d, found %d", level, len(level), n)
		}
		if LevelAt([]byte(level+"ED")) != 0 || IsLevel([]byte(level+"ED")) {
			t.Errorf("%sED: expected no level", level)
		}
		if !IsLevel([]byte(level)) || !IsLevel([]byte(strings.ToLower(level))) {
			t.Errorf("%s: expected a level", level)
		}
	}
}
