package main

import (
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

	"github.com/google/renameio/v2"

	"vramsoak/harness"
	"vramsoak/harness/check"
	"vramsoak/harness/secret"
	"vramsoak/parser/timeline"
	"vramsoak/pipeline/meter"
	"vramsoak/reports/junit"
	"vramsoak/reports/markdown"
	"vramsoak/reports/plots"
	"vramsoak/reports/plots/memory"
	"vramsoak/reports/sink"
)

// makeRunFolder makes a folder named by the time, UTC: runs/2026-11-20T02-00-00Z. Runs that begin in the same second get
// "-2", "-3" and so on. undo removes what it made, with all that is in the run folder.
func makeRunFolder(parent string, now time.Time) (dir string, undo func(), err error) {
	failed := func(err error) (string, func(), error) {
		return "", nil, fmt.Errorf("--runs %s: making a run folder in it: %w", parent, bare(err))
	}
	_, found := os.Stat(parent)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return failed(err)
	}
	base := filepath.Join(parent, now.UTC().Format("2006-01-02T15-04-05Z"))
	dir = base
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o755)
		switch {
		case err == nil:
			return dir, func() {
				_ = os.RemoveAll(dir) // the error that led here says more
				if errors.Is(found, fs.ErrNotExist) {
					_ = os.Remove(parent) // unless another run is in it by now
				}
			}, nil
		case !errors.Is(err, fs.ErrExist):
			return failed(err)
		}
		dir = fmt.Sprintf("%s-%d", base, n)
	}
}

// Files of a run folder.
const (
	runJSONName = "run.json"
	verdictName = "verdict.json"
)

// runSchema names the form of run.json.
const runSchema = "vramsoak.run/1"

// runJSON is run.json: what ran, where, with what. The log has the rest.
// runJSONMax is the largest run.json that is read, in bytes. A command line of the largest size that
// Linux allows, 2 MiB, fits several times.
const runJSONMax = 8 << 20

type runJSON struct {
	Schema  string   `json:"schema"`
	Version string   `json:"version"`
	Command []string `json:"command"` // with its secrets masked
	// Digest is that of the command, where secrets in it are masked.
	Digest    string         `json:"command_digest,omitempty"`
	Commit    string         `json:"commit,omitempty"` // git commit of the folder that vramsoak ran in
	Host      string         `json:"host"`
	GPUs      []gpuJSON      `json:"gpus"`
	Driver    string         `json:"driver,omitempty"`
	Config    configJSON     `json:"config"`
	Started   time.Time      `json:"started"`
	Seconds   float64        `json:"seconds"`
	Reason    string         `json:"reason"`
	Statuses  map[string]int `json:"statuses"`  // files by how they ended
	Processes int            `json:"processes"` // that were started
}

type gpuJSON struct {
	Name  string `json:"name"`
	Total int64  `json:"total"` // bytes
}

type configJSON struct {
	Files        []string `json:"files"` // as given by --files
	Count        int      `json:"count"` // of files that were to be fed, in all rounds
	Repeat       int      `json:"repeat"`
	Shuffle      *uint64  `json:"shuffle,omitempty"` // seed of the order; none where the order is that of Files
	Feed         string   `json:"feed"`
	Timeout      float64  `json:"timeout"` // seconds
	Grace        float64  `json:"grace"`   // seconds
	OnCrash      string   `json:"on_crash"`
	RestartEvery int      `json:"restart_every"`
	MaxUsed      string   `json:"max_device_used,omitempty"` // as given by --max-device-used
	SettleLimit  float64  `json:"settle_limit"`              // seconds
	MaxIdleUsed  string   `json:"max_idle_used,omitempty"`
	MaxRestarts  int      `json:"max_restarts"`
	BackOff      float64  `json:"back_off"` // seconds
	RetryFailed  int      `json:"retry_failed"`
	Until        float64  `json:"until,omitempty"`     // seconds
	Workers      []int    `json:"workers,omitempty"`   // GPUs, with one worker each
	Baselines    []string `json:"baselines,omitempty"` // as given by --baseline

	// What it takes to resume the run, beside the files in batch.jsonl.

	Folder string              `json:"folder"`           // in which vramsoak ran
	Flags  map[string][]string `json:"flags"`            // as given
	Policy string              `json:"policy,omitempty"` // text
}

// reasonRunning is the reason of a run that has not ended, or was killed.
const reasonRunning = "running"

