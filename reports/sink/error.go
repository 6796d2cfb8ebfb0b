package sink

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// Error returns the text of an error for people. [Line] spells the names of files and the given
// names. Other text of several lines is indented from its second line on, so that quoted text
// cannot pass for a line of vramsoak's. Each error of a joined one begins a line.
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

// joined returns the errors of [errors.Join] in order, or err alone if it is not a joined one.
func joined(err error) []error {
	// an error that wraps them has words of its own
	several, ok := err.(interface{ Unwrap() []error })
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

// fileNames returns the names in the file system's errors that an error wraps.
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
