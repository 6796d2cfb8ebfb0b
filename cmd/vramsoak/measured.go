package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/harness/merge"
	"vramsoak/harness/runfolder"
	"vramsoak/harness/secret"
	"vramsoak/parser/timeline"
)

// A measured is a run that can be compared with another.
type measured struct {
	*compare.Baseline
	// report is the report on the run's log, or nil for a saved baseline.
	report *check.Report
}

// measured reads a run: a run folder, a log, or a saved baseline.
func (o readOptions) measured(path string) (measured, error) {
	shards, err := shardsIn([]string{path})
	if err != nil {
		return measured{}, err
	}
	if len(shards) > 0 {
		return o.measuredShards(shards, path)
	}
	logs, err := runfolder.Resolve([]string{path})
	if err != nil {
		return measured{}, err
	}
	saved, err := isBaseline(logs[0])
	if err != nil {
		return measured{}, err
	}
	if saved {
		b, err := readBaseline(logs[0])
		return measured{Baseline: b}, err
	}
	o.measures = true
	tl, report, err := o.judge(logs, nil)
	if err != nil {
		return measured{}, err
	}
	info, err := runOf(logs, tl)
	if err != nil {
		return measured{}, err
	}
	info.Log, info.Verdict = displayName(path), report.Verdict
	return measured{compare.New(*report.Measured, info), report}, nil
}

// measuredShards reads a run of many shards.
func (o readOptions) measuredShards(shards []merge.Shard, path string) (measured, error) {
	o.measures = true
	judged, err := o.judgeShards(shards)
	if err != nil {
		return measured{}, err
	}
	info, err := runOfShards(judged)
	if err != nil {
		return measured{}, err
	}
	info.Log, info.Verdict = displayName(path), judged.Report.Verdict
	return measured{compare.New(*judged.Report.Measured, info), judged.Report}, nil
}

// runOfShards returns the run of many shards. The commit, the GPU and the driver are those of the
// first shard whose folder has a run.json.
func runOfShards(judged *merge.Judged) (compare.RunInfo, error) {
	info := compare.RunInfo{
		Started: judged.Started, Version: judged.Start.Version, Shards: len(judged.Shards),
		ByShard: judged.ByShard,
	}
	if judged.Start.Command != "" {
		info.Command = []string{judged.Start.Command}
	}
	for i := range judged.Shards {
		s := &judged.Shards[i]
		if s.Name == "" {
			continue
		}
		run, err := runfolder.ReadInfo(s.Name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return info, fmt.Errorf("%w; without this file, the run can still be compared", err)
		}
		of := comparedInfo(run)
		info.Commit, info.GPU, info.Driver, info.Command = of.Commit, of.GPU, of.Driver, of.Command
		break
	}
	return info, nil
}

// ourJSON matches the beginning of JSON that vramsoak wrote. A log may also begin with JSON.
var ourJSON = regexp.MustCompile(`^\s*\{\s*"schema"\s*:\s*"vramsoak\.`)

// isBaseline reports whether a file is JSON that vramsoak wrote, such as a saved baseline, and not
// a log.
func isBaseline(path string) (bool, error) {
	if path == "-" {
		return false, nil
	}
	head, err := headOf(path)
	if err != nil {
		return false, err
	}
	return ourJSON.Match(head), nil
}

func readBaseline(path string) (*compare.Baseline, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	b, err := compare.ReadBaseline(f, path)
	if err != nil {
		return nil, err
	}
	b.Run.Log = path
	return b, nil
}

// runOf returns the run that the logs belong to. The data come from run.json beside the logs or,
// without it, from the first line of the log. The result is empty for several logs that are not the
// workers' logs of one run.
func runOf(logs []string, tl *timeline.Timeline) (compare.RunInfo, error) {
	info := compare.RunInfo{}
	folder := runfolder.Of(logs)
	if len(logs) != 1 && folder == "" {
		return info, nil
	}
	if len(tl.Runs) > 0 {
		start := tl.Runs[0].Start
		info.Started, info.Version = start.Time, start.Version
		if start.Command != "" {
			// Older versions of vramsoak wrote the command without masking its secrets.
			info.Command = []string{secret.Names(nil).Text(start.Command)}
		}
	}
	if folder == "" {
		return info, nil
	}
	run, err := runfolder.ReadInfo(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return info, nil
	case err != nil:
		return info, fmt.Errorf("%w; without this file, the log can still be compared", err)
	}
	return comparedInfo(run), nil
}

// comparedInfo returns the part of run.json that a baseline keeps.
func comparedInfo(r runfolder.Info) compare.RunInfo {
	gpus := make([]string, len(r.GPUs))
	for i, g := range r.GPUs {
		gpus[i] = g.Name
	}
	command, _ := secret.Names(nil).Arguments(r.Command) // older versions did not mask it
	return compare.RunInfo{
		Started: r.Started, Commit: r.Commit, Host: r.Host, GPU: strings.Join(gpus, ", "),
		Driver: r.Driver, Version: r.Version,
		Command: command,
	}
}

// references are earlier runs that the current run is compared with.
type references []measured

const baselineUsage = "compare with an earlier `run`: a saved baseline, a run folder or a log; " +
	"may be repeated, for example for a fixed older run"

func (o readOptions) references(paths []string) (references, error) {
	var all references
	for _, path := range paths {
		m, err := o.measured(path)
		if err != nil {
			return nil, fmt.Errorf("--baseline: %w", err)
		}
		all = append(all, m)
	}
	return all, nil
}

// join adds the comparison with each reference to a report, which must contain measurements. It
// returns the remarks of the comparisons.
func (refs references) join(report *check.Report, run compare.RunInfo) (remarks []string) {
	if len(refs) == 0 {
		return nil
	}
	now := compare.New(*report.Measured, run)
	for _, ref := range refs {
		name := ""
		if len(refs) > 1 {
			name = ref.Run.Log
		}
		c := compare.Runs(ref.Baseline, now, report.Policy)
		report.Join(c.Findings(name)...)
		for _, r := range c.Remarks {
			remarks = append(remarks, fmt.Sprintf("compared with %s: %s", ref.Run.Log, r))
		}
	}
	return remarks
}

// joinShards joins the comparisons of a run of many shards to its report, and prints their remarks.
func (refs references) joinShards(judged *merge.Judged) error {
	if len(refs) == 0 {
		return nil
	}
	info, err := runOfShards(judged)
	if err != nil {
		return err
	}
	return refs.joinAndRemark(judged.Report, info)
}

// comparableRuns returns an error if two runs cannot be compared, because one of them is measured
// shard by shard and the other one has other shards or is measured file by file.
func comparableRuns(base, now compare.RunInfo) error {
	if base.ByShard == now.ByShard && (!now.ByShard || base.Shards == now.Shards) {
		return nil
	}
	return fmt.Errorf("expected two runs of equally many shards, because a run of so many files is "+
		"compared shard by shard; found %s and %s; compare single shards, or runs of the same batch",
		measuredBy(base), measuredBy(now))
}

func measuredBy(r compare.RunInfo) string {
	if r.ByShard {
		return plural(r.Shards, "shard")
	}
	return "a run measured file by file"
}

// joinAndRemark joins the comparisons to a report, and prints their remarks on standard error.
func (refs references) joinAndRemark(report *check.Report, run compare.RunInfo) error {
	for i := range refs {
		if err := comparableRuns(refs[i].Run, run); err != nil {
			return fmt.Errorf("--baseline: %w", err)
		}
	}
	for _, remark := range refs.join(report, run) {
		stderr.Printf("vramsoak: %s\n", remark)
	}
	return nil
}
