package export_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"vramsoak/fixtures/golden"
	"vramsoak/parser"
	"vramsoak/reports/export"
	"vramsoak/reports/export/openmetrics"
	"vramsoak/reports/export/perfetto"
)

// A log is a log of a test.
type log struct{ name, text string }

// write exports logs with a writer's Add and Close.
func write(logs []log, add func(export.Event), finish func() error) error {
	x := export.New(add)
	b := &parser.Builder{}
	b.Done = x.Add
	for _, l := range logs {
		if err := b.Read(strings.NewReader(l.text), l.name); err != nil {
			return err
		}
	}
	return errors.Join(x.Finish(b.Timeline()), finish())
}

// both returns the trace and the OpenMetrics text of logs.
func both(t *testing.T, logs ...log) (trace, text []byte) {
	t.Helper()
	var pf, om bytes.Buffer
	p, o := perfetto.NewWriter(&pf), openmetrics.NewWriter(&om)
	if err := errors.Join(write(logs, p.Add, p.Close), write(logs, o.Add, o.Close)); err != nil {
		t.Fatal(err)
	}
	return pf.Bytes(), om.Bytes()
}

// logsOf returns the logs in a golden.
func logsOf(c golden.Case) (logs []log) {
	for _, f := range c.Files {
		if strings.HasSuffix(f.Name, ".log") {
			logs = append(logs, log{f.Name, string(f.Data)})
		}
	}
	return logs
}

// TestExports: the logs in testdata give these tracks and series. The trace is written as text, one
// event in each line: its time in milliseconds, its track, and what it says.
func TestExports(t *testing.T) {
	golden.Each(t, "testdata/*.txtar", func(t *testing.T, c golden.Case) {
		trace, text := both(t, logsOf(c)...)
		c.Compare(
			txtar.File{Name: "trace", Data: []byte(decode(t, trace))},
			txtar.File{Name: "openmetrics", Data: text},
		)
	})
}

// TestClocks: logs with times and logs without them cannot share an axis.
func TestClocks(t *testing.T) {
	const reading = "[GPU Memory] After Work: Allocated: 1.00GB\n"
	logs := []log{
		{"timed.log", "2026-11-20T02:00:00.000Z " + reading}, {"bare.log", reading},
	}
	err := write(logs, func(export.Event) {}, func() error { return nil })
	const want = "timed.log and bare.log cannot share a time axis (timed.log: the times of the log; " +
		"bare.log: the log has no times: line 1,234 is at 1.234 s); export them into two files"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestTimes: what the times of a log's lines become, in seconds since the first.
func TestTimes(t *testing.T) {
	const reading = " [GPU Memory] After Work: Allocated: 1.00GB"
	for _, c := range []struct {
		name, log string
		want      []float64
		clock     export.Clock
	}{
		{
			"dates", "2026-11-20T23:59:59Z" + reading + "\n2026-11-21T00:00:01Z" + reading,
			[]float64{0, 2},
			export.Dated,
		},
		{
			"times of day, over midnight", "23:59:59.000" + reading + "\n00:00:01.500" + reading,
			[]float64{0, 2.5},
			export.Undated,
		},
		{
			"lines before the first time, and between times",
			reading + "\n2026-11-20T02:00:00Z" + reading + "\n" + reading +
				"\n2026-11-20T02:00:09Z" + reading,
			[]float64{0, 0, 0, 9},
			export.Dated,
		},
		{"no times", "loading\n" + reading + "\nloading\n" + reading, []float64{0, 0.002}, export.Lines},
		{"a year that 64 bits do not hold", "2026-11-20T02:00:00Z" + reading + "\n9999-11-20T02:00:00Z" +
			reading, []float64{0, 0}, export.Dated},
	} {
		var got []float64
		var clock export.Clock
		first := int64(-1)
		add := func(e export.Event) {
			if e.Kind != export.Level || e.Source != "checkpoint" {
				return
			}
			if first < 0 {
				first = e.Nanos
			}
			clock = e.Clock
			got = append(got, float64(e.Nanos-first)/1e9)
		}
		if err := write([]log{{"run.log", c.log}}, add, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, c.want) || clock != c.clock {
			t.Errorf("%s: got %v (%v), want %v (%v)", c.name, got, clock, c.want, c.clock)
		}
	}
}
