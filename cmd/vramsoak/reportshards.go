package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"vramsoak/harness/merge"
	"vramsoak/harness/runfolder"
	"vramsoak/harness/shard"
	"vramsoak/parser/timeline"
	"vramsoak/reports/html"
)

// shardsIn returns the shards of the run in the paths. It returns none if the only path is the
// folder of a single shard, which is then shown by itself.
func shardsIn(paths []string) ([]merge.Shard, error) {
	if len(paths) == 1 {
		if abs, err := filepath.Abs(paths[0]); err == nil {
			if _, single := shard.Of(filepath.Base(abs)); single {
				return nil, nil
			}
		}
	}
	return merge.Find(paths)
}

// reportShards judges a run of many shards, and writes its page.
func reportShards(shards []merge.Shard, paths []string, opts reportOptions) error {
	refs, err := opts.read.references(opts.baselines)
	if err != nil {
		return err
	}
	opts.read.measures = len(refs) > 0
	files := displayed(shards)
	judged, err := opts.read.judgeShards(shards)
	if err != nil {
		return err
	}
	if err := refs.joinShards(judged); err != nil {
		return err
	}
	page := html.ShardedRun{
		Judged: judged, Name: nameOfRun(paths), Logs: quotedLogs(judged, files),
		Pages: shardPages(judged, opts.output), Version: version(),
	}
	for i := range judged.Shards {
		judged.Shards[i].Name = displayName(judged.Shards[i].Name)
	}
	return writeOutput(opts.output, func(w io.Writer) error { return html.WriteShards(w, page) })
}

// displayed gives the logs of shards the names that reports show. It returns the files by these
// names.
func displayed(shards []merge.Shard) map[string]string {
	files := map[string]string{}
	for i := range shards {
		for k := range shards[i].Logs {
			log := &shards[i].Logs[k]
			shown := displayName(log.Name)
			files[shown] = log.Name
			log.Name = shown
		}
	}
	return files
}

// nameOfRun names the run in the folders: "runs/nightly-42", "a and 3 more".
func nameOfRun(paths []string) string {
	name := displayName(paths[0])
	if more := len(paths) - 1; more > 0 {
		name += fmt.Sprintf(" and %d more", more)
	}
	return name
}

// quotedLogs returns the logs that the findings are about. The parameter files has their paths by
// the names that reports show.
func quotedLogs(judged *merge.Judged, files map[string]string) (logs []html.Log) {
	seen := map[string]bool{}
	for _, f := range judged.Report.Findings {
		if f.At == nil || seen[f.At.Path] {
			continue
		}
		seen[f.At.Path] = true
		if path := files[f.At.Path]; isFile(path) {
			logs = append(logs, html.Log{Name: f.At.Path, Path: path})
		}
	}
	return logs
}

// shardPages returns the links from a page to the pages of the shards that have one.
func shardPages(judged *merge.Judged, output string) map[int]string {
	pages := map[int]string{}
	if output == stdoutPath {
		return pages // nobody knows where the page will be
	}
	from, err := filepath.Abs(filepath.Dir(output))
	if err != nil {
		return pages
	}
	for i := range judged.Shards {
		s := &judged.Shards[i]
		path := filepath.Join(s.Name, runfolder.ReportName)
		if s.Name == "" || !isFile(path) {
			continue
		}
		if link, ok := relative(from, path); ok {
			pages[s.Number] = link
		}
	}
	return pages
}

// relative returns the relative link from a page in a folder to a file.
func relative(folder, path string) (link string, ok bool) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(folder, abs)
	if err != nil {
		return "", false
	}
	return (&url.URL{Path: filepath.ToSlash(rel)}).String(), true
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// shardOf returns the shard that the logs belong to, for its page. It returns nil for other runs.
// The page links to the others if it is in the shard's folder, where soak writes it.
func shardOf(tl *timeline.Timeline, logs []string, output string) *html.OneShard {
	if len(tl.Runs) == 0 || tl.Runs[0].Start.Shards == 0 {
		return nil
	}
	share := tl.Runs[0].Start.Share
	for i := range tl.Runs {
		if s := tl.Runs[i].Start.Share; s.Shard != share.Shard || s.Batch != share.Batch {
			return nil // logs of several shards
		}
		for _, r := range tl.Runs[i].Resumes {
			if r.Node != "" {
				share.Node = r.Node
			}
		}
	}
	of := &html.OneShard{Number: share.Shard, Of: share.Shards, Node: share.Node}
	folder := runfolder.Of(logs)
	if folder == "" || output == stdoutPath {
		return of
	}
	a, errA := filepath.Abs(folder)
	b, errB := filepath.Abs(filepath.Dir(output))
	number, is := shard.Of(filepath.Base(a))
	of.Linked = errA == nil && errB == nil && a == b && is && number == share.Shard
	return of
}
