package secret

import (
	"regexp"
	"sync"
)

// expression returns a function that compiles a regular expression on first use. Compiling all of
// them at the start would delay every command.
func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
