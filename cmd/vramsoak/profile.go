package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"vramsoak/harness/runfolder"
	"vramsoak/parser"
	"vramsoak/parser/timeline"
	"vramsoak/pipeline/profile"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

type profileOptions struct {
	read   readOptions
	output string
}

func newProfileCommand() *cobra.Command {
	opts := profileOptions{}
	cmd := &cobra.Command{
		Use:   "profile RUN|LOG... [-o profile.yaml]",
		Short: "Learn from a soak how much memory each stage needs, for vramsoak validate",
		Long: `Profile reads a soak's log and learns how much memory each stage needs: its memory
above the start of the stage, by the length of the file; what it keeps; how much more is reserved
than allocated; and what else is in use on the device. vramsoak validate --profile predicts with
these numbers instead of estimates.

Files of several lengths make a better profile, because only they show what a longer file needs.
Profile prints a table; with -o it also writes the profile.` + dialectHelp(),
		Example: `  vramsoak profile runs/2026-11-20T02-00-00Z -o profile.yaml
  vramsoak validate pipeline.yaml --gpu "RTX 5080" --profile profile.yaml`,
		Args: wantsFiles(1, 0, "run folders or logs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runProfile(cmd.OutOrStdout(), args, opts)
		},
	}
	outputVar(cmd.Flags(), &opts.output, "", "`file` to write (YAML); - is standard output",
		"yaml", "yml")
	policyVar(cmd.Flags(), &opts.read.policy, "policy `file` (YAML) with dialects of your own")
	cmd.Flags().StringVar(&opts.read.dialect, "dialect", "", dialectUsage)
	return cmd
}

func runProfile(out io.Writer, paths []string, opts profileOptions) error {
	logs, err := runfolder.Resolve(paths)
	if err != nil {
		return err
	}
	learner := profile.Learner{}
	tl, _, err := opts.read.timeline(logs,
		&parser.Builder{Builder: timeline.Builder{Done: learner.Add}})
	if err != nil {
		return err
	}
	p, err := learner.Profile(tl)
	if err != nil {
		return fmt.Errorf("%s: %w", logs[0], err)
	}
	if opts.output != "" {
		if err := writeOutput(opts.output, sink.Text(p.Write)); err != nil {
			return err
		}
	}
	return text.Profile(out, p, textOptions(out))
}
