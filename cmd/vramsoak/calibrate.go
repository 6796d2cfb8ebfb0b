package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vramsoak/harness/calibrate"
	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/harness/history"
	"vramsoak/parser/record"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

type calibrateOptions struct {
	read        readOptions
	suite       string
	last        int
	all         bool
	falseAlarms percentage
	power       percentage
	tries       int
	seed        uint64
	format      string
}

func newCalibrateCommand() *cobra.Command {
	opts := calibrateOptions{falseAlarms: 0.001, power: 0.9}
	cmd := &cobra.Command{
		Use:   "calibrate HISTORY|RUN...",
		Short: "Measure how often the policy fires on clean runs, and how small a leak it catches",
		Long: `Calibrate takes runs of one suite that are known to be clean, and says what the
policy does on them. It redistributes the noise of the runs many times and judges each try as a
soak is judged. It compares each run with each other one. The report says how often the gate would
have fired, which leak and which regression it fires on reliably, how many clean runs would be
undecided, and which limits keep a stated rate of false alarms.

RUN is a run folder, a log, or a baseline; HISTORY is a database of vramsoak history, and --suite
names the runs in it. Runs that failed are left out. The policy is found for the last run as
vramsoak check finds it.` + dialectHelp(),
		Example: `  vramsoak calibrate runs/*/
  vramsoak calibrate runs/history.db --suite nightly --last 20
  vramsoak calibrate runs/*/ --policy ci/vramsoak.yaml --false-alarms 1% --format json`,
		Args: wantsFiles(1, 0, "run folders, or a history"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCalibrate(cmd.Context(), cmd.OutOrStdout(), args, opts)
		},
	}
	policyVar(cmd.Flags(), &opts.read.policy, "policy `file` (YAML) to calibrate")
	cmd.Flags().StringVar(&opts.read.dialect, "dialect", "", dialectUsage)
	cmd.Flags().StringVar(&opts.suite, "suite", history.DefaultSuite,
		"`name` of the runs of a history")
	wholeVar(cmd.Flags(), &opts.last, "last", 30, calibrate.LeastRuns,
		"take the `n` newest runs of a history")
	cmd.Flags().BoolVar(&opts.all, "all", false,
		"also take runs that failed, if their alarms are known to be false")
	cmd.Flags().Var(&opts.falseAlarms, "false-alarms", "the `share` of clean runs that may fail")
	cmd.Flags().Var(&opts.power, "power", "the `share` of leaks that must be caught, and of clean "+
		"runs that must be decided")
	wholeVar(cmd.Flags(), &opts.tries, "resamples", 4000, 1, "number of `tries` for each check")
	cmd.Flags().Uint64Var(&opts.seed, "seed", 1, "`seed` of the random tries")
	choiceVar(cmd.Flags(), &opts.format, "format", "text", textOrJSON, "text or json")
	return cmd
}

func runCalibrate(ctx context.Context, out io.Writer, paths []string, opts calibrateOptions) error {
	if opts.suite == "" {
		return errors.New("--suite: expected a name, found none; all runs must be of one suite")
	}
	for i, path := range paths {
		if slices.Contains(paths[:i], path) {
			return fmt.Errorf("expected each run once, found %s twice; a run that counts "+
				"twice adds no information", path)
		}
	}
	var runs []*compare.Baseline
	var last *check.Report // of the last run; nil if that is not a log
	for _, path := range paths {
		more, report, err := opts.runs(ctx, path)
		if _, empty := errors.AsType[emptyError](err); empty && len(paths) > 1 {
			stderr.Printf("vramsoak: left out: %v\n", err)
			continue
		}
		if err != nil {
			return err
		}
		runs, last = append(runs, more...), report
	}
	policy, _, err := policyFor(opts.read.policy, nil)
	if last != nil {
		policy, err = last.Policy, nil
	}
	if err != nil {
		return err
	}
	r, err := calibrate.Of(runs, policy, calibrate.Options{
		FalseAlarms: float64(opts.falseAlarms), Power: float64(opts.power), Tries: opts.tries,
		Seed: opts.seed, All: opts.all,
	})
	if err != nil {
		return err
	}
	if opts.format == "json" {
		return sink.WriteJSON(out, r)
	}
	return text.Calibration(out, r, textOptions(out))
}

// runs returns the runs of a history, or a single run. If the path is a log, it also returns the
// log's report.
func (o calibrateOptions) runs(ctx context.Context, path string) ([]*compare.Baseline,
	*check.Report, error,
) {
	if isHistory, err := isHistory(path); err != nil || isHistory {
		if err != nil {
			return nil, nil, err
		}
		runs, err := o.fromHistory(ctx, path)
		return runs, nil, err
	}
	m, err := o.read.measured(path)
	if err != nil {
		return nil, nil, err
	}
	m.Run.Log = displayName(path)
	m.Run.Verdict, err = worseVerdict(path, m.Run.Verdict)
	return []*compare.Baseline{m.Baseline}, m.report, err
}

// isHistory reports whether a path is a history, not a run. A history is an SQLite file, whose
// first bytes are known (https://www.sqlite.org/fileformat.html), or the address of a PostgreSQL
// database.
func isHistory(path string) (bool, error) {
	if history.IsPostgres(path) {
		return true, nil
	}
	if info, err := os.Stat(path); path == "-" || err == nil && info.IsDir() {
		return false, nil
	}
	head, err := headOf(path)
	return strings.HasPrefix(string(head), "SQLite format 3\x00"), err
}

// fromHistory returns the newest runs of the suite, in the order in which they started.
func (o calibrateOptions) fromHistory(ctx context.Context, name string) (runs []*compare.Baseline,
	err error,
) {
	store, err := history.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	entries, err := store.List(ctx, o.suite)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("expected runs of suite %s in the history, found none; vramsoak "+
			"history list --suite \"\" shows all suites", o.suite)
	}
	for _, e := range entries[max(0, len(entries)-o.last):] {
		_, run, err := store.Get(ctx, e.ID)
		if err != nil {
			return nil, err
		}
		b := run.Baseline
		b.Run.Log, b.Run.Verdict = fmt.Sprintf("run %d", e.ID), e.Verdict
		runs = append(runs, &b)
	}
	return runs, nil
}

// A percentage is the value of a flag such as 0.1% or 0.001.
type percentage float64

// String implements pflag.Value.
func (p *percentage) String() string {
	return strconv.FormatFloat(100*float64(*p), 'g', 6,
		64) + "%"
}

// Set implements pflag.Value.
func (p *percentage) Set(s string) error {
	v, ok := record.ParseRatio(s)
	if !ok || v == 1 {
		return errors.New("expected a share such as 0.1% or 0.001, above 0 and below 1")
	}
	*p = percentage(v)
	return nil
}

// Type implements pflag.Value.
func (*percentage) Type() string { return "share" }
