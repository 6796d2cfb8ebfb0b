package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPrometheus: a real Prometheus scrapes a soak, and each query of Grafana's dashboard has a
// result.
func TestPrometheus(t *testing.T) {
	if os.Getenv("PROMETHEUS") == "" {
		t.Skip("make test-prometheus runs this test")
	}
	r := listen(t, "0")
	host := strings.TrimSuffix(strings.TrimPrefix(r.url, "http://"), "/metrics")
	api := startPrometheus(t, filepath.Join(t.TempDir(), "data"), fmt.Sprintf(`scrape_configs:
  - job_name: vramsoak
    scrape_interval: 500ms
    scrape_timeout: 500ms
    static_configs: [{targets: [%q]}]
`, host))
	for _, query := range dashboardQueries(t) {
		wait(t, query, func() bool { return results(t, api, query, "") > 0 })
	}
	lint := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	lint.Stdin = strings.NewReader(get(r.url))
	if out, err := lint.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	if err := os.WriteFile(r.goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("the soak ended with %v", err)
	}
}

// TestPrometheusOfExport: a run that was exported and put into a database by promtool has the same
// queries, except those that only a running soak answers.
func TestPrometheusOfExport(t *testing.T) {
	if os.Getenv("PROMETHEUS") == "" {
		t.Skip("make test-prometheus runs this test")
	}
	dir := t.TempDir()
	log, text, data := filepath.Join(dir, "run.log"), filepath.Join(dir, "run.om"),
		filepath.Join(dir, "data")
	ended := time.Now().Add(-time.Minute).UTC().Truncate(time.Second)
	stamp := ended.Format("[2006-01-02T15:04:05Z] ")
	if err := os.WriteFile(log, []byte("[pipeline] file-start path=a.wav\n"+
		stamp+"[GPU Memory] Before Work: Allocated: 1.00GB | Reserved: 2.00GB | Total: 24.00GB\n"+
		stamp+"[GPU Memory] After Work: Allocated: 3.00GB | Reserved: 4.00GB | Total: 24.00GB\n"+
		"[pipeline] file-end path=a.wav status=ok\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"vramsoak", "export", log, "--format", "openmetrics", "-o", text},
		{"promtool", "tsdb", "create-blocks-from", "openmetrics", text, data},
	} {
		out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	api := startPrometheus(t, data, "")
	at := ended.Add(time.Second).Format(time.RFC3339)
	answered := 0
	for _, query := range dashboardQueries(t) {
		if results(t, api, query, at) > 0 {
			answered++
		}
	}
	// Memory, device size, file end, high-water mark, and the files by status.
	if answered != 5 {
		t.Errorf("%d queries have a result, want 5", answered)
	}
}

// results returns how many results a query has at a time, or now.
func results(t *testing.T, api, query, at string) int {
	t.Helper()
	fill := strings.NewReplacer("$instance", ".*", "$log", ".*", "$device", ".*",
		"$__rate_interval", "1m")
	values := url.Values{"query": {fill.Replace(query)}}
	if at != "" {
		values.Set("time", at)
	}
	var answer struct {
		Error string
		Data  struct{ Result []any }
	}
	text := get(api + "?" + values.Encode())
	if text != "" && json.Unmarshal([]byte(text), &answer) == nil && answer.Error != "" {
		t.Fatalf("%s: %s", query, answer.Error)
	}
	return len(answer.Data.Result)
}

// TestPrometheusRules: promtool accepts the alert in the docs.
func TestPrometheusRules(t *testing.T) {
	if os.Getenv("PROMETHEUS") == "" {
		t.Skip("make test-prometheus runs this test")
	}
	page, err := os.ReadFile("../../docs/how-to/other-tools.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rules, found := strings.Cut(string(page), "```yaml\ngroups:")
	rules, _, ended := strings.Cut(rules, "```")
	if !found || !ended {
		t.Fatal("the page has no rules")
	}
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte("groups:"+rules), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "promtool", "check", "rules", path).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// startPrometheus starts a Prometheus with a configuration on a folder of data, and returns the
// address of its queries.
func startPrometheus(t *testing.T, data, config string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file="+file,
		"--storage.tsdb.path="+data, "--web.listen-address="+address)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Log(said.String())
		}
	})
	wait(t, "Prometheus begins", func() bool { return get("http://"+address+"/-/ready") != "" })
	return "http://" + address + "/api/v1/query"
}

// dashboardQueries returns the queries of Grafana's dashboard.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	text, err := os.ReadFile("../../ci/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	if len(queries) < 10 {
		t.Fatalf("only %d queries", len(queries))
	}
	return queries
}
