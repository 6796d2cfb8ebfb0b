package main

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// stringOf returns a flag's value. pflag asks a zero value for its default.
func stringOf(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// checkFlags returns an error that names every wrong value of a command's flags: values that do not
// exist, and files that cannot be read or written. So a command does not find that out after
// minutes of work.
func checkFlags(cmd *cobra.Command, args []string) error {
	var errs []error
	// A run is resumed in the folder in which it began. Files that were in it are not read again.
	// The files of a job are on the nodes of a cluster.
	elsewhere := flagValue(cmd, "resume") != "" || cmd.HasParent() && cmd.Parent().Name() == "job"
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, output := f.Value.(*outputFile)
		if !f.Changed && !output || elsewhere && isInput(f) {
			return
		}
		err := wrongValue(f)
		if output && err == nil {
			err = notAnInput(f.Value.String(), args)
		}
		for _, err := range splitJoined(err) {
			errs = append(errs, fmt.Errorf("%s: %w", spelled(f), err))
		}
	})
	return errors.Join(errs...)
}

// wrongValue returns an error if the value of a flag is wrong.
func wrongValue(f *pflag.Flag) error {
	if checked, is := f.Value.(interface{ check() error }); is {
		return checked.check()
	}
	return nil
}

// isInput reports whether a flag names files to read.
func isInput(f *pflag.Flag) bool {
	switch f.Value.(type) {
	case *inputFile, *inputFiles:
		return true
	}
	return false
}

// redirectText sends a command's text to standard error if a file goes to standard output. It
// returns an error if several files do.
func redirectText(cmd *cobra.Command) error {
	files := 0
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, output := f.Value.(*outputFile); output && f.Value.String() == stdoutPath {
			files++
		}
	})
	if files > 1 {
		return fmt.Errorf("expected - for one file at most, found it for %d; standard output can "+
			"have only one", files)
	}
	if files == 1 {
		cmd.SetOut(stderr)
	}
	return nil
}

// spelled returns a flag as users type it: "-o", "--policy".
func spelled(f *pflag.Flag) string {
	if f.Shorthand == "o" {
		return "-o"
	}
	return "--" + f.Name
}

// joined is the type of the errors that [errors.Join] returns. An error that [fmt.Errorf] made of
// two others has another type: its text belongs together.
var joined = reflect.TypeOf(errors.Join(io.EOF))

// splitJoined returns the errors that [errors.Join] joined, or err alone. It returns nothing for
// nil.
func splitJoined(err error) (all []error) {
	several, is := err.(interface{ Unwrap() []error })
	if !is || reflect.TypeOf(err) != joined {
		if err != nil {
			all = append(all, err)
		}
		return all
	}
	for _, e := range several.Unwrap() {
		all = append(all, splitJoined(e)...)
	}
	return all
}
