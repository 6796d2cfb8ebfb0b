package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"vramsoak/harness"
	"vramsoak/harness/check"
	"vramsoak/harness/queue"
	"vramsoak/harness/runfolder"
	"vramsoak/harness/secret"
	"vramsoak/parser/timeline"
	"vramsoak/pipeline/meter"
	"vramsoak/reports/junit"
	"vramsoak/reports/markdown"
	"vramsoak/reports/plots"
	"vramsoak/reports/plots/memory"
	"vramsoak/reports/plots/overfiles"
	"vramsoak/reports/sink"
)

// newRun makes a run folder with everything that is necessary to resume the run. It starts no
// process. The function undo removes the folder again, and the folder of all runs if newRun made
// it.
func newRun(cfg harness.Config, opts soakOptions, nvml *meter.NVML, batch []queue.Input) (
	dir string, info runfolder.Info, undo func(), err error,
) {
	if len(cfg.Command) > 0 {
		if _, err := exec.LookPath(cfg.Command[0]); err != nil {
			return "", info, nil,
				fmt.Errorf("the command cannot be started: %w; check the command after --", err)
		}
	}
	started := time.Now()
	if cfg.Dir, undo, err = runfolder.Make(opts.runs, opts.run, started); err != nil {
		if opts.run != "" && errors.Is(err, fs.ErrExist) {
			return "", info, nil, fmt.Errorf("--run: %s exists already; give another name, or go on with "+
				"that run: vramsoak soak --resume %s", cfg.Dir, sink.Shell(cfg.Dir))
		}
		return "", info, nil, fmt.Errorf("--runs %s: making a run folder in it: %w", opts.runs,
			withoutPath(err))
	}
	if err := cfg.Validate(); err != nil {
		undo()
		return "", info, nil, err
	}
	if info, err = runInfo(cfg, opts, nvml, started); err == nil {
		err = errors.Join(writeBatch(cfg.Dir, batch), writeInfo(cfg.Dir, info))
	}
	if err != nil {
		undo()
		return "", info, nil, err
	}
	return cfg.Dir, info, undo, nil
}

// runInfo returns the content of run.json for a new run.
func runInfo(cfg harness.Config, opts soakOptions, nvml *meter.NVML,
	started time.Time,
) (runfolder.Info, error) {
	masked, digest, err := shownCommand(cfg)
	if err != nil {
		return runfolder.Info{}, err
	}
	info := runfolder.Info{
		Schema: runfolder.Schema, Version: cfg.Version, Command: masked, Digest: digest,
		Commit: gitCommit(), GPUs: []runfolder.GPU{},
		Config: runfolder.Config{
			Files: opts.files, Count: len(cfg.Files), Repeat: opts.repeat, Shuffle: opts.shuffle,
			Feed:    string(cfg.Feed),
			Timeout: cfg.Timeout.Seconds(), Grace: cfg.Grace.Seconds(),
			OnCrash:      string(cfg.OnCrash),
			RestartEvery: cfg.RestartEvery, MaxRestarts: cfg.MaxRestarts,
			BackOff:     cfg.BackOff.Seconds(),
			RetryFailed: cfg.RetryFailed, Until: cfg.Until.Seconds(), Workers: opts.workers,
			MaxUsed:     opts.maxUsed,
			SettleLimit: cfg.SettleLimit.Seconds(), MaxIdleUsed: opts.maxIdleUsed,
			Baselines: opts.baselines, Flags: opts.given, Policy: cfg.Policy,
		},
		Started: started.UTC().Truncate(time.Millisecond), Reason: runfolder.Running,
		Statuses: map[string]int{},
	}
	if cfg.Until > 0 {
		info.Config.Count = 0 // unknown
	}
	info.Host, _ = os.Hostname() // "" if the system does not know it
	if nvml != nil {
		info.Driver = nvml.Driver()
		for _, g := range nvml.Devices() {
			info.GPUs = append(info.GPUs, runfolder.GPU{Name: g.Name, Total: g.Total})
		}
	}
	info.Config.Folder, err = os.Getwd()
	return info, err
}

// shownCommand returns the command with its secrets masked. If the command has secrets, it also
// returns the command's digest.
func shownCommand(cfg harness.Config) (masked []string, digest string, err error) {
	masked, found := cfg.Secrets.Arguments(cfg.Command)
	if found {
		digest, err = secret.Digest(cfg.Command)
	}
	return masked, digest, err
}

// gitCommit returns the commit of the current folder, or "" outside of a repository or without git.
func gitCommit() string {
	out, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func writeInfo(dir string, info runfolder.Info) error {
	return writeFile(filepath.Join(dir, runfolder.InfoName), func(w io.Writer) error {
		return sink.WriteJSON(w, info)
	})
}

func writeBatch(dir string, files []queue.Input) error {
	return writeFile(filepath.Join(dir, runfolder.BatchName), func(w io.Writer) error {
		buffered := bufio.NewWriter(w)
		if err := runfolder.EncodeBatch(sink.JSONLines(buffered).Encode, files); err != nil {
			return err
		}
		return buffered.Flush()
	})
}

// writeReports writes all reports into the run folder, except for the plots.
func writeReports(dir string, tl *timeline.Timeline, report *check.Report) error {
	for _, file := range []struct {
		name  string
		write reportFunc
	}{
		{runfolder.VerdictName, writeJSON},
		{"junit.xml", junit.Write},
		{"summary.md", markdown.Report},
	} {
		if err := writeFile(filepath.Join(dir, file.name), func(w io.Writer) error {
			return file.write(w, tl, report)
		}); err != nil {
			return err
		}
	}
	return nil
}

// A picture is one plot of the run folder.
type picture struct {
	name  string // of its files, without the extension
	shows string // what it shows, in a few words
	chart interface {
		Plot(w io.Writer, format string, opts plots.Options) error
	}
}

// writePlots writes the plots into the run folder. It leaves out those for which the run has no
// data: every file may have failed before its first checkpoint, and a short batch has no series
// over files. drawn describes the plots that it wrote: "memory.png (over time)".
func writePlots(dir string, pictures []picture) (drawn []string, err error) {
	for _, p := range pictures {
		nothing := false
		for _, format := range []string{"png", "svg"} {
			debug.FreeOSMemory() // so that the next picture reuses the memory of the last one
			err := writeFile(filepath.Join(dir, p.name+"."+format), func(w io.Writer) error {
				return p.chart.Plot(w, format, plots.Options{})
			})
			_, noSeries := errors.AsType[overfiles.NothingError](err)
			if nothing = noSeries || errors.Is(err, memory.ErrNothing); err != nil && !nothing {
				return drawn, err
			}
		}
		if !nothing {
			drawn = append(drawn, p.name+".png ("+p.shows+")")
		}
	}
	return drawn, nil
}
