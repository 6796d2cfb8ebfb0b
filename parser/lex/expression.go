package lex

import (
	"regexp"
	"sync"
)

// Expression returns a function that returns a compiled regular expression. The function compiles
// it on its first call. If all expressions were compiled at start, every command would start later.
func Expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
