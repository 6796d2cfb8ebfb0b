package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"vramsoak/harness"
	"vramsoak/reports/serve"
)

const listenUsage = "show the run at this `address` while it runs: the report at /, /metrics for " +
	"Prometheus, /healthz; 9435 or :9435 is 127.0.0.1:9435"

// A watcher shows a run over HTTP. The zero value shows nothing.
type watcher struct {
	server    *serve.Server
	collector *serve.Collector
	ctx       context.Context // of the goroutines that read the logs
	cancel    context.CancelFunc
	readers   sync.WaitGroup
	page      livePage
}

// watch opens the address at which a run is shown, or returns a watcher that shows nothing if the
// address is "".
func watch(address string) (*watcher, error) {
	if address == "" {
		return &watcher{}, nil
	}
	server, err := serve.Listen(address)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", address, err)
	}
	w := &watcher{server: server, collector: serve.NewCollector(version())}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	server.Start(serve.Handler(w.collector, &w.page))
	return w, nil
}

// progress returns a function that passes the progress on to show, and to the watcher.
func (w *watcher) progress(show func(harness.Progress)) func(harness.Progress) {
	if w.server == nil {
		return show
	}
	return func(p harness.Progress) {
		w.collector.Progress(p)
		show(p)
	}
}

// follow says where the run is shown, and reads the run's logs while they grow.
func (w *watcher) follow(cfg harness.Config, workers []harness.Worker) {
	if w.server == nil {
		return
	}
	stderr.Printf("metrics: %s\nreport: %s\n", w.server.URL("/metrics"), w.server.URL("/"))
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
		w.readers.Go(func() { w.collector.Follow(w.ctx, cfg.Dialects, logs[i]) })
	}
	w.page.follow(logs)
}

// end notes that the run is over. The watcher goes on showing how it ended.
func (w *watcher) end() {
	if w.server != nil {
		w.collector.End()
	}
}

// close ends the server and the reading of logs.
func (w *watcher) close() {
	if w.server == nil {
		return
	}
	w.server.Close()
	w.cancel()
	w.readers.Wait()
}