// runInfo is what there is to say when the run begins.
func runInfo(cfg harness.Config, opts soakOptions, nvml *meter.NVML, started time.Time) (runJSON, error) {
	masked, digest, err := shownCommand(cfg)
	if err != nil {
		return runJSON{}, err
	}
	info := runJSON{
		Schema: runSchema, Version: cfg.Version, Command: masked, Digest: digest, Commit: gitCommit(), GPUs: []gpuJSON{},
		Config: configJSON{
			Files: opts.files, Count: len(cfg.Files), Repeat: opts.repeat, Shuffle: opts.shuffle, Feed: string(cfg.Feed),
			Timeout: cfg.Timeout.Seconds(), Grace: cfg.Grace.Seconds(), OnCrash: string(cfg.OnCrash),
			RestartEvery: cfg.RestartEvery, MaxRestarts: cfg.MaxRestarts, BackOff: cfg.BackOff.Seconds(),
			RetryFailed: cfg.RetryFailed, Until: cfg.Until.Seconds(), Workers: opts.workers, MaxUsed: opts.maxUsed,
			SettleLimit: cfg.SettleLimit.Seconds(), MaxIdleUsed: opts.maxIdleUsed, Baselines: opts.baselines, Flags: opts.given, Policy: cfg.Policy,
		},
		Started: started.UTC().Truncate(time.Millisecond), Reason: reasonRunning, Statuses: map[string]int{},
	}
	if cfg.Until > 0 {
		info.Config.Count = 0 // nobody knows
	}
	info.Host, _ = os.Hostname() // "" where the system does not know
	if nvml != nil {
		info.Driver = nvml.Driver()
		for _, g := range nvml.Devices() {
			info.GPUs = append(info.GPUs, gpuJSON{Name: g.Name, Total: g.Total})
		}
	}
	info.Config.Folder, err = os.Getwd()
	return info, err
}

// shownCommand returns the command as it may be stored, and its digest where secrets are masked in it.
func shownCommand(cfg harness.Config) (masked []string, digest string, err error) {
	masked, found := cfg.Secrets.Arguments(cfg.Command)
	if found {
		digest, err = secret.Digest(cfg.Command)
	}
	return masked, digest, err
}

// ended adds how the run went.
func (r runJSON) ended(outcome *harness.Outcome) runJSON {
	r.Seconds, r.Reason, r.Processes = outcome.Duration.Seconds(), outcome.Reason, outcome.Processes
	r.Statuses = map[string]int{}
	for status, n := range outcome.Counts {
		r.Statuses[string(status)] = n
	}
	return r
}

// gitCommit is the commit of the current folder, "" outside of a repository or without git.
func gitCommit() string {
	out, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func writeRunJSON(dir string, info runJSON) error {
	return writeFile(filepath.Join(dir, runJSONName), func(w io.Writer) error { return sink.WriteJSON(w, info) })
}

// writeReports writes the reports beside the log, but for the plots.
func writeReports(dir string, tl *timeline.Timeline, report *check.Report) error {
	for _, file := range []struct {
		name  string
		write reportFunc
	}{
		{verdictName, writeJSON},
		{"junit.xml", junit.Write},
		{"summary.md", markdown.Report},
	} {
		if err := writeFile(filepath.Join(dir, file.name), func(w io.Writer) error { return file.write(w, tl, report) }); err != nil {
			return err
		}
	}
	return nil
}

// writePlots writes the plots beside the log.
func writePlots(dir string, chart *memory.Chart) error {
	for _, format := range []string{"png", "svg"} {
		debug.FreeOSMemory() // what came before leaves more behind than a picture takes
		err := writeFile(filepath.Join(dir, "memory."+format), func(w io.Writer) error {
			return chart.Plot(w, format, plots.Options{})
		})
		if err != nil && !errors.Is(err, memory.ErrNothing) { // as where every file failed before it had a checkpoint
			return err
		}
	}
	return nil
}

// writeFile writes a whole file or none: a reader never sees half of it.
func writeFile(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("writing %s: expected a file, found a folder; name the file in it", path)
	}
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644), renameio.WithTempDir(filepath.Dir(path)))
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, bare(err))
	}
	defer func() { _ = f.Cleanup() }() // of what was not finished
	if err := write(f); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("writing %s: %w", path, bare(err))
	}
	return nil
}

// bare is an error of the file system without the name of the file: a temporary one's says nothing to a person.
func bare(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
