package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"vramsoak/reports"
)

func newParseCommand() *cobra.Command {
	format := ""
	cmd := &cobra.Command{
		Use:   "parse LOG...",
		Short: "Print the records of a log",
		Long: `Parse prints what vramsoak reads in a log, one record a line: checkpoints, warnings, out-of-memory messages, the
harness's own lines, and the lines that look like one of these and cannot be read. It judges nothing.`,
		Example: `  vramsoak parse run.log
  vramsoak parse run.log --format csv > run.csv
  vramsoak parse run.log --format jsonl | jq 'select(.kind == "checkpoint") | .allocated'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runParse(cmd.OutOrStdout(), cmd.ErrOrStderr(), args, format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "table, jsonl or csv")
	return cmd
}

func runParse(out, diagnostics io.Writer, logs []string, format string) error {
	if !slices.Contains(reports.RecordFormats, format) {
		return fmt.Errorf("expected --format table, jsonl or csv, found %q", format)
	}
	counts, err := reports.Records(out, records(logs), format)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(diagnostics, counts)
	return err
}
