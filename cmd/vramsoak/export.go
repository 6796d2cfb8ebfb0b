package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"vramsoak/harness/runfolder"
	"vramsoak/parser"
	"vramsoak/reports/export"
	"vramsoak/reports/export/openmetrics"
	"vramsoak/reports/export/perfetto"
)

type exportOptions struct {
	format string
	output string
	read   readOptions
}

// The values of --format of export.
const (
	formatPerfetto    = "perfetto"
	formatOpenMetrics = "openmetrics"
)

var exportFormats = []string{formatPerfetto, formatOpenMetrics}

func newExportCommand() *cobra.Command {
	opts := exportOptions{}
	cmd := &cobra.Command{
		Use:   "export LOG... --format FORMAT -o FILE",
		Short: "Write a run for other tools: Perfetto, Prometheus, Grafana",
		Long: `Export writes what a log says in the format of another tool.

  perfetto      a trace for ui.perfetto.dev: the ledgers of each device as counters, the files and
                stages as slices, failed allocations, failed files and restarts as events
  openmetrics   text for Prometheus: the same readings, with their times. promtool tsdb
                create-blocks-from openmetrics puts them into a database for Grafana

If a log gives no times, line 1,234 of the log is at 1.234 seconds of the trace, and OpenMetrics has
only the last reading of each series. Logs with and without times do not go into one file. vramsoak
parse writes CSV and JSON lines.` + dialectHelp(),
		Example: `  vramsoak export runs/2026-11-20T02-00-00Z --format perfetto -o run.pftrace
  vramsoak export run.log --format openmetrics -o run.om`,
		Args: wantsFiles(1, 0, "logs or run folders"),
		RunE: func(_ *cobra.Command, args []string) error { return runExport(args, opts) },
	}
	f := cmd.Flags()
	choiceVar(f, &opts.format, "format", "", exportFormats, "perfetto or openmetrics")
	outputVar(f, &opts.output, "", outputUsage)
	policyVar(f, &opts.read.policy, "policy `file` (YAML) with dialects of your own")
	f.StringVar(&opts.read.dialect, "dialect", "", dialectUsage)
	return cmd
}

// An eventWriter writes events in one format.
type eventWriter interface {
	Add(e export.Event)
	Close() error
}

func runExport(paths []string, opts exportOptions) error {
	switch {
	case opts.format == "":
		return fmt.Errorf("--format: expected %s, found none", alternatives(exportFormats))
	case opts.output == "":
		return errors.New("-o: expected the file to write, such as run.pftrace, found none")
	}
	logs, err := runfolder.Resolve(paths)
	if err != nil {
		return err
	}
	var clock export.Clock
	err = writeTo(opts.output, func(w io.Writer) error {
		var out eventWriter = perfetto.NewWriter(w)
		if opts.format == formatOpenMetrics {
			out = openmetrics.NewWriter(w)
		}
		x := export.New(out.Add)
		b := &parser.Builder{}
		b.Done = x.Add
		tl, _, err := opts.read.timeline(logs, b)
		if err != nil {
			return err
		}
		err = errors.Join(x.Finish(tl), out.Close())
		clock = x.Clock()
		return err
	})
	if err != nil {
		return err
	}
	stderr.Printf("wrote %s: %s\n", displayOutput(opts.output), aboutTimes(opts.format, clock))
	return nil
}

// aboutTimes says what the times in an exported file are.
func aboutTimes(format string, clock export.Clock) string {
	if format == formatOpenMetrics && clock != export.Dated {
		return "without times, because the log gives no dates; each series has its last reading"
	}
	return clock.String()
}
