package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"vramsoak/harness"
	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/html"
	"vramsoak/reports/serve"
)

const listenUsage = "show the run at this `address` while it runs: the report at /, /metrics for " +
	"Prometheus, /healthz; 9435 or :9435 is 127.0.0.1:9435"

// A webView shows a run over HTTP. The zero value shows nothing.
type webView struct {
	server    *serve.Server
	collector *serve.Collector // of the metrics
	ctx       context.Context  // of the goroutines that read the logs for the metrics
	cancel    context.CancelFunc
	readers   sync.WaitGroup
	run       atomic.Pointer[shownRun] // nil before the run begins
	begun     atomic.Bool              // there was progress, so the logs exist
}

// A shownRun holds what the page of a run is made from.
type shownRun struct {
	logs      []string
	files     int // of the batch, or 0 if their number is not known
	baselines references
	info      compare.RunInfo
}

// openWebView opens the address at which a run is shown. If the address is "", the view shows
// nothing.
func openWebView(address string) (*webView, error) {
	if address == "" {
		return &webView{}, nil
	}
	server, err := serve.Listen(address)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", address, err)
	}
	v := &webView{server: server, collector: serve.NewCollector(version())}
	v.ctx, v.cancel = context.WithCancel(context.Background())
	server.Start(serve.Handler(v.collector, serve.NewPage(v.page)))
	return v, nil
}

// progress returns a function that passes the progress on to show, and to the view.
func (v *webView) progress(show func(harness.Progress)) func(harness.Progress) {
	if v.server == nil {
		return show
	}
	return func(p harness.Progress) {
		v.begun.Store(true)
		v.collector.Progress(p)
		show(p)
	}
}

// follow says where the run is shown, and reads the run's logs while they grow.
func (v *webView) follow(cfg harness.Config, workers []harness.Worker, refs references,
	info compare.RunInfo,
) {
	if v.server == nil {
		return
	}
	if v.server.IsPublic() {
		cfg.Logger.Warn("other machines can open these pages, without a password; with " +
			"--listen PORT, only this machine can")
	}
	stderr.Printf("metrics: %s\nreport: %s\n", v.server.URL("/metrics"), v.server.URL("/"))
	dirs := []string{cfg.Dir}
	if len(workers) > 0 {
		dirs = nil
	}
	for _, worker := range workers {
		dirs = append(dirs, harness.WorkerDir(cfg.Dir, worker.GPU))
	}
	logs := make([]string, len(dirs))
	for i, dir := range dirs {
		logs[i] = filepath.Join(dir, harness.LogName)
		v.readers.Go(func() { v.collector.Follow(v.ctx, cfg.Dialects, logs[i]) })
	}
	run := &shownRun{logs: logs, baselines: refs, info: info}
	if cfg.Until == 0 && cfg.Feed != harness.FeedNone {
		run.files = len(cfg.Files)
	}
	v.run.Store(run)
}

// page returns the report on the run so far as an HTML page.
func (v *webView) page() ([]byte, error) {
	run := v.run.Load()
	if run == nil {
		return nil, errors.New("the run has not begun")
	}
	if !v.begun.Load() && !run.hasLogs() {
		return nil, errNothingPrinted
	}
	return run.page()
}

var errNothingPrinted = errors.New("the pipeline has not printed a checkpoint yet")

// hasLogs reports whether all logs of the run exist.
func (r *shownRun) hasLogs() bool {
	return !slices.ContainsFunc(r.logs, func(log string) bool {
		_, err := os.Stat(log)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// end notes that the run is over. The view goes on showing how it ended.
func (v *webView) end() {
	if v.server != nil {
		v.collector.End()
	}
}

// close ends the server and the reading of logs.
func (v *webView) close() {
	if v.server == nil {
		return
	}
	v.server.Close()
	v.cancel()
	v.readers.Wait()
}

// page judges the logs as far as they go, and returns the report as an HTML page.
func (r *shownRun) page() ([]byte, error) {
	defer debug.FreeOSMemory() // leave the memory to the pipeline
	of := readOptions{trends: true, measures: len(r.baselines) > 0, page: html.NewCollector()}
	tl, report, err := of.judge(r.logs, nil)
	if _, nothing := errors.AsType[emptyError](err); nothing {
		return nil, errNothingPrinted
	}
	if err != nil {
		return nil, err
	}
	report.Notes = append(report.Notes, r.baselines.join(report, r.info)...)
	done := forgiveUnfinished(report, tl)
	content, err := pageOf(tl, report, of.page, r.logs, of)
	if err != nil {
		return nil, err
	}
	content.SoFar = r.soFar(done, time.Now())
	var page bytes.Buffer
	if err := html.Write(&page, content); err != nil {
		return nil, err
	}
	return page.Bytes(), nil
}

// soFar says how far the run is: "26 of 40 files at 02:14:07 UTC; reload the page for more".
func (r *shownRun) soFar(done int, now time.Time) string {
	files := plural(done, "file")
	if r.files > 0 {
		files = fmt.Sprintf("%d of %s", done, plural(r.files, "file"))
	}
	return files + " at " + now.UTC().Format("15:04:05") + " UTC; reload the page for more"
}

// forgiveUnfinished changes the report on a run that goes on. The file in work has no end yet, and
// later files have not started. That is no failure, so the finding on files is skipped, unless
// a file has failed already. It returns how many files have ended.
func forgiveUnfinished(report *check.Report, tl *timeline.Timeline) (done int) {
	failed := false
	for _, f := range tl.LastAttempts() {
		switch f.Status {
		case record.StatusUnknown:
		case record.StatusOK:
			done++
		default:
			done, failed = done+1, true
		}
	}
	if !failed {
		report.Revise(func(f *check.Finding) {
			if f.Check == check.Completeness && f.Verdict != check.Pass {
				f.Verdict, f.Message = check.Skipped, "the run goes on"
				f.File, f.FirstFile, f.At, f.Measured, f.Limit = 0, nil, nil, nil, nil
			}
		})
	}
	return done
}
