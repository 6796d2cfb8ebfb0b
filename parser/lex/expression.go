package lex

import (
	"regexp"
	"sync"
)

// Expression returns a function that returns the compiled regular expression. This function
// compiles the expression when it is first called. If all expressions were compiled at the
// program's start, every command would start later.
func Expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
