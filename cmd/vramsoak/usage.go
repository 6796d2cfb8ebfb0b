package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vramsoak/harness/bucket"
	"vramsoak/harness/secret"
)

// wants returns a check that a command has from least to most arguments, or at least `least` if
// most is 0. The parameter what describes the arguments for a person.
func wants(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most == 0 || len(args) <= most) {
			return nil
		}
		found := "none"
		if len(args) > 0 {
			found = strings.Join(args, " ")
		}
		return fmt.Errorf("expected %s, found %s; such as: %s", what, found, example(cmd))
	}
}

// wantsFiles is [wants] for arguments that are files or folders to read.
func wantsFiles(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := wants(least, most, what)(cmd, args); err != nil {
			return err
		}
		var errs []error
		for _, arg := range args {
			switch {
			case !bucket.IsAddress(arg):
				errs = append(errs, readable(arg))
			case !takesBuckets(cmd):
				errs = append(errs, fmt.Errorf("%s: expected a file; vramsoak %s reads no buckets", arg,
					cmd.Name()))
			}
		}
		return errors.Join(errs...)
	}
}

// checkBeforehand makes a command and its subcommands check their arguments and the files that
// their flags name before anything runs. They also refuse a database's address as an argument,
// because they expect a file or a name there. Otherwise the address's password could appear in a
// file's name or in a message.
func checkBeforehand(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		checkBeforehand(sub)
	}
	next := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		own := args
		if i := cmd.ArgsLenAtDash(); i >= 0 || takesCommand(cmd) {
			own = args[:max(0, i)] // the other arguments are for another program
		}
		for _, arg := range own {
			if secret.IsDSN(arg) && cmd.Name() != "calibrate" { // calibrate reads a history
				return errors.New(notAFile("a file or a name"))
			}
		}
		var err error
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if f.Name != "db" && slices.ContainsFunc(flagValues(f), secret.IsDSN) {
				err = fmt.Errorf("--%s: %s", f.Name, notAFile("another value"))
			}
		})
		if err != nil {
			return err
		}
		if next != nil {
			err = next(cmd, args)
		}
		return errors.Join(err, checkFlags(cmd, own), redirectText(cmd))
	}
}

// takesCommand reports whether the arguments are a command to run, even without -- before them.
func takesCommand(cmd *cobra.Command) bool { return cmd.Name() == "soak" }

func notAFile(expected string) string {
	return "expected " + expected + ", found the address of a database (not shown: it may hold a " +
		"password); name a history with " +
		"--db or VRAMSOAK_HISTORY, and a file of such a name with ./ before it"
}

// example returns the first command line in the examples of a command.
func example(cmd *cobra.Command) string {
	lines := strings.Split(cmd.Example, "\n")
	i := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), cmd.Root().Name()+" ")
	})
	return strings.TrimSpace(lines[max(0, i)])
}

// wantsNone returns an error if there are arguments. If the command has subcommands, the error says
// that the argument is an unknown subcommand.
func wantsNone(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !cmd.HasSubCommands():
		return fmt.Errorf("%s takes no arguments, found %s; see %s --help", cmd.Name(),
			strings.Join(args, " "), cmd.CommandPath())
	}
	const typos = 2 // letters that may be wrong
	cmd.SuggestionsMinimumDistance = max(typos, cmd.SuggestionsMinimumDistance)
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %s %s?", args[0], cmd.CommandPath(),
			strings.Join(near, " or "))
	}
	return fmt.Errorf("unknown command %q; see %s --help", args[0], cmd.CommandPath())
}

// flagTrouble explains an error of the flag parser: the flag, the expected value, the found value,
// and the help to read.
func flagTrouble(cmd *cobra.Command, err error) error {
	see := "; see " + cmd.CommandPath() + " --help"
	if bad, is := errors.AsType[*pflag.InvalidValueError](err); is {
		f := bad.GetFlag()
		cause := bad.Unwrap() // of the program's own flags: expected..., found...
		if what := valueOf(f.Value); what != "" {
			cause = fmt.Errorf("expected %s, found %q", what, bad.GetValue())
		}
		if secret.IsDSN(bad.GetValue()) {
			cause = errors.New(notAFile("another value"))
		}
		return fmt.Errorf("--%s: %w%s", f.Name, cause, see)
	}
	if unknown, is := errors.AsType[*pflag.NotExistError](err); is {
		if slices.ContainsFunc([]string{
			unknown.GetSpecifiedName(),
			unknown.GetSpecifiedShortnames(),
		}, secret.IsDSN) {
			return fmt.Errorf("expected a flag, found the address of a database (not shown: it "+
				"may hold a password)%s", see)
		}
		if near := meantFlag(cmd, unknown); near != "" {
			return fmt.Errorf("%w; did you mean %s?%s", err, near, see)
		}
	}
	return fmt.Errorf("%w%s", err, see)
}

// valueOf describes the values of a flag of one of pflag's types. It returns "" if the flag's own
// error describes them.
func valueOf(v pflag.Value) string {
	switch v.Type() {
	case "uint64":
		return "a whole number from 0 on, such as 1"
	case "float64":
		return "a number, such as 0.9"
	case "bool":
		return "true or false"
	}
	return ""
}
