package secret

import (
	"regexp"
	"sync"
)

// expression compiles a regular expression when it is first used. Otherwise every command would wait
// for all of them when it starts.
func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
