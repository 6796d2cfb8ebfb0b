package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/spf13/pflag"

	"vramsoak/harness"
	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/profile"
	"vramsoak/pipeline/scenario"
	"vramsoak/reports"
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
	}
	return nil
}

// run runs the real command over the first two files, and learns from its log.
func (o *liveOptions) run(ctx context.Context, policy check.Policy) (*profile.Profile, error) {
	files, err := inputs(o.batch)
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
	cfg := harness.Config{
		Command: o.command, Files: files[:min(liveFiles, len(files))], Feed: harness.Feed(o.feed), Timeout: o.timeout,
		OnCrash: harness.CrashStop, Dir: dir, Version: version(), Dialects: dialects, Reaper: true,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
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
	if err != nil {
		return nil, fmt.Errorf("--live: %w", err)
	}
	tl, _, err := readOptions{}.timeline(runLogs(dir), &parser.Builder{})
	if err == nil {
		var p *profile.Profile
		if p, err = profile.Learn(tl); err == nil {
			return p, nil
		}
	}
	if outcome.Diagnostic != "" {
		err = errors.New(outcome.Diagnostic)
	}
	return nil, fmt.Errorf("--live: the command's files tell nothing: %w\n%s", err, lastWords(runLogs(dir)))
}

// compareLive holds what was measured live against the prediction for files of that length, stage by stage. Where it is far off, what
// was measured takes the prediction's place, in proportion where the batch has longer files.
func (s *subject) compareLive(p *profile.Profile) []reports.Footprint {
	same := s.Clone()
	if p.Longest > 0 {
		same.Files.Low, same.Files.High = p.Longest, p.Longest
	}
	var out []reports.Footprint
	for _, c := range p.Apply(same) {
		f := footprint(c)
		f.Note = ""
		if c.Used != profile.Measured {
			out = append(out, f)
			continue
		}
		f.Used = profile.Estimated
		if c.Ratio == 0 || math.Abs(c.Ratio-1) > far {
			f.Used, f.Note = profile.Measured, fmt.Sprintf("off by more than %.0f %%", 100*far)
			s.also(func(of *scenario.Scenario) {
				if st := of.Stage(c.Stage); st != nil && st.Footprint == nil {
					scale := 1.0
					if long, err := of.Estimate(st, of.Files.High); err == nil && c.Estimated > 0 {
						scale = max(1, float64(long)/float64(c.Estimated))
					}
					st.Footprint = &scenario.Footprint{Base: int64(scale * float64(c.Measured))}
				}
			})
		}
		out = append(out, f)
	}
	return out
}
