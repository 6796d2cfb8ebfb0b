package check

import (
	"fmt"
	"slices"
	"time"

	"vramsoak/harness/shape"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// maxBlur says when the driver's samples around a file's end differ too much to tell the level
// there: by more than this many times the growth that a file is allowed. Memory was on the move,
// and the level between the samples is not known.
const maxBlur = 4

// darkSamples holds the dark memory at the end of each file. It comes from samples of the driver,
// for logs whose checkpoints do not have device used.
type darkSamples struct {
	ends   []darkEnd
	levels column
	known  int // ends that are in a run with samples
	// blurred are ends around which the samples differ too much.
	blurred int
	// wholeDevice says that a sample is of all processes on the device.
	wholeDevice bool
}

// A darkEnd is a file's last checkpoint, if it has reserved and not device used.
type darkEnd struct {
	file     *timeline.File
	n        int32
	line     int
	time     time.Time
	reserved record.Size
}

// noteDark notes the file's last checkpoint where samples may tell the device used there. Only a
// log of the harness has samples.
func (l *lane) noteDark(f *timeline.File, n int32) {
	c := l.last
	reserved, ok := c.Get(record.Reserved)
	if !ok || !f.Supervised || c.Has(record.Used) || len(l.column(DarkMemory).files) > 0 {
		return
	}
	if l.dark == nil {
		l.dark = &darkSamples{}
	}
	l.dark.ends = append(room(l.dark.ends), darkEnd{f, n, c.Pos.Line, c.Time, reserved})
}

// darkLevels returns the dark memory that the checkpoints tell or, where they tell none, the
// samples.
func darkLevels(_ *Judge, l *lane) *column {
	if c := l.column(DarkMemory); len(c.files) > 0 || l.dark == nil {
		return c
	}
	return &l.dark.levels
}

// darkIsShared reports whether dark memory includes the memory of other processes.
func (l *lane) darkIsShared() bool {
	return l.dark != nil && l.dark.wholeDevice && len(l.column(DarkMemory).files) == 0
}

// readDarkSamples finds the dark memory of each lane whose checkpoints do not tell it.
func (j *Judge) readDarkSamples(driver *timeline.DriverLedgers) {
	maxResolution := int64(maxBlur * j.policy.MaxGrowth[DarkMemory] / 2)
	for _, l := range j.lanes {
		d := l.dark
		if d == nil {
			continue
		}
		*d = darkSamples{ends: d.ends}
		if len(l.column(DarkMemory).files) > 0 {
			continue
		}
		for _, e := range d.ends {
			samples := driver.OfLane(e.file.Run, l.id)
			if samples == nil {
				continue
			}
			d.known++
			used, ok := samples.At(record.Header{Pos: record.Position{Line: e.line}, Time: e.time})
			switch {
			case !ok:
			case used.Resolution > maxResolution:
				d.blurred++
			default:
				d.levels.add(e.n, float64(used.Bytes-e.reserved.Bytes),
					float64(used.Resolution+e.reserved.Resolution))
				d.wholeDevice = d.wholeDevice || samples.Source == record.SourceDevice
			}
		}
	}
}

// explainDark adds how many files the samples tell dark memory of.
func (j *Judge) explainDark(l *lane, w *worstProcess) {
	d, f := l.dark, &w.finding
	if d == nil || d.known == 0 {
		return
	}
	known := fmt.Sprintf("device used comes from the driver's samples near the checkpoints, "+
		"which give it at the end of %d of %s", len(d.levels.files), Plural(d.known, "file"))
	if d.blurred > 0 {
		known += fmt.Sprintf(" (at %d it moved by more than %s)", d.blurred,
			Quantity(maxBlur*j.policy.MaxGrowth[DarkMemory], Bytes))
	}
	switch {
	case len(d.levels.files) == 0 && f.Verdict == Skipped:
		f.Message = known + "; print used= at a file's last checkpoint"
	case f.Verdict == Skipped:
		f.Message += "; " + known + "; print used= there"
	default:
		f.Message += "; " + known
	}
}

// darkNote says how large dark memory is: the finding says only how it grows.
func (j *Judge) darkNote(l *lane) string {
	c := darkLevels(j, l)
	var values []float64
	for i, n := range c.files {
		if j.endedWell(j.tl.Files[n]) {
			values = append(values, c.values[i])
		}
	}
	if len(values) == 0 {
		return ""
	}
	s := fmt.Sprintf("%s (device used - reserved) when a file ends: %s (median of %s), %s at most",
		j.subject(DarkMemory, l.id), Quantity(shape.Median(values), Bytes),
		Plural(len(values), "file"), Quantity(slices.Max(values), Bytes))
	if l.darkIsShared() {
		s += "; device used counts the whole device there, so the memory of other processes is in it"
	}
	return s
}
