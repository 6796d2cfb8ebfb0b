package check

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// Measurements are the values that a run measured, file by file. Package compare compares two runs
// by them.
type Measurements struct {
	Files []MeasuredFile `json:"files"`
	// Failed lists the files whose last attempt failed. It leaves out files that ended only because
	// the run was interrupted.
	Failed  []MeasuredFile `json:"failed,omitempty"`
	Metrics []Metric       `json:"metrics"`
}

// A MeasuredFile is a file of [Measurements]. The files are in the order of the log.
type MeasuredFile struct {
	Path         string  `json:"path,omitempty"`
	Index        int     `json:"index"`                   // position in the batch, from 1
	AudioSeconds float64 `json:"audio_seconds,omitempty"` // 0 if unknown
	// Process is the number of the process that worked on the file, from 0. Levels of different
	// processes cannot be compared.
	Process int `json:"process"`
}

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

// These are names of metrics.
const (
	IdleLevel     = "idle level"           // at a file's last checkpoint
	UnusedReserve = "reserved - allocated" // at a file's last checkpoint
	PeakReserved  = "peak reserved"        // the largest reading in a file
	DarkMemory    = "dark memory"          // device used - reserved, at a file's last checkpoint
	DeviceUsed    = "device used"          // between two files, if the allocator does not give it
	PinnedMemory  = "pinned memory"        // of the process, at a file's last checkpoint
)

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

// measure returns the measurements of the run. It takes values from the files that ended well.
func (j *Judge) measure() *Measurements {
	m := &Measurements{Metrics: make([]Metric, 0, 4*len(j.lanes))} // a log may have many lanes
	var sound []int32
	places := make([]int32, len(j.tl.Files)) // index in m.Files, or -1
	for i, f := range j.tl.Files {
		places[i] = -1
		if j.endedWell(f) {
			places[i] = int32(len(sound))
			sound = append(sound, int32(i))
			m.Files = append(m.Files, measuredFile(f))
		}
	}
	for _, f := range j.tl.LastAttempts() {
		if j.endedWell(f) || f.Supervised && wasInterrupted(f) {
			continue
		}
		m.Failed = append(m.Failed, measuredFile(f))
	}
	for _, l := range slices.Concat(j.lanes, j.sampled) {
		add := func(name, unit string, c *column, higherIsBetter bool) {
			if at, values := c.measured(places, len(sound)); len(values) > 0 {
				m.Metrics = append(m.Metrics, Metric{
					Name: name, Unit: unit, Rank: l.id.Rank, Device: l.id.Device, HigherIsBetter: higherIsBetter,
					Resolution: c.resolution, Places: at, Values: values,
				})
			}
		}
		for i := range Ledgers {
			if of := &Ledgers[i]; of.shared == nil || !of.shared(l) {
				add(of.Name, of.Unit, j.levelsOf(l, of), false)
			}
		}
		add("peak", Bytes, &l.peaks, false)
		if l.level != record.Reserved { // else the metric peak already holds it
			add(PeakReserved, Bytes, &l.reserves, false)
		}
		for _, p := range l.stagePeaks {
			add("peak of "+p.name, Bytes, &p.peak, false)
		}
		for _, s := range l.sums {
			add("recovery of "+s.name, Ratio, &s.shares, true)
		}
		if l.isSampled() && !l.deviceIsShared() {
			add("recovery of "+DeviceUsed, Ratio, &l.device.shares, true)
		}
	}
	for i := range Ledgers {
		if of := &Ledgers[i]; of.Machine && j.held != nil {
			c := j.held.column(of.resource)
			if at, values := c.measured(places, len(sound)); len(values) > 0 {
				m.Metrics = append(m.Metrics, Metric{
					Name: of.Name, Unit: of.Unit, Places: at, Values: values,
				})
			}
		}
	}
	if speed, ok := j.speed(sound); ok {
		m.Metrics = append(m.Metrics, speed)
	}
	return m
}

func measuredFile(f *timeline.File) MeasuredFile {
	return MeasuredFile{
		Path: f.Path, Index: f.Index, AudioSeconds: f.AudioSeconds, Process: f.Process,
	}
}

// valueMax is the largest value of a metric, as the parser limits bytes. The squares of larger
// values could overflow.
const valueMax = 1 << 62

// speed returns the seconds of audio that were processed in a second, if the log has the lengths of
// all files. Otherwise it returns the seconds that each file took. The parameter sound holds the
// indices of the files that ended well. ok is false if no such file has a duration.
func (j *Judge) speed(sound []int32) (speed Metric, ok bool) {
	timed, withAudio := 0, 0
	for _, i := range sound {
		if f := j.tl.Files[i]; f.Seconds > 0 {
			timed++
			if f.AudioSeconds > 0 {
				withAudio++
			}
		}
	}
	speed = Metric{Name: "seconds a file", Unit: Seconds, Values: make(Values, len(sound))}
	byAudio := withAudio == timed
	if byAudio {
		speed.Name, speed.Unit, speed.HigherIsBetter = "throughput", TimesRealTime, true
	}
	for n, i := range sound {
		f := j.tl.Files[i]
		speed.Values[n] = math.NaN()
		v := f.Seconds
		if byAudio {
			v = f.AudioSeconds / f.Seconds
		}
		if f.Seconds > 0 && v <= valueMax {
			speed.Values[n] = v
		}
	}
	return speed, timed > 0
}
