package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"vramsoak/harness/check"
)

// Schema names the form of a Baseline in JSON.
const Schema = "vramsoak.baseline/1"

// A Baseline is what is kept of a run, to compare later ones with.
type Baseline struct {
	Schema string  `json:"schema"`
	Run    RunInfo `json:"run"`
	check.Measurements
}

// RunInfo says which run it was. What is not known is empty.
type RunInfo struct {
	Started time.Time     `json:"started,omitzero"`
	Commit  string        `json:"commit,omitempty"` // git
	Host    string        `json:"host,omitempty"`
	GPU     string        `json:"gpu,omitempty"`
	Driver  string        `json:"driver,omitempty"`
	Version string        `json:"version,omitempty"` // of vramsoak
	Command []string      `json:"command,omitempty"`
	Log     string        `json:"log,omitempty"` // as named by the user
	Verdict check.Verdict `json:"verdict,omitempty"`
}

// New is a baseline of what a run measured. Values are rounded to the byte, and to a millionth of another unit, so that a
// run is equal to what was saved of it.
func New(m check.Measurements, run RunInfo) *Baseline {
	b := &Baseline{Schema: Schema, Run: run, Measurements: check.Measurements{Files: m.Files}}
	for _, metric := range m.Metrics {
		scale := 1e6
		if metric.Unit == check.Bytes {
			scale = 1
		}
		rounded := make(check.Values, len(metric.Values))
		for i, v := range metric.Values {
			rounded[i] = math.Round(v*scale) / scale
		}
		metric.Values = rounded
		b.Metrics = append(b.Metrics, metric)
	}
	return b
}

// WriteJSON writes the baseline for people to read and for [ReadBaseline]: a file or a metric a line.
func (b *Baseline) WriteJSON(w io.Writer) error {
	run, err := json.MarshalIndent(b.Run, "  ", "  ")
	if err != nil {
		return fmt.Errorf("encode a baseline: %w", err)
	}
	var files, metrics []string
	for _, f := range b.Files {
		line, err := json.Marshal(f)
		if err != nil {
			return fmt.Errorf("encode a baseline: %w", err)
		}
		files = append(files, string(line))
	}
	for _, m := range b.Metrics {
		line, err := metricLine(m)
		if err != nil {
			return fmt.Errorf("encode a baseline: %w", err)
		}
		metrics = append(metrics, line)
	}
	if _, err := fmt.Fprintf(w, "{\n  \"schema\": %q,\n  \"run\": %s,\n  \"files\": [%s\n  ],\n  \"metrics\": [%s\n  ]\n}\n",
		b.Schema, run, lines(files), lines(metrics)); err != nil {
		return fmt.Errorf("write a baseline: %w", err)
	}
	return nil
}

// lines are the items of a list, each on a line of its own.
func lines(items []string) string {
	if len(items) == 0 {
		return ""
	}
	return "\n    " + strings.Join(items, ",\n    ")
}

// metricLine is a metric in one line. Its numbers have no exponent, which encoding/json gives to the largest and the least.
func metricLine(m check.Metric) (string, error) {
	values := m.Values
	m.Values = nil
	head, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	line := append([]byte(nil), head[:len(head)-len("[]}")]...)
	line = append(line, '[')
	for i, v := range values {
		if i > 0 {
			line = append(line, ',')
		}
		if math.IsNaN(v) {
			line = append(line, "null"...)
			continue
		}
		line = strconv.AppendFloat(line, v, 'f', -1, 64)
	}
	return string(append(line, ']', '}')), nil
}
