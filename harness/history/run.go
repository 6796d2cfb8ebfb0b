package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
)

// DefaultSuite is the suite of runs for which the user names no suite.
const DefaultSuite = "default"

// A Run holds everything that the history stores about one run.
type Run struct {
	// Suite names the group of runs with which the run can be compared: those of the same pipeline and
	// batch.
	Suite string `json:"suite"`
	// Digest is the checksum of the log. Two runs with the same suite, start, host and digest are the
	// same run.
	Digest      string           `json:"digest"`
	Baseline    compare.Baseline `json:"baseline"`
	Files       int              `json:"files"`
	Checkpoints int              `json:"checkpoints"`
	HighWater   check.HighWater  `json:"peak"`
	// Findings holds the findings that failed or are undecided.
	Findings []check.Finding `json:"findings"`
	// Growth maps each subject of the leak check to its growth, in bytes a file. If a subject has
	// several findings, the largest growth counts.
	Growth map[string]float64 `json:"growth,omitempty"`
}

// NewRun returns the part of a run and of its report that the history stores.
func NewRun(suite, digest string, baseline *compare.Baseline, report *check.Report) Run {
	r := Run{
		Suite: suite, Digest: digest, Baseline: *baseline, Files: report.Files,
		Checkpoints: report.Checkpoints,
		HighWater:   report.HighWater, Findings: []check.Finding{},
	}
	for _, f := range report.Findings {
		if f.Verdict == check.Fail || f.Verdict == check.Undecided {
			r.Findings = append(r.Findings, f)
		}
		if f.Check != check.Leak || f.Unit != check.BytesPerFile || f.Measured == nil ||
			f.Verdict == check.Skipped {
			continue
		}
		if r.Growth == nil {
			r.Growth = map[string]float64{}
		}
		if most, has := r.Growth[f.Subject]; !has || *f.Measured > most {
			r.Growth[f.Subject] = *f.Measured
		}
	}
	return r
}

// An Entry describes one run in a list.
type Entry struct {
	ID      int64
	Suite   string
	Started time.Time
	Commit  string // git; "" if unknown
	Host    string
	GPU     string
	Driver  string
	Version string // of vramsoak
	Log     string // as the user named it
	Verdict check.Verdict
	Files   int
}

// These are statistics of a metric over the files of a run.
const (
	MedianOf = "median"
	// P95 is the value that 95 % of the files do not exceed. For a metric with HigherIsBetter, it is
	// the value that 95 % of the files reach or exceed.
	P95        = "p95"
	Worst      = "worst"
	GrowthRate = "growth" // measured by the leak check, in bytes a file
)

// Statistics lists all statistics.
var Statistics = []string{MedianOf, P95, Worst, GrowthRate}

// A scalar is one statistic of one metric of a run.
type scalar struct {
	metric, statistic, unit string
	rank, device            int
	higherIsBetter          bool
	resolution, value       float64
}

// scalars returns the statistics of the run's metrics. The series of a [History] are made of them.
func (r *Run) scalars() []scalar {
	var out []scalar
	for _, m := range r.Baseline.Metrics {
		values := slices.DeleteFunc(slices.Clone(m.Values),
			func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
		if len(values) == 0 {
			continue
		}
		slices.Sort(values)
		if m.HigherIsBetter {
			slices.Reverse(values)
		}
		for _, of := range []struct {
			statistic string
			quantile  float64
		}{{MedianOf, 0.5}, {P95, 0.95}, {Worst, 1}} {
			out = append(out, scalar{
				metric: m.Name, statistic: of.statistic, unit: m.Unit, rank: m.Rank, device: m.Device,
				higherIsBetter: m.HigherIsBetter, resolution: m.Resolution,
				value: quantile(values, of.quantile),
			})
		}
	}
	for _, subject := range slices.Sorted(maps.Keys(r.Growth)) {
		out = append(out, scalar{
			metric: subject, statistic: GrowthRate, unit: check.BytesPerFile,
			value: r.Growth[subject],
		})
	}
	return out
}

// quantile returns the quantile q of values in ascending or descending order, by definition 7 of
// Hyndman and Fan 1996, "Sample quantiles in statistical packages".
func quantile(ordered []float64, q float64) float64 {
	at := q * float64(len(ordered)-1)
	i := int(at)
	if i+1 >= len(ordered) {
		return ordered[len(ordered)-1]
	}
	return ordered[i] + (at-float64(i))*(ordered[i+1]-ordered[i])
}

// largeDetail is the size, in bytes of JSON, from which on the history compresses a run. A smaller
// run stays plain JSON, which any SQL client shows.
const largeDetail = 16 << 10

// encode returns the run as JSON. If the JSON is large, encode compresses it with zstd.
func (r *Run) encode() ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil || len(text) < largeDetail {
		return text, err
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, err
	}
	return z.EncodeAll(text, nil), z.Close()
}

// maxDetail is the largest size of a stored run after decompression, in bytes.
const maxDetail = 1 << 30

func decode(detail []byte) (*Run, error) {
	if zstdMagic := []byte{0x28, 0xB5, 0x2F, 0xFD}; bytes.HasPrefix(detail, zstdMagic) { // RFC 8878
		z, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxDetail))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		if detail, err = z.DecodeAll(detail, nil); err != nil {
			return nil, fmt.Errorf("the stored run cannot be unpacked: %w", err)
		}
	}
	r := &Run{}
	if err := json.Unmarshal(detail, r); err != nil {
		return nil, fmt.Errorf("the stored run cannot be read: %w", err)
	}
	return r, nil
}
