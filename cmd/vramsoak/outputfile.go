package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"vramsoak/harness/runfolder"
)

// The kinds of files that -o may name, by the ends of their names. Standard output gets the first.
var (
	pictures         = []string{"png", "svg", "pdf"}
	picturesAndPages = []string{"png", "svg", "pdf", "html"}
)

const outputUsage = "`file` to write; - is standard output"

// stdoutPath is the path that means standard output.
const stdoutPath = "-"

// An outputFile is the value of a flag that names a file to write, or - for standard output.
type outputFile struct {
	path       *string
	extensions []string // what the shell offers
	strict     bool     // no other extension is possible
}

// outputVar defines the flag -o of a command, which names a file to write. "" means no file.
func outputVar(f *pflag.FlagSet, p *string, value, usage string, extensions ...string) {
	*p = value
	f.VarP(&outputFile{path: p, extensions: extensions}, "output", "o", usage)
}

// pictureVar defines the flag -o of a command that writes different files for different extensions,
// such as .png and .svg. Standard output gets the first of them.
func pictureVar(f *pflag.FlagSet, p *string, value, usage string, extensions []string) {
	*p = value
	f.VarP(&outputFile{path: p, extensions: extensions, strict: true}, "output", "o", usage)
}

// extraVar defines a flag that names a further file to write.
func extraVar(f *pflag.FlagSet, p *string, name, usage string) {
	f.Var(&outputFile{path: p}, name, usage)
}

// Set implements [pflag.Value].
func (o *outputFile) Set(s string) error { *o.path = s; return nil }

// String implements [pflag.Value].
func (o *outputFile) String() string { return stringOf(o.path) }

// Type implements [pflag.Value].
func (o *outputFile) Type() string { return "file" }

func (o *outputFile) completion() cobra.CompletionFunc { return withExtension(o.extensions...) }

func (o *outputFile) check() error {
	if *o.path == "" || *o.path == stdoutPath {
		return nil
	}
	if err := writable(*o.path); err != nil {
		return err
	}
	if o.strict && !slices.Contains(o.extensions, extension(*o.path)) {
		return fmt.Errorf("expected a name that ends in %s, found %q",
			alternatives(o.endings()), *o.path)
	}
	return nil
}

// endings returns the extensions with their dots.
func (o *outputFile) endings() []string {
	all := make([]string, len(o.extensions))
	for i, e := range o.extensions {
		all[i] = "." + e
	}
	return all
}

// extension returns the end of a file's name in small letters: "png".
func extension(path string) string {
	return strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
}

// pictureFormat returns the format of the picture that -o names: "png".
func pictureFormat(output string) string {
	if output == stdoutPath {
		return pictures[0]
	}
	return extension(output)
}

// writable returns an error if a file cannot be written.
func writable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s: expected a file, found a folder; name the file in it", path)
	case err == nil && !info.Mode().IsRegular():
		err = unix.Access(path, unix.W_OK)
	default:
		folder := filepath.Dir(target(path))
		if err = unix.Access(folder, unix.W_OK); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: expected an existing folder, found none; make it first: "+
				"mkdir -p %s", path, folder)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// target returns the file that is replaced if a path is written. A link stays a link: the file that
// it leads to is replaced. A link that leads to no file is replaced itself.
func target(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// notAnInput returns an error if the file to write is one of the logs to read.
func notAnInput(output string, inputs []string) error {
	to, err := os.Stat(output)
	if err != nil || !to.Mode().IsRegular() {
		return nil
	}
	logs, err := runfolder.Resolve(inputs)
	if err != nil {
		logs = inputs
	}
	for _, log := range logs {
		if from, err := os.Stat(log); err == nil && os.SameFile(from, to) {
			return fmt.Errorf("%s: expected another file than the one that is read", output)
		}
	}
	return nil
}

// writeOutput writes the file that a flag such as -o names, and says so on standard error.
func writeOutput(path string, write func(io.Writer) error) error {
	if err := writeTo(path, write); err != nil {
		return err
	}
	if path != stdoutPath {
		stderr.Printf("wrote %s\n", path)
	}
	return nil
}

// displayOutput returns the name of an output for messages.
func displayOutput(path string) string {
	if path == stdoutPath {
		return "standard output"
	}
	return path
}

// writeTo writes a file, or standard output if the path is -.
func writeTo(path string, write func(io.Writer) error) error {
	if path != stdoutPath {
		return writeFile(path, write)
	}
	return write(stdout.File())
}

// writeFile writes a file completely or not at all, so that no reader sees half of it.
func writeFile(path string, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("writing %s: expected a file, found a folder; name the file in it", path)
	case err == nil && !info.Mode().IsRegular():
		return writeStream(path, write)
	}
	path = target(path)
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644),
		renameio.WithExistingPermissions(), renameio.WithTempDir(filepath.Dir(path)))
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, withoutPath(err))
	}
	defer func() { _ = f.Cleanup() }() // removes the file if it was not finished
	if err := write(f); err != nil {
		return fmt.Errorf("writing %s: %w", path, withoutPathOf(err, f.Name()))
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("writing %s: %w", path, withoutPath(err))
	}
	return nil
}

// writeStream writes to a pipe or a device, which cannot be replaced.
func writeStream(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, withoutPath(err))
	}
	if err := cmp.Or(write(f), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, withoutPathOf(err, path))
	}
	return nil
}

// withoutPathOf returns the file system's error if writing the file of the given name failed. Other
// errors, such as of reading a log, keep their names.
func withoutPathOf(err error, name string) error {
	if of, is := errors.AsType[*fs.PathError](err); is && of.Path == name {
		return of.Err
	}
	return err
}

// withoutPath returns an error of the file system without the file's name. The name may be of a
// temporary file, which would confuse the user.
func withoutPath(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
