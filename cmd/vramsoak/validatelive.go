package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"vramsoak/harness"
	"vramsoak/harness/check"
	"vramsoak/harness/runfolder"
	"vramsoak/parser"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/validation"
)

// liveFiles are how many files of the real command are run: the first loads and warms up, the second is as all others.
const liveFiles = 2

type liveOptions struct {
	on      bool
	batch   []string
	feed    string
	timeout time.Duration
	command []string
}

func (o *liveOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.on, "live", false, "run two files of the command after -- first, and compare")
	f.StringArrayVar(&o.batch, "batch", nil, "with --live: a `folder`, a manifest.json, a list (.txt) or a file; may be repeated")
	f.StringVar(&o.feed, "feed", "", "with --live: process, list or stdin; the default follows from the command")
	f.DurationVar(&o.timeout, "timeout", 0, "with --live: end the process when one file takes longer; 0 is no limit")
}

// check says what is missing for a live run, or too much without one.
func (o *liveOptions) check() error {
	switch {
	case !o.on && (len(o.command) > 0 || len(o.batch) > 0 || o.feed != "" || o.timeout != 0):
		return errors.New("a command, --batch, --feed and --timeout are for --live; give that, too")
	case o.on && len(o.command) == 0:
		return errors.New("--live: expected a command to run, found none; put it after --, such as: --live --batch audio/ -- python transcribe.py {}")
	case o.on && len(o.batch) == 0:
		return errors.New("--live: expected files to feed, found none; name them with --batch")
	case o.on && o.feed == "" && harness.FeedOf(o.command) == harness.FeedNone:
		return errors.New("--live: expected {} or {list} in the command's arguments, where the path of the file, or of a list of them, " +
			"goes, found neither; a command that reads paths from its standard input takes --feed stdin")
	}
	return nil
}

// run runs the real command over the first two files, and learns from its log. The command has the environment that the file
// gives.
func (o *liveOptions) run(ctx context.Context, policy check.Policy, env map[string]string) (*validation.LiveRun, error) {
	files, err := inputs("--batch", o.batch)
	if err != nil {
		return nil, err
	}
	dialects, err := parser.NewSet("", policy.Dialects...)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "vramsoak-live-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left of it is the system's to clear
	display := newDisplay(stderr)
	defer display.close()
	cfg := harness.Config{
		Command: o.command, Files: files[:min(liveFiles, len(files))], Feed: harness.Feed(o.feed), Timeout: o.timeout,
		Dir: dir, Version: version(), Dialects: dialects, Reaper: true, Progress: display.show,
		// What became of a file is said in the answer.
		Logger: slog.New(slog.NewTextHandler(display, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		cfg.Env = append(cfg.Env, name+"="+env[name])
	}
	if o.feed == "" {
		cfg.Feed = harness.FeedOf(o.command)
	}
	nvml, closeNVML := openNVML()
	defer closeNVML()
	if nvml != nil {
		cfg.Device = nvml.View(nvml.Visible(os.LookupEnv(meter.VisibleDevices))).Use
	}
	ctx, kill, stop := onInterrupt(ctx)
	defer stop()
	cfg.Kill = kill
	outcome, err := harness.Run(ctx, cfg)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--live: %w", err)
	case outcome.Reason == harness.ReasonInterrupted:
		return nil, errors.New("--live: interrupted")
	}
	tl, _, err := readOptions{}.timeline(runfolder.Logs(dir), &parser.Builder{})
	if _, nothing := errors.AsType[nothingError](err); nothing && outcome.Diagnostic == "" { // its log is about to go
		return nil, errors.New("--live: expected checkpoints from the command, found none; have it print lines such as " +
			"\"[GPU Memory] Before Transcription: Allocated: 0.18GB\", or name its dialect in the policy\n" + lastLines(runfolder.Logs(dir)))
	}
	switch {
	case err != nil && outcome.Diagnostic != "": // which says more
		return nil, errors.New("--live: " + outcome.Diagnostic)
	case err != nil:
		return nil, fmt.Errorf("--live: %w", err)
	}
	live, err := validation.ReadLive(tl)
	switch {
	case outcome.Diagnostic != "" && (err != nil || len(live.Failures) == 0): // with the last lines
		return nil, fmt.Errorf("--live: %s", outcome.Diagnostic)
	case err != nil:
		return nil, fmt.Errorf("--live: the command's files tell nothing: %w\n%s", err, lastLines(runfolder.Logs(dir)))
	}
	return live, nil
}
