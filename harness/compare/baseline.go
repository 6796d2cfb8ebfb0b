package compare

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"vramsoak/harness/check"
)

// Schema names the version of a Baseline in JSON.
const Schema = "vramsoak.baseline/1"

// A Baseline holds the measurements of a run. Later runs are compared with it.
type Baseline struct {
	Schema string  `json:"schema"`
	Run    RunInfo `json:"run"`
	check.Measurements
}

// RunInfo says which run it was, and on which machine. Unknown fields are empty.
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
	// Shards is the number of shards among which the batch was divided; 0 for a run without shards.
	// ByShard is set if the files of the baseline are these shards: a larger run is not measured file
	// by file.
	Shards  int  `json:"shards,omitempty"`
	ByShard bool `json:"by_shard,omitempty"`
}

// New returns a baseline with the measurements of a run. It rounds bytes to whole bytes and other
// units to a millionth, as a saved baseline holds them, so that a run equals its own saved
// baseline.
func New(m check.Measurements, run RunInfo) *Baseline {
	measured := check.Measurements{Files: m.Files, Failed: m.Failed}
	b := &Baseline{Schema: Schema, Run: run, Measurements: measured}
	b.Metrics = slices.Clone(m.Metrics)
	for i, metric := range b.Metrics {
		scale := 1e6
		if metric.Unit == check.Bytes {
			scale = 1
		}
		rounded := make(check.Values, len(metric.Values))
		for k, v := range metric.Values {
			rounded[k] = math.Round(v*scale) / scale
		}
		metric.Values = rounded
		b.Metrics[i] = metric
	}
	return b
}

// WriteJSON writes the baseline as JSON for people and for [ReadBaseline]: each file and each
// metric is one line. It holds at most one line in memory.
func (b *Baseline) WriteJSON(w io.Writer) error {
	run, err := json.MarshalIndent(b.Run, "  ", "  ")
	if err != nil {
		return fmt.Errorf("encode a baseline: %w", err)
	}
	out := bufio.NewWriter(w) // keeps its first error until Flush
	_, _ = fmt.Fprintf(out, "{\n  \"schema\": %q,\n  \"run\": %s", b.Schema, run)
	files := func(i int) ([]byte, error) { return json.Marshal(b.Files[i]) }
	failed := func(i int) ([]byte, error) { return json.Marshal(b.Failed[i]) }
	metrics := func(i int) ([]byte, error) { return metricLine(b.Metrics[i]) }
	err = writeLines(out, "files", len(b.Files), files)
	if err == nil && len(b.Failed) > 0 {
		err = writeLines(out, "failed", len(b.Failed), failed)
	}
	if err == nil {
		err = writeLines(out, "metrics", len(b.Metrics), metrics)
	}
	if err != nil {
		return fmt.Errorf("encode a baseline: %w", err)
	}
	_, _ = out.WriteString("\n}\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write a baseline: %w", err)
	}
	return nil
}

// writeLines writes a list of n items as the field key of a JSON object, each item on its own line.
// The function item returns the JSON of one item.
func writeLines(w *bufio.Writer, key string, n int, item func(i int) ([]byte, error)) error {
	_, _ = fmt.Fprintf(w, ",\n  %q: [", key)
	for i := range n {
		line, err := item(i)
		if err != nil {
			return err
		}
		if i > 0 {
			_ = w.WriteByte(',')
		}
		_, _ = w.WriteString("\n    ")
		_, _ = w.Write(line)
	}
	_, _ = w.WriteString("\n  ]")
	return nil
}

// metricLine returns a metric as one line of JSON. It writes its numbers without exponents;
// encoding/json would write very large and very small numbers with exponents.
func metricLine(m check.Metric) ([]byte, error) {
	values := m.Values
	m.Values = nil
	head, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	line := head[:len(head)-len("[]}")]
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
	return append(line, ']', '}'), nil
}
