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

// An httpView shows a run over HTTP. The zero value shows nothing.
type httpView struct {
	server    *serve.Server
	collector *serve.Collector
	ctx       context.Context // of the goroutines that read the logs
	cancel    context.CancelFunc
	readers   sync.WaitGroup
	page      livePage
}

// openView opens the address at which a run is shown. If the address is "", the view shows nothing.
func openView(address string) (*httpView, error) {
	if address == "" {
		return &httpView{}, nil
	}
	server, err := serve.Listen(address)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", address, err)
	}
	v := &httpView{server: server, collector: serve.NewCollector(version())}
	v.ctx, v.cancel = context.WithCancel(context.Background())
	server.Start(serve.Handler(v.collector, &v.page))
	return v, nil
}

// progress returns a function that passes the progress on to show, and to the view.
func (v *httpView) progress(show func(harness.Progress)) func(harness.Progress) {
	if v.server == nil {
		return show
	}
	return func(p harness.Progress) {
		v.collector.Progress(p)
		show(p)
	}
}

// follow says where the run is shown, and reads the run's logs while they grow.
func (v *httpView) follow(cfg harness.Config, workers []harness.Worker) {
	if v.server == nil {
		return
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
	v.page.follow(logs)
}

// end notes that the run is over. The view goes on showing how it ended.
func (v *httpView) end() {
	if v.server != nil {
		v.collector.End()
	}
}

// close ends the server and the reading of logs.
func (v *httpView) close() {
	if v.server == nil {
		return
	}
	v.server.Close()
	v.cancel()
	v.readers.Wait()
}
