package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vramsoak/harness/history"
	"vramsoak/parser/strictyaml"
	"vramsoak/reports/html"
	"vramsoak/reports/plots"
	"vramsoak/reports/plots/overruns"
	"vramsoak/reports/text"
)

// defaultHistory is the history if neither --db nor VRAMSOAK_HISTORY names one.
const defaultHistory = "runs/history.db"

type historyOptions struct {
	db    string
	suite string
	// suiteFlag is the flag --suite. It tells whether the user named the suite.
	suiteFlag *pflag.Flag
}

func newHistoryCommand() *cobra.Command {
	opts := &historyOptions{}
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Keep what every run measured, and find the run and the commit that made it worse",
		Long: `History keeps what runs measured in a database, and finds in it when memory or
speed changed. The database is an SQLite file, or for a team PostgreSQL: --db
postgres://user@host/database.

Runs are compared within a suite: the same pipeline over the same batch.`,
		Example: `  vramsoak history add runs/2026-11-20T02-00-00Z --suite nightly
  vramsoak history gate --suite nightly
  vramsoak history trend --suite nightly -o trend.png`,
		Args: wantsNone,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&opts.db, "db", "",
		"`history`: an SQLite file or a postgres:// URL; the default is the environment variable "+
			"VRAMSOAK_HISTORY, or else "+defaultHistory)
	cmd.PersistentFlags().StringVar(&opts.suite, "suite", history.DefaultSuite,
		"`name` of the suite: only its runs are compared with each other")
	opts.suiteFlag = cmd.PersistentFlags().Lookup("suite")
	cmd.AddCommand(newHistoryAddCommand(opts), newHistoryListCommand(opts),
		newHistoryShowCommand(opts), newHistoryTrendCommand(opts))
	gate := newHistoryGateCommand(opts)
	gate.SetHelpTemplate(gate.HelpTemplate() + verdictStatus)
	cmd.AddCommand(gate)
	return cmd
}

// name returns the history's file or database address.
func (o *historyOptions) name() string {
	return cmp.Or(o.db, os.Getenv("VRAMSOAK_HISTORY"), defaultHistory)
}

// with opens the history, calls do with it, and closes it.
func (o *historyOptions) with(
	ctx context.Context, open func(context.Context, string) (*history.Store, error),
	do func(*history.Store) error,
) error {
	store, err := open(ctx, o.name())
	if err != nil {
		return err
	}
	return errors.Join(do(store), store.Close())
}

// oneSuite returns an error if no suite is named: only [history.Store.List] takes that for all.
func (o *historyOptions) oneSuite() error {
	if o.suite == "" {
		return errors.New("--suite: expected a name, found none")
	}
	return nil
}

// load reads the suite.
func (o *historyOptions) load(ctx context.Context) (h *history.History, err error) {
	if err := o.oneSuite(); err != nil {
		return nil, err
	}
	err = o.with(ctx, history.Open, func(s *history.Store) error {
		h, err = s.Load(ctx, o.suite)
		return err
	})
	return h, err
}

// runNumber reads the number of a run, as `vramsoak history list` shows it.
func runNumber(arg string) (int64, error) {
	id, err := strconv.ParseInt(arg, 10, 64)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("expected the number of a run, found %q; vramsoak history list "+
			"shows them", arg)
	}
	return id, nil
}

func newHistoryListCommand(opts *historyOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the runs of all suites, or of one with --suite",
		Example: `  vramsoak history list
  vramsoak history list --suite nightly`,
		Args: wantsNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return opts.with(cmd.Context(), history.Open, func(s *history.Store) error {
				suite := opts.suite
				if !opts.suiteFlag.Changed {
					suite = "" // all
				}
				runs, err := s.List(cmd.Context(), suite)
				if err == nil && len(runs) == 0 {
					err = opts.noRuns(cmd.Context(), s)
				}
				if err != nil {
					return err
				}
				return text.HistoryList(cmd.OutOrStdout(), runs, textOptions(cmd.OutOrStdout()))
			})
		},
	}
}

// noRuns returns an error for the suite, which has no runs. It names the suites that there are.
func (o *historyOptions) noRuns(ctx context.Context, s *history.Store) error {
	all, err := s.List(ctx, "")
	if err != nil {
		return err
	}
	var suites []string
	for _, run := range all {
		if !slices.Contains(suites, run.Suite) {
			suites = append(suites, run.Suite)
		}
	}
	if len(suites) == 0 {
		return fmt.Errorf("history %s has no runs; add them with vramsoak history add RUN", o.name())
	}
	if !o.suiteFlag.Changed {
		return fmt.Errorf("--suite: expected a suite of history %s (%s), found none; name it with "+
			"--suite", o.name(), strings.Join(suites, ", "))
	}
	return fmt.Errorf("--suite: expected a suite of history %s (%s), found %q%s", o.name(),
		strings.Join(suites, ", "), o.suite, strictyaml.Meant(o.suite, suites))
}

func newHistoryShowCommand(opts *historyOptions) *cobra.Command {
	return &cobra.Command{
		Use:     "show RUN",
		Short:   "Show what the history keeps of a run",
		Example: `  vramsoak history show 41`,
		Args:    wants(1, 1, "one run, by its number in the history"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runHistoryShow(cmd.Context(), cmd.OutOrStdout(), args[0], opts)
		},
	}
}

