package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"vramsoak/harness/secret"
	"vramsoak/parser/strictyaml"
)

// An inputFile is the value of a flag that names a file to read.
type inputFile struct {
	path       *string
	extensions []string // what the shell offers
}

// inputVar defines a flag that names a file to read. "" means no file.
func inputVar(f *pflag.FlagSet, p *string, name, usage string, extensions ...string) {
	f.Var(&inputFile{path: p, extensions: extensions}, name, usage)
}

// policyVar defines --policy.
func policyVar(f *pflag.FlagSet, p *string, usage string) {
	inputVar(f, p, "policy", usage, "yaml", "yml")
}

// Set implements [pflag.Value].
func (i *inputFile) Set(s string) error { *i.path = s; return nil }

// String implements [pflag.Value].
func (i *inputFile) String() string { return stringOf(i.path) }

// Type implements [pflag.Value].
func (i *inputFile) Type() string { return "file" }

func (i *inputFile) completion() cobra.CompletionFunc { return withExtension(i.extensions...) }

func (i *inputFile) check() error { return readable(*i.path) }

// inputFiles is the value of a flag that names files or folders to read, and may be repeated.
type inputFiles struct {
	paths      *[]string
	extensions []string // what the shell offers
}

// inputsVar defines a flag that names files or folders to read.
func inputsVar(f *pflag.FlagSet, p *[]string, name, usage string, extensions ...string) {
	f.Var(&inputFiles{paths: p, extensions: extensions}, name, usage)
}

// Set implements [pflag.Value].
func (i *inputFiles) Set(s string) error { return i.Append(s) }

// String implements [pflag.Value].
func (i *inputFiles) String() string {
	if i.paths == nil { // pflag asks a zero value for its default
		return ""
	}
	return strings.Join(*i.paths, ", ")
}

// Type implements [pflag.Value].
func (i *inputFiles) Type() string { return "file" }

// Append implements [pflag.SliceValue].
func (i *inputFiles) Append(s string) error { *i.paths = append(*i.paths, s); return nil }

// Replace implements [pflag.SliceValue].
func (i *inputFiles) Replace(s []string) error { *i.paths = s; return nil }

// GetSlice implements [pflag.SliceValue].
func (i *inputFiles) GetSlice() []string { return *i.paths }

func (i *inputFiles) completion() cobra.CompletionFunc { return withExtension(i.extensions...) }

func (i *inputFiles) check() error {
	var errs []error
	for _, path := range *i.paths {
		errs = append(errs, readable(path))
	}
	return errors.Join(errs...)
}

// readable returns an error if a file cannot be opened for reading. It does not open a stream, see
// [headOf]. An empty path is an error too: for --policy "$POLICY", if that variable is not set, the
// default would be another policy than the user thinks.
func readable(path string) error {
	switch {
	case path == "":
		return errors.New("expected a file, found none; if it comes from a variable, set that")
	case path == stdinPath || secret.IsDSN(path):
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%s: %w%s", path, withoutPath(err), suggestFile(path, err))
	}
	if info.Mode().IsRegular() || info.IsDir() {
		err = unix.Access(path, unix.R_OK)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// suggestFile returns ` (did you mean "x"?)` if a folder has a file of nearly the same name as one
// that does not exist.
func suggestFile(path string, err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	dir, base := filepath.Split(path)
	folder, err := os.Open(cmp.Or(dir, "."))
	if err != nil {
		return ""
	}
	defer func() { _ = folder.Close() }() // only read
	const most = 1000                     // names to compare
	names, _ := folder.Readdirnames(most) // without names, there is nothing to suggest
	near := strictyaml.Nearest(base, names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", dir+near)
}
