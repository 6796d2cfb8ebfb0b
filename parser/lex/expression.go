package lex

import (
	"regexp"
	"sync"
)

// Expression compiles a regular expression when it is first used. Otherwise every command would wait
// for all of them when it starts.
func Expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