func runHistoryShow(ctx context.Context, out io.Writer, arg string, opts *historyOptions) error {
	id, err := runNumber(arg)
	if err != nil {
		return err
	}
	return opts.with(ctx, history.Open, func(s *history.Store) error {
		entry, run, err := s.Get(ctx, id)
		if err != nil {
			return err
		}
		h, err := s.Load(ctx, entry.Suite)
		if err != nil {
			return err
		}
		if h, err = h.Until(id); err != nil {
			return err
		}
		newest := slices.DeleteFunc(h.Series, func(s history.Series) bool {
			return s.Runs[len(s.Runs)-1] != len(h.Runs)-1
		})
		return text.HistoryRun(out, entry, run, newest, textOptions(out))
	})
}

type historyTrendOptions struct {
	*historyOptions
	metric    string
	statistic string
	policy    string
	output    string
	size      plots.Options
}

func newHistoryTrendCommand(shared *historyOptions) *cobra.Command {
	opts := historyTrendOptions{historyOptions: shared}
	cmd := &cobra.Command{
		Use:   "trend",
		Short: "Find when memory or speed changed, and with which commit",
		Long: `Trend finds the runs in which the level of a metric changed. It names the last run
before the change and the first run after it. With -o it draws the series. For peaks it takes the
worst file of each run, for other metrics the median. It also follows the growth that the leak check
measured. It also names series that get worse slowly, with the run at which that began: the steps of
such a series are not named.`,
		Example: `  vramsoak history trend --suite nightly
  vramsoak history trend --suite nightly --metric peak -o trend.png`,
		Args: wantsNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runHistoryTrend(cmd.Context(), cmd.OutOrStdout(), opts)
		},
	}
	cmd.Flags().StringVar(&opts.metric, "metric", "", "only this `metric`, such as peak")
	choiceVar(cmd.Flags(), &opts.statistic, "statistic", "", history.Statistics,
		"which value of each run's files: "+alternatives(history.Statistics))
	policyVar(cmd.Flags(), &opts.policy,
		"policy `file` (YAML): how large a change must be, under regression")
	pictureVar(cmd.Flags(), &opts.output, "", "`file` to draw: .png, .svg or .pdf, or .html for "+
		"a page with every series; - is standard output", picturesAndPages)
	wholeVar(cmd.Flags(), &opts.size.Width, "width", 1600, 1, "width in pixels")
	wholeVar(cmd.Flags(), &opts.size.Height, "height", 0, 0,
		"height in pixels; 0 is as high as its series need")
	return cmd
}

func runHistoryTrend(ctx context.Context, out io.Writer, opts historyTrendOptions) error {
	policy, _, err := policyFor(opts.policy, nil)
	if err != nil {
		return err
	}
	h, err := opts.load(ctx)
	if err != nil {
		return err
	}
	if len(h.Runs) == 0 {
		return opts.with(ctx, history.Open, func(s *history.Store) error {
			return opts.noRuns(ctx, s)
		})
	}
	series, err := opts.series(h)
	if err != nil {
		return err
	}
	changes, withdrawn := h.Changes(series, policy.Regression)
	drifts := h.Drifts(series, changes, policy.Regression)
	changes = history.Unexplained(changes, drifts)
	if extension(opts.output) == "html" {
		page := html.History{
			History: h, Series: series, Changes: changes, Drifts: drifts,
			Outcome: h.Gate(policy.Regression), Version: version(),
		}
		err := writeOutput(opts.output, func(w io.Writer) error { return html.WriteHistory(w, page) })
		if err != nil {
			return err
		}
	} else if opts.output != "" {
		format := pictureFormat(opts.output)
		err := writeOutput(opts.output, func(w io.Writer) error {
			return overruns.Plot(w, format, h, series, changes, drifts, opts.size)
		})
		if err != nil {
			return err
		}
	}
	return text.Trend(out, h, series, changes, drifts, withdrawn, textOptions(out))
}

// series returns the series that the user's flags select.
func (o historyTrendOptions) series(h *history.History) ([]*history.Series, error) {
	series := h.Judged()
	if o.statistic != "" {
		series = nil
		for i := range h.Series {
			if h.Series[i].Statistic == o.statistic {
				series = append(series, &h.Series[i])
			}
		}
	}
	if o.metric != "" {
		series = slices.DeleteFunc(series, func(s *history.Series) bool {
			return s.Metric != o.metric
		})
	}
	if len(series) > 0 {
		return series, nil
	}
	var known []string
	for _, s := range h.Series {
		if !slices.Contains(known, s.Metric) {
			known = append(known, s.Metric)
		}
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("suite %s has no runs that measured anything; vramsoak history "+
			"list shows the runs of all suites", h.Suite)
	}
	return nil, fmt.Errorf("expected a metric that suite %s has, found %q%s; it has: %s",
		h.Suite, strings.TrimSpace(o.metric+" "+o.statistic), strictyaml.Meant(o.metric, known),
		strings.Join(known, ", "))
}
