package check

import (
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
		add(Peak, Bytes, &l.peaks, false)
		if l.level != record.Reserved { // else the metric "peak" already holds it
			add(PeakReserved, Bytes, &l.reserves, false)
		}
		for _, p := range l.stagePeaks {
			add(PeakOf+p.name, Bytes, &p.peak, false)
		}
		for _, s := range l.sums {
			add(RecoveryOf+s.name, Ratio, &s.shares, true)
		}
		if l.isSampled() && !l.deviceIsShared() {
			add(RecoveryOf+DeviceUsed, Ratio, &l.device.shares, true)
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
		speed.Name, speed.Unit, speed.HigherIsBetter = Throughput, TimesRealTime, true
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
