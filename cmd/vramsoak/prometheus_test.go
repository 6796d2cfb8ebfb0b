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
)

// TestPrometheus: a real Prometheus scrapes a soak, and each query of Grafana's dashboard has a
// result.
func TestPrometheus(t *testing.T) {
	if os.Getenv("PROMETHEUS") == "" {
		t.Skip("make test-prometheus runs this test")
	}
	r := showRun(t)
	api := startPrometheus(t, strings.TrimSuffix(strings.TrimPrefix(r.url, "http://"), "/metrics"))
	fill := strings.NewReplacer("$instance", ".*", "$log", ".*", "$device", ".*",
		"$__rate_interval", "1m")
	for _, query := range dashboardQueries(t) {
		wait(t, query, func() bool {
			text := get(api + "?query=" + url.QueryEscape(fill.Replace(query)))
			var answer struct {
				Status, Error string
				Data          struct{ Result []any }
			}
			if text != "" && json.Unmarshal([]byte(text), &answer) == nil && answer.Error != "" {
				t.Fatalf("%s: %s", query, answer.Error)
			}
			return len(answer.Data.Result) > 0
		})
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

// startPrometheus starts a Prometheus that scrapes a host, and returns the address of its queries.
func startPrometheus(t *testing.T, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `scrape_configs:
  - job_name: vramsoak
    scrape_interval: 500ms
    scrape_timeout: 500ms
    static_configs: [{targets: [%q]}]
`, host), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file="+config,
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
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
