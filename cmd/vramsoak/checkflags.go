package main

import (
	"errors"
	"fmt"

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
// minutes of work. If a file goes to standard output, the command's text goes to standard error.
func checkFlags(cmd *cobra.Command, args []string) error {
	var errs []error
	stdouts := 0
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		checked, is := f.Value.(interface{ check() error })
		_, output := f.Value.(*outputFile)
		if !is || !f.Changed && !output {
			return
		}
		err := checked.check()
		if output && err == nil {
			err = notAnInput(f.Value.String(), args)
			if f.Value.String() == stdoutPath {
				stdouts++
			}
		}
		for _, err := range flat(err) {
			errs = append(errs, fmt.Errorf("%s: %w", spelled(f), err))
		}
	})
	switch stdouts {
	case 0:
	case 1:
		cmd.SetOut(stderr)
	default:
		errs = append(errs, fmt.Errorf("expected - for one file at most, found it for %d; "+
			"standard output can have only one", stdouts))
	}
	return errors.Join(errs...)
}

// spelled returns a flag as users type it: "-o", "--policy".
func spelled(f *pflag.Flag) string {
	if f.Shorthand == "o" {
		return "-o"
	}
	return "--" + f.Name
}

// flat returns the errors that [errors.Join] joined, or err alone.
func flat(err error) []error {
	if several, is := err.(interface{ Unwrap() []error }); is {
		return several.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
