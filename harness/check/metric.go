package check

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strings"
)

// A Metric is one quantity over the files of a run, on one device of one rank.
type Metric struct {
	// Name is the name of one of the [Ledgers], "peak", "peak reserved", "peak of Transcription",
	// "recovery of Whisper Cleanup", "recovery of device used", "throughput" or "seconds a file".
	Name   string `json:"name"`
	Unit   string `json:"unit"` // Bytes, Ratio, Count, TimesRealTime or Seconds
	Rank   int    `json:"rank"`
	Device int    `json:"device"`
	// HigherIsBetter is set for recovery and throughput.
	HigherIsBetter bool `json:"higher_is_better,omitempty"`
	// Resolution is half a unit of the last printed digit, in Unit, of the least exact value. It is 0
	// if all values are exact.
	Resolution float64 `json:"resolution,omitempty"`
	// Places holds the indices in [Measurements.Files] of the files that have a value, in rising
	// order. It is nil if Values has an entry for each file: see [sparseShare].
	Places []int32 `json:"places,omitempty"`
	// Values has an entry for each file or, if Places is set, for each of Places. A missing value is
	// NaN, and null in JSON.
	Values Values `json:"values"`
}

// sparseShare decides the form of Metric.Values. If at least one file in sparseShare has the
// metric, Values has an entry for each file. If fewer files have it, Values has entries only for
// the files in Metric.Places. That saves memory: 5,000 files on 5,000 devices would need 25 million
// entries, nearly all of them NaN.
const sparseShare = 16

// All yields the values that are not missing, each with its file's index in [Measurements.Files].
func (m *Metric) All() iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		for i, v := range m.Values {
			place := i
			if m.Places != nil {
				place = int(m.Places[i])
			}
			if !math.IsNaN(v) && !yield(place, v) {
				return
			}
		}
	}
}

// Fits reports whether the metric can belong to a run with this number of files. Without Places, it
// must have a value for each file. With Places, it must have a value for each of them, and they
// must be indices of files in rising order.
func (m *Metric) Fits(files int) bool {
	if m.Places == nil {
		return len(m.Values) == files
	}
	for i, place := range m.Places {
		if place < 0 || int(place) >= files || i > 0 && place <= m.Places[i-1] {
			return false
		}
	}
	return len(m.Places) == len(m.Values)
}

// Dense returns the metric without Places: with one value for each of so many files, and NaN for a
// file without a value.
func (m *Metric) Dense(files int) Metric {
	dense := *m
	if m.Places == nil {
		return dense
	}
	dense.Places, dense.Values = nil, make(Values, files)
	for i := range dense.Values {
		dense.Values[i] = math.NaN()
	}
	for place, v := range m.All() {
		dense.Values[place] = v
	}
	return dense
}

// These are names of metrics and of the subjects of findings. Two more metrics have the names of
// their checks: [Peak] and [Throughput].
const (
	IdleLevel     = "idle level"           // at a file's last checkpoint
	UnusedReserve = "reserved - allocated" // at a file's last checkpoint
	PeakReserved  = "peak reserved"        // the largest reading in a file
	DarkMemory    = "dark memory"          // device used - reserved, at a file's last checkpoint
	DeviceUsed    = "device used"          // between two files, if the allocator does not give it
	PinnedMemory  = "pinned memory"        // of the process, at a file's last checkpoint
)

// These are the beginnings of metrics' names.
const (
	PeakOf     = "peak of "     // a stage
	RecoveryOf = "recovery of " // a cleanup, a stage, or [DeviceUsed]
	GrowthOf   = "growth of "   // one of the [Ledgers], in a comparison
)

// IsPeak reports whether this is the name of a metric of high-water marks: of files, or of a stage.
func IsPeak(metric string) bool {
	return metric == Peak || metric == PeakReserved || strings.HasPrefix(metric, PeakOf)
}

// FailedFiles is the subject of the finding that files fail which ended well in the base of a
// comparison.
const FailedFiles = "failed files"

const against = ", against "

// Against returns the subject of a finding of [Regression]: the name of a metric, and the reference
// that it is compared with. The reference is "" if there is only one.
func Against(metric, reference string) string {
	if reference == "" {
		return metric
	}
	return metric + against + reference
}

// withoutReference returns the metric in a subject that [Against] returned. The result compared is
// set if the subject has a reference.
func withoutReference(subject string) (metric string, compared bool) {
	metric, _, compared = strings.Cut(subject, against)
	return metric, compared
}

// NeverUsed is the subject of findings on memory that a process reserved and never handed out.
const NeverUsed = "reserve never used"

// These are units of metrics, in addition to Ratio.
const (
	Bytes         = "bytes"
	Seconds       = "seconds"
	TimesRealTime = "x real time" // seconds of audio processed in one second
)

// Values are numbers. A missing value is NaN, and null in JSON.
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
