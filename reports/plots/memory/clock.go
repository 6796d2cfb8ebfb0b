package memory

import (
	"cmp"
	"slices"
	"time"

	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
	"vramsoak/reports/wording"
)

// A clock converts each line of a log to a position on the x axis. If the log has times, this is
// the number of seconds since its start, else the number of the checkpoint.
type clock struct {
	timed bool
	alike bool          // the log has a single time, so the axis counts checkpoints
	cut   time.Duration // the time between the runs of a resumed batch, which the axis leaves out
	at    map[record.Position]float64
	end   float64 // the last position
}

// A moment is a line that may have a time.
type moment struct {
	pos        record.Position
	time       time.Time // zero if the log gives none
	checkpoint bool
	run        bool // the first line of a later run
}

// makeClock reads the times of a log. A line without a time gets the time of the line before. In a
// supervised run every line has a time, because the timeline takes it from the harness. The
// parameter kept is as in [makeChart].
func makeClock(tl *timeline.Timeline, kept *places) clock {
	moments := momentsOf(tl)
	oneCalendar(moments)
	c := clock{at: make(map[record.Position]float64, len(moments))}
	var base time.Time
	known := 0
	for _, m := range moments {
		if m.time.IsZero() {
			continue
		}
		known++
		if base.IsZero() || m.time.Before(base) {
			base = m.time
		}
	}
	if known >= 2 {
		c.byTime(moments, base)
	}
	if c.end > 0 {
		c.timed = true
		return c
	}
	c.alike = known > 0
	n := 0
	for _, m := range moments {
		if m.checkpoint {
			n++
			if kept != nil {
				n = kept.number[m.pos]
			}
			c.at[m.pos] = float64(n)
		} else {
			c.at[m.pos] = float64(n) + 0.5
		}
	}
	if kept != nil {
		n = tl.Checkpoints
	}
	c.end = float64(max(1, n))
	return c
}

// oneCalendar clears the times that cannot be compared with the others. In a log with dates, it
// clears the times without a date. If one log has dates and another log has none, it clears all
// times.
func oneCalendar(moments []moment) {
	dated := map[string]bool{} // by log, for logs that have times
	for _, m := range moments {
		if !m.time.IsZero() {
			dated[m.pos.Path] = dated[m.pos.Path] || wording.HasDate(m.time)
		}
	}
	some, all := false, true
	for _, is := range dated {
		some, all = some || is, all && is
	}
	if !some {
		return
	}
	for i := range moments {
		if m := &moments[i]; !all || !wording.HasDate(m.time) {
			m.time = time.Time{}
		}
	}
}

// momentsOf returns the lines of a timeline in the order of the log.
func momentsOf(tl *timeline.Timeline) []moment {
	out := make([]moment, 0, len(tl.Samples)+2*len(tl.Files))
	paths := map[string]int{}
	add := func(m moment) {
		if _, known := paths[m.pos.Path]; !known {
			paths[m.pos.Path] = len(paths)
		}
		out = append(out, m)
	}
	for _, c := range tl.All() {
		add(moment{pos: c.Pos, time: c.Time, checkpoint: true})
	}
	for i := range tl.Samples {
		s := &tl.Samples[i]
		add(moment{pos: s.Pos, time: s.Time})
	}
	for i, r := range tl.Runs {
		add(moment{pos: r.Start.Pos, time: r.Start.Time, run: i > 0 && r.Batch == r.Number})
		if r.End != nil {
			add(moment{pos: r.End.Pos, time: r.End.Time})
		}
	}
	for i := range tl.Files {
		f := tl.Files[i]
		add(moment{pos: f.Pos, time: f.Start})
		add(moment{pos: f.EndPos, time: f.End})
	}
	for f := range tl.InOrder() {
		for _, o := range f.OOMs {
			add(moment{pos: o.Pos, time: o.Time})
		}
	}
	slices.SortStableFunc(out, func(a, b moment) int {
		return cmp.Or(cmp.Compare(paths[a.pos.Path], paths[b.pos.Path]),
			cmp.Compare(a.pos.Line, b.pos.Line))
	})
	n := 0
	for _, m := range out {
		if n > 0 && out[n-1].pos == m.pos {
			out[n-1].checkpoint = out[n-1].checkpoint || m.checkpoint
			continue
		}
		out[n] = m
		n++
	}
	return out[:n]
}

// byTime sets the position of each moment by its time. It leaves out the time between two runs.
func (c *clock) byTime(moments []moment, base time.Time) {
	var last time.Duration // the latest time in the log so far
	var x float64
	for _, m := range moments {
		if !m.time.IsZero() {
			since := m.time.Sub(base)
			if m.run && since > last {
				c.cut += since - last
			}
			last = max(last, since)
			x = max(0, (since - c.cut).Seconds())
		}
		c.at[m.pos] = x
		c.end = max(c.end, x)
	}
}
