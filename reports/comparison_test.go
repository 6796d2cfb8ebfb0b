package reports_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/fixtures/golden"
	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/reports/jsondoc"
	"vramsoak/reports/markdown"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

// aComparison returns the comparison of two runs of 20 files. It has a metric for each verdict, a
// hostile name and remarks.
func aComparison() *compare.Comparison {
	metric := func(name, unit string, higherIsBetter bool, at func(i int) float64) check.Metric {
		m := check.Metric{Name: name, Unit: unit, HigherIsBetter: higherIsBetter}
		for i := range 20 {
			m.Values = append(m.Values, at(i))
		}
		return m
	}
	run := func(
		peak, noise, recovered, speed float64, info compare.RunInfo, more ...check.Metric,
	) *compare.Baseline {
		m := check.Measurements{Metrics: append([]check.Metric{
			metric("idle level", check.Bytes, false, func(int) float64 { return 1 << 20 }),
			metric("peak", check.Bytes, false, func(int) float64 { return peak }),
			metric("peak of a | b\x1b[31m", check.Bytes, false, func(i int) float64 {
				return 1<<30 + noise*float64(i*7%20-8)
			}),
			metric("recovery of Whisper Cleanup", check.Ratio, true, func(int) float64 {
				return recovered
			}),
			metric("throughput", check.TimesRealTime, true, func(int) float64 { return speed }),
		}, more...)}
		for i := range 20 {
			m.Files = append(m.Files, check.MeasuredFile{
				Path:  string(rune('a'+i)) + ".wav",
				Index: i + 1,
			})
		}
		return compare.New(m, info)
	}
	dark := metric("dark memory", check.Bytes, false, func(int) float64 { return 500 << 20 })
	base := run(7<<30, 0, 0.98, 30, compare.RunInfo{
		Log: "last-good.json", Commit: "33395edd1b92b3a7", GPU: "NVIDIA A10", Host: "builder",
		Verdict: check.Pass,
	}, dark)
	now := run(8<<30, 2<<20, 0.96, 33, compare.RunInfo{
		Log: "runs/x/soak.log", GPU: "NVIDIA L4",
		Host: "builder", Driver: "550.54",
	})
	return compare.Runs(base, now, check.DefaultPolicy())
}

// TestComparison writes a comparison in every form. UPDATE=1 rewrites the goldens; read the
// difference before you keep it.
func TestComparison(t *testing.T) {
	c := aComparison()
	for name, write := range map[string]func(w *bytes.Buffer) error{
		"plain.txt": func(w *bytes.Buffer) error {
			return text.Comparison(w, c, check.Fail, text.Options{})
		},
		"terminal-80.txt": func(w *bytes.Buffer) error {
			return text.Comparison(w, c, check.Fail, text.Options{Terminal: true, Width: 80})
		},
		"terminal-140.txt": func(w *bytes.Buffer) error {
			return text.Comparison(w, c, check.Fail, text.Options{Terminal: true, Width: 140})
		},
		"summary.md": func(w *bytes.Buffer) error { return markdown.Comparison(w, c, check.Fail) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		golden.File(t, filepath.Join("testdata", "comparison", name), out.Bytes())
	}
}

// TestComparisonJSON: writing a comparison metric by metric gives the same JSON as writing it at
// once.
func TestComparisonJSON(t *testing.T) {
	t.Parallel()
	some := aComparison()
	some.Base.Log = "<a & b>.log"
	failed := *some
	failed.Changes, failed.NewlyFailed = nil,
		[]check.MeasuredFile{{Path: `"metrics": []`, Index: 1}}
	for _, c := range []*compare.Comparison{some, &failed} {
		r := &check.Report{Schema: check.Schema, Policy: check.DefaultPolicy()}
		r.Join(c.Findings("")...)
		whole := *c
		whole.Changes = append([]compare.Change{}, c.Changes...)
		var want, got strings.Builder
		if err := sink.WriteJSON(&want, struct {
			*check.Report
			*compare.Comparison
		}{r, &whole}); err != nil {
			t.Fatal(err)
		}
		err := jsondoc.Comparison(&got, c, r)
		if diff := cmp.Diff(want.String(), got.String()); diff != "" || err != nil {
			t.Errorf("%v (-at once +metric by metric)\n%s", err, diff)
		}
	}
}

// TestComparisonOfMany: at most 256 metrics of a verdict are listed, the worst ones. The others are
// counted.
func TestComparisonOfMany(t *testing.T) {
	t.Parallel()
	c := &compare.Comparison{}
	for i := range 20_000 {
		v := check.Pass
		if i == 19_999 {
			v = check.Fail
		}
		c.Changes = append(c.Changes, compare.Change{Name: fmt.Sprintf("metric %d", i), Verdict: v})
	}
	var out strings.Builder
	if err := text.Comparison(&out, c, check.Fail, text.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"metric 19999",
		"19,743 others: pass; --format json has them all",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if n := strings.Count(out.String(), "\n"); n > 300 {
		t.Errorf("the report has %d lines", n)
	}
}
