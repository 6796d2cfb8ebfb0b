package check

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// notes are what a reader of the report should know beside the findings.
func (j *Judge) notes() []string {
	var notes []string
	for _, l := range j.ledgers {
		if note := j.darkNote(l); note != "" {
			notes = append(notes, note)
		}
	}
	notes = append(append(notes, otherNotes(j.tl)...), j.attemptNotes()...)
	switch n := j.tl.Quoted; n {
	case 0:
	case 1:
		notes = append(notes, fmt.Sprintf("1 line in the harness's name was printed by the pipeline and "+
			"ignored: %s", j.tl.FirstQuoted))
	default:
		notes = append(notes, fmt.Sprintf("%d lines in the harness's name were printed by the pipeline and "+
			"ignored, first %s", n, j.tl.FirstQuoted))
	}
	return notes
}

// darkNote says how large dark memory is: the finding is on how it grows.
func (j *Judge) darkNote(l *ledger) string {
	c := l.darkness().values()
	var values []float64
	for i, n := range c.files {
		if j.sound(j.tl.Files[n]) {
			values = append(values, c.values[i])
		}
	}
	if len(values) == 0 {
		return ""
	}
	amount := func(v float64) string { return record.FormatBytes(int64(math.Round(v))) }
	s := fmt.Sprintf("%s (device used - reserved) when a file ends: %s (median of %s), %s at most", j.subject(DarkMemory, l.lane),
		amount(Median(values)), Plural(len(values), "file"), amount(slices.Max(values)))
	if !l.darkness().ours() {
		s += "; device used is of the whole device there, and other processes' memory is in it"
	}
	return s
}

// otherNotes tell of other processes' memory on the devices of the run, which is never counted as the pipeline's.
func otherNotes(tl *timeline.Timeline) []string {
	type key struct{ run, device int }
	type others struct {
		low, high int64
		at        *record.Sample // where it was highest
	}
	all := map[key]*others{}
	for i := range tl.Samples {
		s := &tl.Samples[i]
		if s.Source != record.SourceProcess || s.DeviceUsed == 0 { // an older log does not say
			continue
		}
		o := all[key{s.Run, s.Lane.Device}]
		if o == nil {
			o = &others{low: s.Others}
			all[key{s.Run, s.Lane.Device}] = o
		}
		o.low = min(o.low, s.Others)
		if s.Others > o.high {
			o.high, o.at = s.Others, s
		}
	}
	var notes []string
	keys := slices.SortedFunc(maps.Keys(all), func(a, b key) int { return cmp.Or(a.run-b.run, a.device-b.device) })
	for _, k := range keys {
		o := all[k]
		switch o.high {
		case 0:
		case o.low:
			notes = append(notes, fmt.Sprintf("other processes held %s of device %d all the while; it is not counted as the pipeline's",
				record.FormatBytes(o.high), k.device))
		default:
			notes = append(notes, fmt.Sprintf("other processes' use of device %d changed while the run went on: %s to %s, the most at %s "+
				"(%s); it is not counted as the pipeline's", k.device, record.FormatBytes(o.low), record.FormatBytes(o.high),
				o.at.FormatTime(), o.at.Pos))
		}
	}
	return notes
}
