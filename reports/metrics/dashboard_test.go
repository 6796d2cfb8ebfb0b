package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A dashboard is what the tests need to know of Grafana's dashboard.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
	Templating struct {
		List []struct{ Definition string }
	}
}

// word matches the names in a query, and comparison the labels that it compares.
var (
	word       = regexp.MustCompile(`[a-z_]+`)
	comparison = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
)

// TestDashboard: each metric and each label in the queries of the dashboard exists.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../ci/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
		}
	}
	for _, v := range d.Templating.List {
		queries = append(queries, v.Definition)
	}
	used := map[string]bool{}
	labels := []string{"instance", "job", LabelLog} // Prometheus sets the first two
	for _, m := range All {
		labels = append(labels, m.Labels...)
	}
	for _, query := range queries {
		for _, name := range word.FindAllString(query, -1) {
			if strings.HasPrefix(name, "vramsoak_") {
				used[name] = true
			}
		}
		for _, match := range comparison.FindAllStringSubmatch(query, -1) {
			if !slices.Contains(labels, match[1]) {
				t.Errorf("%s: there is no label %s", query, match[1])
			}
		}
	}
	if len(used) < 10 {
		t.Errorf("only %d metrics are used: %v", len(used), used)
	}
	for name := range used {
		if !slices.ContainsFunc(All, func(m *Metric) bool { return m.Name == name }) {
			t.Errorf("there is no metric %s", name)
		}
	}
}

// TestNames: names follow Prometheus's conventions.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, m := range All {
		if !regexp.MustCompile(`^vramsoak_[a-z_]+$`).MatchString(m.Name) ||
			strings.HasSuffix(m.Name, "_total") != (m.Kind == Counter) ||
			strings.HasSuffix(m.Name, "_info") != (m.Kind == Info) ||
			m.Unit != "" && !strings.HasSuffix(m.Name, "_"+m.Unit) {
			t.Errorf("%s: a %s in %q", m.Name, m.Kind, m.Unit)
		}
	}
}
