package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vramsoak/harness/check"
	"vramsoak/harness/runfolder"
	"vramsoak/parser/timeline"
	"vramsoak/reports/junit"
	"vramsoak/reports/markdown"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

type checkOptions struct {
	read      readOptions
	baselines []string
	print     printOptions
}

// printOptions say how to print a report on a run.
type printOptions struct {
	format  string
	verbose bool
}

const verboseUsage = "also print the table of all checks, why checks were not judged, and the " +
	"memory of a typical file"

func (o *printOptions) flags(f *pflag.FlagSet, usage string) {
	choiceVar(f, &o.format, "format", "text", reportFormats, usage)
	f.BoolVarP(&o.verbose, "verbose", "v", false, verboseUsage)
}

func newCheckCommand() *cobra.Command {
	opts := checkOptions{}
	cmd := &cobra.Command{
		Use:   "check LOG...",
		Short: "Judge existing logs",
		Long: `Check reads the memory checkpoints of a log and judges whether memory is given
back: recovery of each cleanup, peak, growth over files, out of memory, completeness, consistency,
and with --baseline whether it got worse. Several logs are judged together, each as a run of its
own. LOG is a file, which may be compressed with gzip or zstd, a run folder, or - for standard
input.

A run folder with shards (shard-0001 and so on) is judged as one run, and so are the folders of
several of its shards. Shards that are missing or were cut short are named, and fail completeness.

The policy is the first of these: the file that --policy names; for a log that vramsoak wrote, the
policy of that run; vramsoak.yaml in the current folder; the defaults. It may hold dialects of your
own.` + dialectHelp(),
		Example: `  vramsoak check run.log
  vramsoak check runs/2026-11-20T02-00-00Z --format json
  vramsoak check runs/nightly-42/shard-*
  vramsoak check run.log --baseline last-good.json --baseline anchor.json
  python transcribe.py *.mp3 2>&1 | vramsoak check -`,
		Args: wantsFiles(1, 0, "logs or run folders"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCheck(cmd.Context(), cmd.OutOrStdout(), args, opts)
		},
	}
	policyVar(cmd.Flags(), &opts.read.policy,
		"policy `file` (YAML): thresholds, expected checkpoints, which checks gate")
	cmd.Flags().StringVar(&opts.read.dialect, "dialect", "", dialectUsage)
	inputsVar(cmd.Flags(), &opts.baselines, "baseline", baselineUsage, "json")
	opts.print.flags(cmd.Flags(), "text, json, junit or markdown")
	return cmd
}

func runCheck(ctx context.Context, out io.Writer, paths []string, opts checkOptions) error {
	shards, err := findShards(ctx, paths)
	if err != nil {
		return err
	}
	if len(shards) > 0 {
		return checkShards(out, shards, opts)
	}
	logs, err := runfolder.Resolve(paths)
	if err != nil {
		return err
	}
	refs, err := opts.read.references(opts.baselines)
	if err != nil {
		return err
	}
	opts.read.measures = len(refs) > 0
	tl, report, err := opts.read.judge(logs, nil)
	if err != nil {
		return err
	}
	if len(refs) > 0 {
		info, err := runOf(logs, tl)
		if err != nil {
			return err
		}
		if err := refs.joinAndRemark(report, info); err != nil {
			return err
		}
	}
	if err := opts.print.write(out, tl, report); err != nil {
		return err
	}
	if err := reportToCI(out, opts.print, tl, report); err != nil {
		return err
	}
	if goOn := cutShort(logs, tl); goOn != "" {
		stderr.Printf("vramsoak: %s\n", goOn)
	}
	return verdict(report)
}

// A reportFunc writes a report in one format.
type reportFunc func(io.Writer, *timeline.Timeline, *check.Report) error

// write writes a report in the format given with --format.
func (o printOptions) write(w io.Writer, tl *timeline.Timeline, r *check.Report) error {
	switch o.format {
	case "json":
		return writeJSON(w, tl, r)
	case "junit":
		return junit.Write(w, tl, r)
	case "markdown":
		return markdown.Report(w, tl, r)
	}
	return o.writeText(w, tl, r)
}

func writeJSON(w io.Writer, _ *timeline.Timeline, r *check.Report) error {
	return r.WriteJSON(sink.JSON(w))
}

func (o printOptions) writeText(w io.Writer, tl *timeline.Timeline, r *check.Report) error {
	opts := textOptions(w)
	opts.Verbose = o.verbose
	return text.Report(w, tl, r, opts)
}
