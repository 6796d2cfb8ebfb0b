package check

import (
	"encoding/json"
	"fmt"
	"math"
)

// Measurements are what a run measured, file by file: what drifts are looked for in, and what two runs are compared by.
type Measurements struct {
	Files   []MeasuredFile `json:"files"`
	Metrics []Metric       `json:"metrics"`
}

// A MeasuredFile is a file that ended well, in the order of the log.
type MeasuredFile struct {
	Path         string  `json:"path,omitempty"`
	Index        int     `json:"index"`                   // place in the batch, from 1
	AudioSeconds float64 `json:"audio_seconds,omitempty"` // 0 where unknown
	// Process counts the pipeline's processes from 0. Levels are comparable within one.
	Process int `json:"process"`
}

// A Metric is one quantity over the files of a run, on one device of one rank.
type Metric struct {
	// Name is "idle level", "reserved - allocated", "dark memory", "peak", "peak of Transcription",
	// "recovery of Whisper Cleanup", "throughput" or "seconds a file".
	Name   string `json:"name"`
	Unit   string `json:"unit"` // Bytes, Ratio, TimesRealTime or Seconds
	Rank   int    `json:"rank,omitempty"`
	Device int    `json:"device,omitempty"`
	// HigherIsBetter is so for recovery and throughput.
	HigherIsBetter bool `json:"higher_is_better,omitempty"`
	// Resolution is half the last digit that any of the values was printed with, in Unit; 0 where they are exact.
	Resolution float64 `json:"resolution,omitempty"`
	// Values has one a file, NaN where the file has none; in JSON that is null.
	Values Values `json:"values"`
}

// Units of metrics, beside Ratio.
const (
	Bytes         = "bytes"
	Seconds       = "seconds"
	TimesRealTime = "x real time" // seconds of audio in a second
)

// Values are numbers of which some are missing: NaN, in JSON null.
type Values []float64

// MarshalJSON implements [json.Marshaler].
func (v Values) MarshalJSON() ([]byte, error) {
	all := make([]*float64, len(v))
	for i := range v {
		if !math.IsNaN(v[i]) {
			all[i] = &v[i]
		}
	}
	return json.Marshal(all)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Values) UnmarshalJSON(b []byte) error {
	var all []*float64
	if err := json.Unmarshal(b, &all); err != nil {
		return fmt.Errorf("values: %w", err)
	}
	*v = make(Values, len(all))
	for i, x := range all {
		(*v)[i] = math.NaN()
		if x != nil {
			(*v)[i] = *x
		}
	}
	return nil
}
