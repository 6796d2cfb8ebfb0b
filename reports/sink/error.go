package sink

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// Error returns the text of an error for people. Names of files, and the names that are given,
// stand in one line of it, as [Line] has them. What else is in several lines is indented from the
// second on, so that no text which an error quotes passes for a line of our own. The errors of a
// joined one begin a line each.
func Error(err error, names ...string) Safe {
	var parts []string
	for _, err := range joined(err) {
		text := err.Error()
		for _, name := range append(fileNames(err), names...) {
			if line := Line(name); line != name {
				text = strings.ReplaceAll(text, name, line)
			}
		}
		parts = append(parts, string(Block(text)))
	}
	return Safe(strings.Join(parts, "\n"))
}

// joined are the errors of [errors.Join], in order; or the one that there is.
func joined(err error) []error {
	several, ok := err.(interface{ Unwrap() []error }) // an error around it has words of its own
	if !ok {
		return []error{err}
	}
	if all := several.Unwrap(); err.Error() == errors.Join(all...).Error() {
		var out []error
		for _, err := range all {
			out = append(out, joined(err)...)
		}
		return out
	}
	return []error{err}
}

// fileNames are the names in the errors of the file system that an error wraps.
func fileNames(err error) []string {
	var names []string
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		names = append(names, path.Path)
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		names = append(names, link.Old, link.New)
	}
	return names
}
