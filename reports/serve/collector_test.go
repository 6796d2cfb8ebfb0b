package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"golang.org/x/tools/txtar"

	"vramsoak/fixtures/golden"
	"vramsoak/harness"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

// TestMetrics: the logs in testdata give these metrics.
func TestMetrics(t *testing.T) {
	golden.Each(t, "testdata/*.txtar", func(t *testing.T, g golden.Case) {
		c := NewCollector("1")
		for _, f := range g.Files {
			if !strings.HasSuffix(f.Name, ".log") {
				continue
			}
			l := newFeed(c)
			for rec, err := range parser.Read(strings.NewReader(string(f.Data)), f.Name) {
				if err != nil {
					t.Fatal(err)
				}
				l.add(rec)
			}
		}
		var values []string
		for line := range strings.Lines(scrape(t, c)) {
			if line[0] != '#' && !strings.HasPrefix(line, "vramsoak_build_info") {
				values = append(values, line)
			}
		}
		g.Compare(txtar.File{Name: "metrics", Data: []byte(strings.Join(values, ""))})
	})
}

// TestProgressMetrics: the metrics of the harness's progress.
func TestProgressMetrics(t *testing.T) {
	t.Parallel()
	c := NewCollector("1.2")
	has := func(wants ...string) {
		t.Helper()
		got := scrape(t, c)
		for _, want := range wants {
			if !strings.Contains(got, want+"\n") {
				t.Errorf("want %s in\n%s", want, got)
			}
		}
	}
	has(`vramsoak_state{state="starting"} 1`, "vramsoak_files_done 0")
	if got := scrape(t, c); strings.Contains(got, "batch_files") || strings.Contains(got, "left") {
		t.Errorf("the number of files is not known, and the time left: %s", got)
	}
	c.Progress(harness.Progress{
		Done: 23, Files: 60, Failed: 1, Current: "a.wav", Elapsed: 90 * time.Second,
		Left: 21 * time.Second, HasLeft: true,
	})
	has("vramsoak_batch_files 60", "vramsoak_files_done 23", "vramsoak_files_failed 1",
		"vramsoak_elapsed_seconds 90", "vramsoak_left_seconds 21", `vramsoak_state{state="working"} 1`,
		`vramsoak_state{state="starting"} 0`)
	c.Progress(harness.Progress{Done: 23, Workers: []harness.Progress{{}, {Current: "b.wav"}}})
	has(`vramsoak_state{state="working"} 1`)
	c.Progress(harness.Progress{Done: 23})
	has(`vramsoak_state{state="between"} 1`)
	c.End()
	has(`vramsoak_state{state="ended"} 1`, `vramsoak_state{state="between"} 0`)
}

// TestConventions: Prometheus's linter has nothing to say about the metrics.
func TestConventions(t *testing.T) {
	t.Parallel()
	c := NewCollector("1")
	l := newFeed(c)
	for i := range record.Quantities {
		r := record.Checkpoint{}
		r.Set(i, record.Exact(1))
		l.add(r)
	}
	s := record.Sample{}
	for kind := range record.ResourceKinds {
		s.Held.Set(kind, 1)
	}
	l.add(s)
	l.add(record.FileEnd{Status: record.StatusOK, Seconds: 1})
	c.Progress(harness.Progress{Files: 1, HasLeft: true})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if len(families) != len(liveMetrics) {
		t.Errorf("%d of %d metrics", len(families), len(liveMetrics))
	}
}

// TestManyLanes: a log may name any number of ranks. The memory of a collector is limited.
func TestManyLanes(t *testing.T) {
	t.Parallel()
	c := NewCollector("1")
	l := newFeed(c)
	for rank := range 3 * maxLanes {
		r := record.Checkpoint{Lane: record.Lane{Rank: rank}}
		r.Set(record.Allocated, record.Exact(1))
		r.Set(record.Total, record.Exact(1))
		l.add(r)
	}
	if len(c.sizes) != maxLanes || len(l.last) != maxLanes {
		t.Errorf("%d sizes, %d checkpoints, want %d", len(c.sizes), len(l.last), maxLanes)
	}
}

// TestFollow: a collector reads a log that begins to exist later and grows. Scrapes at the same
// time disturb nothing. When the context ends, so does the reading.
func TestFollow(t *testing.T) {
	t.Parallel()
	c := NewCollector("1")
	path := filepath.Join(t.TempDir(), "soak.log")
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	reading.Go(func() { c.Follow(ctx, nil, path) })
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := fmt.Fprintf(log, "[GPU Memory] After Work: Allocated: %d.00GB\n", i); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("vramsoak_memory_bytes{device=\"0\",ledger=\"allocated\",rank=\"0\","+
			"source=\"checkpoint\"} %v\n", float64(i)*(1<<30))
		for !strings.Contains(scrape(t, c), want) {
			if t.Context().Err() != nil {
				t.Fatalf("no %s", want)
			}
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	cancel()
	reading.Wait()
	missing, stop := context.WithCancel(t.Context())
	stop()
	c.Follow(missing, nil, filepath.Join(t.TempDir(), "missing")) // returns
}
