package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"vramsoak/harness/history"
)

// defaultHistory is where the history is, unless --db or VRAMSOAK_HISTORY say otherwise: in the folder of the run folders.
const defaultHistory = "runs/history.db"

type historyOptions struct {
	db    string
	suite string
}

func newHistoryCommand() *cobra.Command {
	opts := &historyOptions{}
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Keep what every run measured, and find the run and the commit with which it got worse",
		Long: `History keeps what runs measured in a database, and finds in it when memory or speed changed. The database is an
SQLite file, or for a team PostgreSQL: --db postgres://user@host/database.

Runs are compared within a suite: the same pipeline over the same batch.`,
		Example: `  vramsoak history add runs/2026-11-20T02-00-00Z --suite nightly
  vramsoak history gate --suite nightly
  vramsoak history trend --suite nightly -o trend.png`,
		Args: wantsNone,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&opts.db, "db", "",
		"`history`: an SQLite file or a postgres:// URL; else what VRAMSOAK_HISTORY says, else "+defaultHistory)
	cmd.PersistentFlags().StringVar(&opts.suite, "suite", history.DefaultSuite, "`name` of the runs that are comparable")
	cmd.AddCommand(newHistoryAddCommand(opts), newHistoryListCommand(opts), newHistoryShowCommand(opts), newHistoryTrendCommand(opts))
	gate := newHistoryGateCommand(opts)
	gate.SetHelpTemplate(gate.HelpTemplate() + verdictStatus)
	cmd.AddCommand(gate)
	return cmd
}

// name is where the history is.
func (o *historyOptions) name() string {
	return cmp.Or(o.db, os.Getenv("VRAMSOAK_HISTORY"), defaultHistory)
}

// with opens the history for one command.
func (o *historyOptions) with(
	ctx context.Context, open func(context.Context, string) (*history.Store, error), do func(*history.Store) error,
) error {
	store, err := open(ctx, o.name())
	if err != nil {
		return err
	}
	return errors.Join(do(store), store.Close())
}

// load reads the suite.
func (o *historyOptions) load(ctx context.Context) (h *history.History, err error) {
	err = o.with(ctx, history.Open, func(s *history.Store) error {
		h, err = s.Load(ctx, o.suite)
		return err
	})
	return h, err
}

// runNumber reads a run's number, as list shows it.
func runNumber(arg string) (int64, error) {
	id, err := strconv.ParseInt(arg, 10, 64)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("expected the number of a run, found %q; vramsoak history list shows them", arg)
	}
	return id, nil
}
