package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
	"vramsoak/reports/text"
)

type historyGateOptions struct {
	*historyOptions
	policy string
	accept bool
	note   string
}

func newHistoryGateCommand(shared *historyOptions) *cobra.Command {
	opts := historyGateOptions{historyOptions: shared}
	cmd := &cobra.Command{
		Use:   "gate [RUN]",
		Short: "Fail if the newest runs are worse than earlier ones, unless that was accepted",
		Long: fmt.Sprintf(`Gate judges the newest run of a suite, or the run with the given number,
against all earlier runs. It fails if a level got worse, in that run or in an earlier one, and did
not come back. It fails until the regression is mended or accepted. gate --accept stores the present
regressions as known; from then on gate only notes them.

A suite needs %d runs; with fewer the verdict is undecided.`, history.MinRuns),
		Example: `  vramsoak history gate --suite nightly

  # A larger model needs more memory, as intended
  vramsoak history gate --suite nightly --accept --note "whisper large-v3"`,
		Args: wants(0, 1, "one run at most, by its number in the history"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runHistoryGate(cmd.Context(), cmd.OutOrStdout(), args, opts)
		},
	}
	cmd.Flags().StringVar(&opts.policy, "policy", "",
		"policy `file` (YAML): how large a change must be, under regression")
	cmd.Flags().BoolVar(&opts.accept, "accept", false,
		"store the present regressions as known, and pass")
	cmd.Flags().StringVar(&opts.note, "note", "", "why the regressions are accepted")
	return cmd
}

func runHistoryGate(ctx context.Context, out io.Writer, args []string,
	opts historyGateOptions,
) error {
	if opts.note != "" && !opts.accept {
		return errors.New("--note says why a regression is accepted; give it with --accept")
	}
	policy, _, err := policyFor(opts.policy, nil)
	if err != nil {
		return err
	}
	return opts.with(ctx, history.Open, func(s *history.Store) error {
		h, err := s.Load(ctx, opts.suite)
		if err != nil {
			return err
		}
		if len(h.Runs) == 0 {
			return fmt.Errorf("expected runs of suite %s in the history, found none; vramsoak "+
				"history list --suite \"\" shows all suites", opts.suite)
		}
		if len(args) > 0 {
			id, err := runNumber(args[0])
			if err != nil {
				return err
			}
			if h, err = h.Until(id); err != nil {
				return err
			}
		}
		o := h.Gate(policy.Regression)
		if opts.accept && len(o.New) > 0 {
			accepted := o.Acceptances(h, time.Now(), opts.note)
			if err := s.Accept(ctx, accepted); err != nil {
				return err
			}
			h.Accepted = append(h.Accepted, accepted...)
			o = h.Gate(policy.Regression)
		}
		if err := text.Gate(out, h, o, textOptions(out)); err != nil {
			return err
		}
		if o.Verdict == check.Pass {
			return nil
		}
		return verdictError(o.Verdict)
	})
}
