package sink

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// Error returns the text of an error for people. File names in it, and the given names, are written
// as [Line] writes them. If other text has several lines, all lines after the first are indented,
// so that quoted text cannot look like a line of vramsoak. Each error joined by [errors.Join]
// begins a new line.
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

// joined returns the errors that [errors.Join] joined, in order. If err is not such an error, it
// returns err alone.
func joined(err error) []error {
	// An error that wraps several others may have a text of its own.
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

// fileNames returns the file names in the file system's errors that err wraps.
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
