package lex

import (
	"bytes"
	"strings"
)

// The names of a logger's levels, as alternatives of a regular expression. If one begins with
// another, the longer one is first.
const (
	GoodLevels  = "DEBUG|INFO|NOTICE|TRACE|SUCCESS" // below a warning
	ErrorLevels = "WARNING|WARN|ERROR|CRITICAL|FATAL"
	Levels      = GoodLevels + "|" + ErrorLevels
)

var levels = strings.Split(Levels, "|")

// levelLetters are the first letters of the levels.
const levelLetters = "DINTSWECF"

// LevelAt returns the length of a logger's level at the beginning of a text, or 0. A level does not
// begin a longer word.
func LevelAt(text []byte) int {
	if len(text) == 0 || strings.IndexByte(levelLetters, text[0]) < 0 {
		return 0
	}
	for _, level := range levels {
		if rest, ok := CutPrefix(text, level); ok && (len(rest) == 0 || !IsWordByte(rest[0])) {
			return len(level)
		}
	}
	return 0
}

// IsLevel reports whether a word is a logger's level, in upper or lower case.
func IsLevel(word []byte) bool {
	for _, level := range levels {
		if len(word) == len(level) && bytes.EqualFold(word, []byte(level)) {
			return true
		}
	}
	return false
}
