package main

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"vramsoak/reports"
)

type plotOptions struct {
	output string
	read   readOptions
	size   reports.PlotOptions
}

func newPlotCommand() *cobra.Command {
	opts := plotOptions{}
	cmd := &cobra.Command{
		Use:   "plot LOG... -o memory.{png,svg,pdf}",
		Short: "Plot memory over time",
		Long: `Plot draws allocated, reserved and device used over time, with the boundaries of files, the stages, the 70 and 85 %
lines, the high-water mark, and the cleanups that failed. The ending of the output's name is the format.` + dialectHelp(),
		Example: `  vramsoak plot run.log -o memory.png
  vramsoak plot runs/*/soak.log -o nights.svg --width 2400`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runPlot(args, opts) },
	}
	cmd.Flags().StringVarP(&opts.output, "output", "o", "memory.png", "`file` to write: .png, .svg or .pdf")
	cmd.Flags().StringVar(&opts.read.policy, "policy", "", "policy `file`, for what counts as a failed cleanup")
	cmd.Flags().StringVar(&opts.read.dialect, "dialect", "", dialectUsage)
	cmd.Flags().IntVar(&opts.size.Width, "width", 1600, "width in pixels")
	cmd.Flags().IntVar(&opts.size.Height, "height", 900, "height in pixels")
	return cmd
}

func runPlot(logs []string, opts plotOptions) error {
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(opts.output)), ".")
	tl, report, err := opts.read.judge(logs)
	if err != nil {
		return err
	}
	return writeFile(opts.output, func(w io.Writer) error {
		return reports.Plot(w, format, tl, report, opts.size)
	})
}
