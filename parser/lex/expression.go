package lex

import (
	"regexp"
	"sync"
)

// Expression returns a function that compiles a regular expression on its first call. Compiling all
// expressions at once would delay the start of every command.
func Expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
