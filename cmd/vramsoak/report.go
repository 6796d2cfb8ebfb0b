package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"vramsoak/harness/check"
	"vramsoak/harness/runfolder"
	"vramsoak/parser"
	"vramsoak/parser/snapshot"
	"vramsoak/parser/timeline"
	"vramsoak/reports/html"
)

type reportOptions struct {
	read      readOptions
	baselines []string
	output    string
}

func newReportCommand() *cobra.Command {
	opts := reportOptions{}
	cmd := &cobra.Command{
		Use:   "report LOG...|FILE.pickle... -o report.html",
		Short: "Write one HTML page with the verdict, the charts and the lines of the log",
		Long: `Report judges logs as check does, and writes one HTML file to send to a colleague. It
opens from disk, without a network, in Chromium and Firefox.

The page begins with the verdict, its cause and what to do next. Then come the findings, each with
the lines of the log around it and a link to its chart. The charts show memory over time and over
files, and can be zoomed. A click on a file shows the checkpoints of that file.

FILE.pickle is a memory snapshot of PyTorch. Its page has a flame graph, a treemap, the segments and
what was never freed.

soak writes report.html into the run folder. Several logs are judged together; the page has a choice
of logs, ranks and devices. The policy is found as for check.

The folder of a run with shards gets a page on all of them: the verdict, a map of the shards by
node, and a table. It links to the page of each shard that has one.` + dialectHelp(),
		Example: `  vramsoak report run.log -o report.html
  vramsoak report runs/2026-11-20T02-00-00Z
  vramsoak report runs/nightly-42 -o runs/nightly-42/report.html
  vramsoak report rank0.log rank1.log -o ranks.html
  vramsoak report oom.pickle -o oom.html`,
		Args: wantsFiles(1, 0, "logs, run folders or memory snapshots"),
		RunE: func(_ *cobra.Command, args []string) error { return runReport(args, opts) },
	}
	outputVar(cmd.Flags(), &opts.output, runfolder.ReportName, outputUsage, "html")
	policyVar(cmd.Flags(), &opts.read.policy,
		"policy `file` (YAML): thresholds, expected checkpoints, which checks gate")
	cmd.Flags().StringVar(&opts.read.dialect, "dialect", "", dialectUsage)
	inputsVar(cmd.Flags(), &opts.baselines, "baseline", baselineUsage, "json")
	return cmd
}

func runReport(paths []string, opts reportOptions) error {
	shards, err := shardsIn(paths)
	if err != nil {
		return err
	}
	if len(shards) > 0 {
		return reportShards(shards, paths, opts)
	}
	logs, err := runfolder.Resolve(paths)
	if err != nil {
		return err
	}
	if n := countSnapshots(logs); n == len(logs) {
		return reportSnapshots(logs, opts.output)
	} else if n > 0 {
		return errors.New("expected logs or snapshots, found both; write a page for each kind")
	}
	refs, err := opts.read.references(opts.baselines)
	if err != nil {
		return err
	}
	opts.read.measures = len(refs) > 0
	opts.read.trends, opts.read.page = true, html.NewCollector()
	tl, report, err := opts.read.judge(logs, nil)
	if err != nil {
		return err
	}
	if len(refs) > 0 {
		info, err := runOf(logs, tl)
		if err != nil {
			return err
		}
		if err := refs.joinAndRemark(report, info); err != nil {
			return err
		}
	}
	page, err := pageOf(tl, report, opts.read.page, logs, opts.read)
	if err != nil {
		return err
	}
	page.Shard = shardOf(tl, logs, opts.output)
	return writeOutput(opts.output, func(w io.Writer) error { return html.Write(w, page) })
}

func countSnapshots(paths []string) (n int) {
	for _, path := range paths {
		if path != "-" && isSnapshot(path) {
			n++
		}
	}
	return n
}

// reportSnapshots writes the page of memory snapshots.
func reportSnapshots(paths []string, output string) error {
	debug.SetGCPercent(snapshotGarbage)
	var all []html.Snapshot
	for _, path := range paths {
		snap, err := snapshot.Open(path)
		if err != nil {
			return err
		}
		if err := choose(snap, path, allDevices); err != nil {
			return err
		}
		s := html.Snapshot{Name: displayName(path), Snapshot: snap}
		for i := range snap.Devices {
			s.Analyses = append(s.Analyses, snap.Devices[i].Analyze(snap.Annotations))
		}
		all = append(all, s)
	}
	return writeOutput(output, func(w io.Writer) error {
		return html.WriteSnapshots(w, all, version())
	})
}

// writePage writes the HTML page of a judged run into a file.
func writePage(path string, tl *timeline.Timeline, report *check.Report, of *html.Collector,
	logs []string, read readOptions,
) error {
	page, err := pageOf(tl, report, of, logs, read)
	if err != nil {
		return err
	}
	page.Shard = shardOf(tl, logs, path)
	return writeFile(path, func(w io.Writer) error { return html.Write(w, page) })
}

// pageOf returns the HTML page of a judged run. It reads the logs again for maps of the allocator's
// segments; html.Write reads them for what it quotes.
func pageOf(tl *timeline.Timeline, report *check.Report, of *html.Collector,
	logs []string, read readOptions,
) (html.Page, error) {
	page := html.Page{
		Timeline: tl, Report: report, Collected: of, Segments: html.NewSegments(),
		Version: version(),
	}
	for _, log := range logs {
		if info, err := os.Stat(log); err != nil || !info.Mode().IsRegular() {
			continue // a stream cannot be read again
		}
		page.Logs = append(page.Logs, html.Log{Name: displayName(log), Path: log})
		if err := read.addSegmentMaps(page.Segments, log); err != nil {
			return page, err
		}
	}
	return page, nil
}

// addSegmentMaps adds the maps of the allocator's segments in a log. It reads the records of the
// log only if its text has such a map.
func (o readOptions) addSegmentMaps(to *html.Segments, path string) error {
	found, err := contains(path, " segments ")
	if err != nil || !found {
		return err
	}
	log, d, err := o.open(path)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // only read
	for rec, err := range d.set.Read(log, displayName(path)) {
		if err != nil {
			return err
		}
		to.Add(rec)
	}
	return nil
}

// contains reports whether the text of a log has a word.
func contains(path, word string) (bool, error) {
	log, err := parser.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = log.Close() }() // only read
	buf := make([]byte, 1<<20)
	kept := 0 // bytes of the last part, in which the word may begin
	for {
		n, err := log.Read(buf[kept:])
		if bytes.Contains(buf[:kept+n], []byte(word)) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		kept = copy(buf, buf[max(0, kept+n-len(word)):kept+n])
	}
}
