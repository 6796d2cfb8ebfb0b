package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"vramsoak/harness"
	"vramsoak/harness/check"
	"vramsoak/harness/history"
	"vramsoak/harness/merge"
	"vramsoak/harness/runfolder"
	"vramsoak/reports/sink"
)

type historyAddOptions struct {
	*historyOptions
	read    readOptions
	commit  string
	started string
}

func newHistoryAddCommand(shared *historyOptions) *cobra.Command {
	opts := historyAddOptions{historyOptions: shared}
	cmd := &cobra.Command{
		Use:   "add RUN|LOG...",
		Short: "Add runs to the history",
		Long: `Add judges runs and stores what they measured. RUN is a folder that vramsoak soak
wrote; LOG is any log that vramsoak check reads, or a baseline. A run that was added before is not
added twice. When add prints the number of a run, the run is on the disk.

A run folder says when the run began and which commit it ran. For a log, give --started and
--commit.` + dialectHelp(),
		Example: `  vramsoak history add runs/2026-11-20T02-00-00Z --suite nightly
  vramsoak history add run.log --started 2026-11-20T02:00:00Z --commit "$(git rev-parse HEAD)"

  # All existing run folders
  vramsoak history add runs/*/`,
		Args: wantsFiles(1, 0, "logs or run folders"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runHistoryAdd(cmd.Context(), cmd.OutOrStdout(), args, opts)
		},
	}
	cmd.Flags().StringVar(&opts.commit, "commit", "", "git `commit` of what ran")
	cmd.Flags().StringVar(&opts.started, "started", "",
		"`time` at which the run began, as 2026-11-20T02:00:00Z")
	policyVar(cmd.Flags(), &opts.read.policy, "policy `file` (YAML) by which the run is judged")
	cmd.Flags().StringVar(&opts.read.dialect, "dialect", "", dialectUsage)
	return cmd
}

func runHistoryAdd(ctx context.Context, out io.Writer, paths []string,
	opts historyAddOptions,
) error {
	started := time.Time{}
	if opts.started != "" {
		var err error
		if started, err = time.Parse(time.RFC3339, opts.started); err != nil {
			return fmt.Errorf("--started: expected a time such as 2026-11-20T02:00:00Z, found %q",
				opts.started)
		}
	}
	if len(paths) > 1 && (opts.started != "" || opts.commit != "") {
		return errors.New("--started, --commit: expected one run, because they describe one; add the " +
			"other runs separately")
	}
	if err := opts.oneSuite(); err != nil {
		return err
	}
	_, err := os.Stat(opts.name())
	fresh := !history.IsPostgres(opts.name()) && errors.Is(err, fs.ErrNotExist)
	return opts.with(ctx, history.Create, func(s *history.Store) error {
		if fresh {
			stderr.Printf("vramsoak: %s is a new history\n", opts.name())
		}
		for _, path := range paths {
			run, err := opts.run(path, started)
			if err != nil {
				return err
			}
			id, added, err := s.Add(ctx, run)
			if err != nil {
				return err
			}
			what := "added as"
			if !added {
				what = "is already"
			}
			if _, err := sink.Fprintf(out, "%s %s run %d of suite %s\n", path, what, id,
				opts.suite); err != nil {
				return err
			}
		}
		return nil
	})
}

// run reads and judges a run, and returns it for the history.
func (o historyAddOptions) run(path string, started time.Time) (history.Run, error) {
	digest, err := digestOf(path)
	if err != nil {
		return history.Run{}, err
	}
	m, err := o.read.measured(path)
	if err != nil {
		return history.Run{}, err
	}
	if m.Run.Verdict, err = worseVerdict(path, m.Run.Verdict); err != nil {
		return history.Run{}, err
	}
	info := &m.Run
	info.Commit = cmp.Or(o.commit, info.Commit)
	if !started.IsZero() {
		info.Started = started
	}
	if info.Started.Year() < 1970 { // a log may have times without a date
		return history.Run{}, fmt.Errorf("%s does not say on which day the run began; give the "+
			"day, such as --started 2026-11-20T02:00:00Z", path)
	}
	report := m.report
	if report == nil { // a saved baseline
		report = &check.Report{Files: len(m.Files)}
	}
	return history.NewRun(o.suite, digest, m.Baseline, report), nil
}

// digestOf returns the SHA-256 of a run's log. For a run with workers, it is the SHA-256 of all
// logs together.
func digestOf(path string) (string, error) {
	if path == "-" {
		return "", errors.New("expected a run folder or a file, found standard input; the " +
			"history recognizes a run by its file")
	}
	logs := []string{path}
	shards, err := shardsIn(logs)
	if err != nil {
		return "", err
	}
	if len(shards) > 0 {
		return digestOfShards(shards)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		logs = runfolder.Logs(path)
	}
	h := sha256.New()
	for _, log := range logs {
		if err := copyFile(h, log); err != nil {
			return "", fmt.Errorf(
				"expected a run folder with %s in it, or a log, or a baseline: %w",
				harness.LogName, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// digestOfShards returns the SHA-256 of the logs of all shards, by the number of the shard.
func digestOfShards(shards []merge.Shard) (string, error) {
	h := sha256.New()
	for _, s := range shards { // merge.Find sorts those of a folder
		for _, log := range s.Logs {
			if err := copyFile(h, log.Name); err != nil {
				return "", err
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	_, err = io.Copy(w, f)
	return err
}
