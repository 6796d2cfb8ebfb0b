package check

import (
	"fmt"
	"slices"
	"time"

	"vramsoak/harness/shape"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// maxBlur limits how far the driver's samples before and after a file's last checkpoint may differ.
// The limit is maxBlur times the growth per file that the policy allows. If they differ by more,
// the device memory at the checkpoint is too uncertain, and the file gets no value.
const maxBlur = 4

// darkSamples holds the dark memory (device used minus reserved) at the end of each file, computed
// from samples of the driver. It is used for logs whose checkpoints do not print the memory used on
// the device.
type darkSamples struct {
	ends   []darkEnd
	levels column
	known  int // number of files in runs that have samples
	// blurred is the number of files at whose end the samples differ too much: see maxBlur.
	blurred int
	// wholeDevice is set if the samples count the memory of all processes on the device.
	wholeDevice bool
}

// A darkEnd is the last checkpoint of a file, which prints reserved memory but not the memory used
// on the device.
type darkEnd struct {
	file     *timeline.File
	n        int32
	line     int
	time     time.Time
	reserved record.Size
}

// noteDark records the file's last checkpoint if samples can supply the memory used on the device
// at that time. Only logs of the harness have samples.
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

// darkLevels returns the dark memory that checkpoints print or, if none prints it, that samples
// give.
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

// readDarkSamples computes the dark memory from samples, for each device and rank whose checkpoints
// do not give it.
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

// explainDark adds to the finding for how many files samples of the driver gave the memory used on
// the device.
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

// darkNote returns a note on how large the dark memory is, because the finding says only how much
// it grows.
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
