package check

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// Measurements are what a run measured, file by file. Drift is judged from them, and runs are
// compared by them.
type Measurements struct {
	Files []MeasuredFile `json:"files"`
	// Failed are the files whose last attempt did not end well. A file that an interruption of the
	// harness cut short is not among them.
	Failed  []MeasuredFile `json:"failed,omitempty"`
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
	// Name is "idle level", "reserved - allocated", "dark memory", "peak", "peak reserved",
	// "peak of Transcription", "recovery of Whisper Cleanup", "throughput" or "seconds a file".
	Name   string `json:"name"`
	Unit   string `json:"unit"` // Bytes, Ratio, TimesRealTime or Seconds
	Rank   int    `json:"rank,omitempty"`
	Device int    `json:"device,omitempty"`
	// HigherIsBetter is set for recovery and throughput.
	HigherIsBetter bool `json:"higher_is_better,omitempty"`
	// Resolution is half the last digit that any of the values was printed with, in Unit; 0 where
	// they are exact.
	Resolution float64 `json:"resolution,omitempty"`
	// Places are the files that have a value, by their place in [Measurements.Files], from 0 and
	// rising. It is nil where Values has one a file. See [sparseShare].
	Places []int32 `json:"places,omitempty"`
	// Values has one a file, or one for each of Places; NaN where the file has none, in JSON null.
	Values Values `json:"values"`
}

// sparseShare says when Values has one value a file: if at least 1 in so many files has the
// metric. Otherwise a batch of 5,000 files on 5,000 devices would take 25 million values, nearly
// all of them missing.
const sparseShare = 16

// All yields the values that are there, each with the place of its file in [Measurements.Files].
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

// Fits reports whether the values are those of so many files: one a file, or one for each of
// Places, which rise.
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

// Dense returns the metric with a value for each of so many files, without Places.
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

// Names of metrics.
const (
	IdleLevel     = "idle level"           // at a file's last checkpoint
	UnusedReserve = "reserved - allocated" // there
	PeakReserved  = "peak reserved"        // the largest in the file
	DarkMemory    = "dark memory"          // there: device used - reserved
)

// NeverUsed is the subject of findings on the part of a process's largest reserve that was never
// handed out.
const NeverUsed = "reserve never used"

// Units of metrics, beside Ratio.
const (
	Bytes         = "bytes"
	Seconds       = "seconds"
	TimesRealTime = "x real time" // seconds of audio in a second
)

// Values are numbers. A missing one is NaN, in JSON null.
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

// measure returns what the run measured, file by file, in the files that ended well.
func (j *Judge) measure() *Measurements {
	m := &Measurements{}
	var sound []int32
	places := make([]int32, len(j.tl.Files)) // in m.Files, -1 for a file that is not there
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
	for _, l := range j.lanes {
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
		if l.level != record.Reserved { // else that is the peak already
			add(PeakReserved, Bytes, &l.reserves, false)
		}
		for _, p := range l.stagePeaks {
			add("peak of "+p.name, Bytes, &p.peak, false)
		}
		for _, s := range l.sums {
			add("recovery of "+s.name, Ratio, &s.shares, true)
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

// valueMax bounds the values of metrics, as the parser bounds bytes: the squares of absurd
// lengths and times would overflow.
const valueMax = 1 << 62

// speed returns audio seconds in a second where the log has the lengths of the files, else
// seconds a file.
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
