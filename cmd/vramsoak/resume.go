package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vramsoak/harness"
	"vramsoak/harness/runfolder"
	"vramsoak/parser/timeline"
	"vramsoak/reports/sink"
)

// perRun are the flags that a resumed run does not take from the original run.
var perRun = []string{
	"resume", "runs", "run", "shard", "format", "listen", "verbose", "color",
}

// givenFlags returns the values of the flags that the user gave, without those in perRun.
func givenFlags(flags *pflag.FlagSet) map[string][]string {
	given := map[string][]string{}
	flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(perRun, f.Name) {
			given[f.Name] = flagValues(f)
		}
	})
	return given
}

func flagValues(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// takeUp opens the run that --resume names. It sets the flags of the original run and changes to
// the run's working folder. Flags and a command given together with --resume must not contradict
// the run.
func takeUp(cmd *cobra.Command, dir string, command []string) (*runfolder.Run, error) {
	run, err := runfolder.Open(runfolder.Around(dir))
	if err == nil {
		err = run.Complete()
	}
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	if run.Info.Share != nil {
		return nil, fmt.Errorf("--resume: %s is a shard; %s", dir, goOn(dir, run.Info))
	}
	if err := errors.Join(run.UseCommand(command), sameFlags(run, cmd.Flags())); err != nil {
		return nil, err
	}
	for name, values := range run.Info.Config.Flags {
		if cmd.Flags().Changed(name) {
			continue // the user gave the flag again, with the same value
		}
		for _, value := range values {
			err := cmd.Flags().Set(name, value)
			if f := cmd.Flags().Lookup(name); err == nil && !isInput(f) {
				err = wrongValue(f)
			}
			if err != nil {
				return nil, fmt.Errorf("--resume: %s: flag %s: %w; resume it with the version "+
					"that began it, %s",
					filepath.Join(dir, runfolder.InfoName), name, err, run.Info.Version)
			}
		}
	}
	if run.Info.Reason == harness.ReasonFailFast && isOn(flagValues(cmd.Flags().Lookup("fail-fast"))) {
		return nil, fmt.Errorf("--resume: %s was ended early by --fail-fast, because growth was "+
			"certain; %s", dir, goOn(dir, run.Info))
	}
	return run, run.Enter()
}

// isOn reports whether the values of a flag turn it on.
func isOn(values []string) bool { return slices.Equal(values, []string{"true"}) }

// sameFlags returns an error that names the flags whose values differ from the original run.
func sameFlags(run *runfolder.Run, flags *pflag.FlagSet) error {
	var errs []error
	flags.Visit(func(f *pflag.Flag) {
		recorded, known := run.Info.Config.Flags[f.Name]
		switch given := flagValues(f); {
		case f.Name == "runs" || f.Name == "run":
			errs = append(errs, fmt.Errorf("--resume: --%s is only for new runs; leave it out", f.Name))
		case slices.Contains(perRun, f.Name) || known && slices.Equal(given, recorded):
		case f.Name == "fail-fast" && known && !isOn(given): // the other files, too
		case known:
			errs = append(errs, fmt.Errorf("--resume: --%s is %s in the run, and was given as "+
				"%s; leave it out", f.Name,
				strings.Join(recorded, ", "), strings.Join(given, ", ")))
		default:
			errs = append(errs, fmt.Errorf("--resume: the run was begun without --%s; leave it "+
				"out, or start a new run", f.Name))
		}
	})
	return errors.Join(errs...)
}

// goOn returns a sentence on how to resume a run.
func goOn(dir string, info runfolder.Info) string {
	if info.Share != nil {
		return "start its task again: the command that began the shard goes on with it"
	}
	say := "resume it with: vramsoak soak --resume " + sink.Shell(dir)
	if info.Reason == harness.ReasonFailFast {
		say = "to work on the other files too: vramsoak soak --resume " + sink.Shell(dir) +
			" --fail-fast=false"
	}
	if info.Digest != "" {
		say += " -- COMMAND (the same one: secrets are masked in the run folder)"
	}
	return say
}

// cutShort returns a sentence on how to go on with the run of these logs. It returns "" if the run
// has done all files or cannot be resumed.
func cutShort(logs []string, tl *timeline.Timeline) string {
	dir := runfolder.Of(logs)
	if dir == "" || !slices.ContainsFunc(tl.Runs, func(r timeline.Run) bool {
		const first = 1 // a pipeline that prints such a line does so on a later line of the log
		return r.Start.Pos.Line == first && (r.End == nil || r.End.Reason != harness.ReasonDone)
	}) {
		return ""
	}
	run, err := runfolder.Open(dir)
	if err != nil || !run.Resumable() {
		return ""
	}
	say := "the run has not ended; unless it is still running, "
	if run.Info.Reason == harness.ReasonFailFast {
		say = "the run was ended early by --fail-fast; "
	}
	return say + goOn(dir, run.Info)
}
