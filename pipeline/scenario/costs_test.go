package scenario_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"

	"vramsoak/pipeline/scenario"
)

// TestCosts compares the default costs with the medians that were measured on an H200. The default
// is a straight line through calls of all sizes, so it may be off by 40 %.
func TestCosts(t *testing.T) {
	text, err := os.ReadFile("../../fixtures/h200/costs.txt")
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Read([]byte("gpu: 8GiB\nstages: [{name: A}]\n"), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	costs := s.Costs
	near := func(what string, got, micros float64) {
		t.Helper()
		if math.Abs(got*1e6-micros) > 0.4*micros {
			t.Errorf("%s: %.1f us, measured %.1f", what, got*1e6, micros)
		}
	}
	calls := regexp.MustCompile(`(?m)^(cudaMalloc|cudaFree) (\d+) MiB +n=\d+ .* median +([\d.]+)`)
	found := calls.FindAllStringSubmatch(string(text), -1)
	if len(found) < 10 {
		t.Fatalf("%d calls were measured, want 10 or more", len(found))
	}
	for _, m := range found {
		mib, _ := strconv.ParseInt(m[2], 10, 64)
		median, _ := strconv.ParseFloat(m[3], 64)
		if m[1] == "cudaMalloc" {
			near(m[0], costs.MallocTime(mib<<20), median)
		} else {
			near(m[0], costs.FreeTime(mib<<20), median)
		}
	}
	for _, of := range []struct {
		pattern string
		got     float64
	}{
		{`cudaMalloc that fails .* median +([\d.]+)`, costs.FailedMalloc},
		{`synchronize after it .* median +([\d.]+)`, costs.Synchronize},
	} {
		m := regexp.MustCompile(of.pattern).FindStringSubmatch(string(text))
		if m == nil {
			t.Fatalf("nothing was measured that matches %q", of.pattern)
		}
		median, _ := strconv.ParseFloat(m[1], 64)
		near(of.pattern, of.got, median)
	}
}
