package main

import (
	"io"

	"github.com/spf13/cobra"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/reports/html"
	"vramsoak/reports/jsondoc"
	"vramsoak/reports/markdown"
	"vramsoak/reports/plots"
	"vramsoak/reports/plots/comparison"
	"vramsoak/reports/text"
)

type compareOptions struct {
	read    readOptions
	format  string
	verbose bool
	exact   bool
	output  string // the file to draw or to write, or ""
	size    plots.Options
}

func newCompareCommand() *cobra.Command {
	opts := compareOptions{}
	cmd := &cobra.Command{
		Use:   "compare BASE NEW",
		Short: "Tell whether a run needs more memory or time than an earlier one",
		Long: `Compare compares NEW with BASE, metric by metric, each file with the same file:
idle level, reserved - allocated, dark memory, peaks, recoveries, throughput, and how levels grow
over the files. A metric fails if it certainly got worse by more than 1 % (memory: by more than 8
MiB too; times: by more than 5 %; growth: by more than a leak is allowed). It passes if it
certainly did not, and is undecided otherwise. BASE and NEW are run folders, logs, or baselines
that vramsoak baseline save wrote.

With -o it draws how much each metric changed, with the 95 % interval and the limit, and the worst
metrics file by file.

The limits are those of the policy, found for NEW as vramsoak check finds it.` + dialectHelp(),
		Example: `  vramsoak compare runs/2026-11-19T02-00-00Z runs/2026-11-20T02-00-00Z
  vramsoak compare baseline.json run.log --format markdown
  vramsoak compare base.log new.log -o compared.png

  # Two runs without any noise, such as simulated ones
  vramsoak compare base.log new.log --exact`,
		Args: wantsFiles(2, 2, "two runs, each a run folder, a log or a baseline"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCompare(cmd.OutOrStdout(), args[0], args[1], opts)
		},
	}
	policyVar(cmd.Flags(), &opts.read.policy,
		"policy `file` (YAML): by how much a metric may be worse")
	cmd.Flags().StringVar(&opts.read.dialect, "dialect", "", dialectUsage)
	choiceVar(cmd.Flags(), &opts.format, "format", "text", comparisonFormats,
		"text, json or markdown")
	cmd.Flags().BoolVarP(&opts.verbose, "verbose", "v", false,
		"also print the table of all metrics, and why metrics were not compared")
	cmd.Flags().BoolVar(&opts.exact, "exact", false,
		"compare memory and recoveries byte by byte, like regression: {exact: true} in the policy")
	pictureVar(cmd.Flags(), &opts.output, "", "also write the values of both runs, file by file, "+
		"to this `file`: .png, .svg, .pdf or .html; - is standard output", picturesAndPages)
	wholeVar(cmd.Flags(), &opts.size.Width, "width", 1600, 1, "width of a picture in pixels")
	wholeVar(cmd.Flags(), &opts.size.Height, "height", 0, 0,
		"height of a picture in pixels; 0 is as high as its parts need")
	return cmd
}

func runCompare(out io.Writer, basePath, newPath string, opts compareOptions) error {
	base, err := opts.read.measured(basePath)
	if err != nil {
		return err
	}
	base.report = nil // not needed, and large for 20,000 devices
	run, err := opts.read.measured(newPath)
	if err != nil {
		return err
	}
	if err := comparableRuns(base.Run, run.Run); err != nil {
		return err
	}
	report := run.report
	run.report = nil
	if report == nil {
		policy, _, err := policyFor(opts.read.policy, nil)
		if err != nil {
			return err
		}
		report = &check.Report{Files: len(run.Files), Policy: policy}
	}
	policy := report.Policy
	// Compare shows every difference, so it applies no waivers.
	policy.Gate, policy.Require, policy.Waive = []string{check.Regression}, nil, nil
	policy.Regression.Exact = policy.Regression.Exact || opts.exact
	only := &check.Report{
		Schema: check.Schema, Files: report.Files, Checkpoints: report.Checkpoints,
		HighWater: report.HighWater, Policy: policy,
	}
	c := compare.Runs(base.Baseline, run.Baseline, policy)
	only.Join(c.Findings("")...)
	if err := opts.write(out, c, only); err != nil {
		return err
	}
	if err := opts.draw(c, base.Baseline, run.Baseline, only.Verdict); err != nil {
		return err
	}
	if err := annotate(out, opts.format, only); err != nil {
		return err
	}
	err = appendSummary(func(w io.Writer) error { return markdown.Comparison(w, c, only.Verdict) })
	if err != nil {
		return err
	}
	return verdict(only)
}

// draw writes the picture or the page that -o names, if any.
func (o compareOptions) draw(
	c *compare.Comparison, base, run *compare.Baseline, v check.Verdict,
) error {
	if o.output == "" {
		return nil
	}
	format := pictureFormat(o.output)
	return writeOutput(o.output, func(w io.Writer) error {
		if format == "html" {
			return html.WriteComparison(w, html.Comparison{
				Comparison: c, Verdict: v, Base: base, New: run, Version: version(),
			})
		}
		return comparison.New(c, base, run, v).Plot(w, format, o.size)
	})
}

// write writes a comparison in the format given with --format.
func (o compareOptions) write(w io.Writer, c *compare.Comparison, r *check.Report) error {
	switch o.format {
	case "json":
		return jsondoc.Comparison(w, c, r)
	case "markdown":
		return markdown.Comparison(w, c, r.Verdict)
	}
	how := textOptions(w)
	how.Verbose = o.verbose
	return text.Comparison(w, c, r.Verdict, how)
}
