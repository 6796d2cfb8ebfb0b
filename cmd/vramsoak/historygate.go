package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
	"vramsoak/harness/waiver"
	"vramsoak/reports/text"
	"vramsoak/reports/wording"
)

type historyGateOptions struct {
	*historyOptions
	policy string
	accept bool
	waiver waiver.Waiver
}

func newHistoryGateCommand(shared *historyOptions) *cobra.Command {
	opts := historyGateOptions{historyOptions: shared}
	cmd := &cobra.Command{
		Use:   "gate [RUN]",
		Short: "Fail if the newest runs are worse than earlier ones, unless that was accepted",
		Long: fmt.Sprintf(`Gate judges the newest run of a suite, or the run with the given number,
against all earlier runs. It fails if a level got worse, in that run or in an earlier one, and did
not come back. It fails until the regression is mended or accepted. gate --accept waives the present
regressions: from then on gate only notes them. With --until it fails again for runs after that day.

A suite needs %d runs; with fewer the verdict is undecided.`, history.MinRuns),
		Example: `  vramsoak history gate --suite nightly

  # A larger model needs more memory, as intended
  vramsoak history gate --suite nightly --accept --note "whisper large-v3"

  # A regression that is to be mended by then
  vramsoak history gate --suite nightly --accept --note "torch 2.4" --until 2027-01-31`,
		Args: wants(0, 1, "one run at most, by its number in the history"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runHistoryGate(cmd.Context(), cmd.OutOrStdout(), args, opts)
		},
	}
	policyVar(cmd.Flags(), &opts.policy,
		"policy `file` (YAML): how large a change must be, under regression")
	cmd.Flags().BoolVar(&opts.accept, "accept", false,
		"store the present regressions as known, and pass")
	cmd.Flags().StringVar(&opts.waiver.Reason, "note", "", "why the regressions are accepted")
	cmd.Flags().StringVar(&opts.waiver.Until, "until", "",
		"last `day` on which they are accepted, as 2027-01-31; the default is no end")
	return cmd
}

func runHistoryGate(ctx context.Context, out io.Writer, args []string,
	opts historyGateOptions,
) error {
	switch _, valid := waiver.ParseDay(opts.waiver.Until); {
	case opts.waiver.Reason != "" && !opts.accept:
		return errors.New("--note: expected --accept too; --note says why a regression is accepted")
	case opts.waiver.Until != "" && !opts.accept:
		return errors.New("--until: expected --accept too; --until says how long a regression is " +
			"accepted")
	case opts.waiver.Until != "" && !valid:
		return fmt.Errorf("--until: expected a day such as 2027-01-31, found %q", opts.waiver.Until)
	}
	if err := opts.oneSuite(); err != nil {
		return err
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
			return opts.noRuns(ctx, s)
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
		if !opts.waiver.Holds(o.Newest.Started) {
			return fmt.Errorf("--until: expected %s or later, because the newest run is of that day, "+
				"found %s", waiver.Day(o.Newest.Started), opts.waiver.Until)
		}
		nothing := opts.accept && len(o.New)+len(o.Ended) == 0
		if opts.accept && !nothing {
			accepted := o.Acceptances(h, time.Now(), opts.waiver)
			if err := s.Accept(ctx, accepted); err != nil {
				return err
			}
			h.Accepted = append(h.Accepted, accepted...)
			o = h.Gate(policy.Regression)
		}
		if err := text.Gate(out, h, o, textOptions(out)); err != nil {
			return err
		}
		if err := annotate(out, "text", gateReport(h, o)); err != nil {
			return err
		}
		if nothing {
			_, err := fmt.Fprintln(out, "note: --accept changed nothing, because no regression fails")
			if err != nil {
				return err
			}
		}
		if o.Verdict == check.Pass {
			return nil
		}
		return verdictError(o.Verdict)
	})
}

// gateReport returns the regressions that fail the gate as the findings of a report.
func gateReport(h *history.History, o history.Outcome) *check.Report {
	rep := &check.Report{Verdict: o.Verdict}
	steps, drifts := o.Reported()
	for i := range drifts {
		rep.Findings = append(rep.Findings, check.Finding{
			Check: check.Regression, Verdict: check.Fail, Gates: true,
			Subject: wording.Series(drifts[i].Series.SeriesKey, true),
			Message: text.DriftText(h, &drifts[i]),
		})
	}
	for _, c := range steps {
		subject := wording.Series(c.Series.SeriesKey, true)
		rep.Findings = append(rep.Findings, check.Finding{
			Check: check.Regression, Verdict: check.Fail, Gates: true, Subject: subject,
			Message: strings.TrimPrefix(text.RegressionText(h, c), subject+": "), // once is enough
		})
	}
	for _, k := range o.Ended {
		rep.Findings = append(rep.Findings, check.Finding{
			Check: check.Regression, Verdict: check.Fail, Gates: true,
			Subject: wording.Series(k.Series.SeriesKey, true),
			Message: k.Waiver.Ended() + ": " + text.RegressionText(h, k.Change),
		})
	}
	return rep
}
