package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"vramsoak/harness/check"
	"vramsoak/harness/runfolder"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

func newBaselineCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "Save what a run measured, to compare later runs with it",
		Args:  wantsNone,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBaselineSaveCommand(), newBaselineShowCommand())
	return cmd
}

type baselineSaveOptions struct {
	read   readOptions
	output string
	force  bool
}

func newBaselineSaveCommand() *cobra.Command {
	opts := baselineSaveOptions{}
	cmd := &cobra.Command{
		Use:   "save RUN|LOG -o baseline.json",
		Short: "Write what a run measured, file by file, as a small JSON file",
		Long: `Save writes what a run measured: a line for each file and each metric. The file is
made to be kept in a repository and read in a review. Save refuses a run that did not pass, because
compared with such a baseline, the next bad run would pass.` + dialectHelp(),
		Example: `  vramsoak baseline save runs/2026-11-20T02-00-00Z -o baseline.json
  vramsoak soak --files audio/ --baseline baseline.json -- python transcribe.py --list {list}`,
		Args: wantsFiles(1, 1, "one run folder or log"),
		RunE: func(_ *cobra.Command, args []string) error { return runBaselineSave(args[0], opts) },
	}
	outputVar(cmd.Flags(), &opts.output, "baseline.json", outputUsage, "json")
	cmd.Flags().BoolVar(&opts.force, "force", false, "also save a run that did not pass")
	policyVar(cmd.Flags(), &opts.read.policy, "policy `file` (YAML) by which the run must pass")
	cmd.Flags().StringVar(&opts.read.dialect, "dialect", "", dialectUsage)
	return cmd
}

func runBaselineSave(path string, opts baselineSaveOptions) error {
	m, err := opts.read.measured(path)
	if err != nil {
		return err
	}
	if len(m.Metrics) == 0 {
		return fmt.Errorf("%s: expected a file that ended ok and has readings, found none; "+
			"there is nothing to compare with", path)
	}
	if m.Run.Verdict, err = worseVerdict(path, m.Run.Verdict); err != nil {
		return err
	}
	if v := m.Run.Verdict; v != check.Pass && !opts.force {
		return fmt.Errorf("%s did not pass (%s), and compared with it the next bad run would "+
			"pass; see why with vramsoak check, or save it anyway with --force", path, v)
	}
	return writeOutput(opts.output, func(w io.Writer) error { return m.WriteJSON(sink.JSON(w)) })
}

// soakVerdict returns the verdict in a run folder, or "" if the folder has no verdict yet.
func soakVerdict(path string) (check.Verdict, error) {
	dir := path
	if folder := runfolder.Of([]string{path}); folder != "" {
		dir = folder
	} else if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return "", nil // a log from elsewhere
	}
	return runfolder.ReadVerdict(dir)
}

// worseVerdict returns the worse of two verdicts: `judged`, and the verdict that the soak itself
// gave.
func worseVerdict(path string, judged check.Verdict) (check.Verdict, error) {
	given, err := soakVerdict(path)
	if err != nil {
		return "", err
	}
	rank := []check.Verdict{check.Pass, check.Undecided, check.Fail}
	if slices.Index(rank, given) > slices.Index(rank, judged) {
		return given, nil
	}
	return judged, nil
}

func newBaselineShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show BASELINE",
		Short:   "Show the metrics of a baseline, a run or a log that can be compared",
		Example: `  vramsoak baseline show baseline.json`,
		Args:    wantsFiles(1, 1, "one baseline"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBaselineShow(cmd.OutOrStdout(), args[0])
		},
	}
}

func runBaselineShow(out io.Writer, path string) error {
	m, err := readOptions{}.measured(path)
	if err != nil {
		return err
	}
	return text.Baseline(out, m.Baseline, textOptions(out))
}
