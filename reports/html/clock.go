package html

import (
	"cmp"
	"slices"
	"time"

	"vramsoak/parser/timeline"
)

// A clock places the lines of one log on the x axis. If the log has times, x is in ms since the
// first of them. Otherwise x is the number of the checkpoint times 1000, on the track that has the
// most of them.
type clock struct {
	timed  bool
	origin int64 // Unix time of x = 0 in ms, if timed and if the log gives dates
	lines  []int // in rising order
	x      []int64
	end    int64
	cut    int64 // ms between the parts of a resumed run, which the axis leaves out
}

// A moment is a line of a log that has a place on the x axis.
type moment struct {
	line int
	time int64 // Unix time in ms, or missing
	// resumed is set for the first line after an interruption. The axis leaves out the time before it.
	resumed bool
	// counts is set for the checkpoints that the axis counts if the log has no times.
	counts bool
	number int
}

// backMax is by how many ms a time may be earlier than the one before it without being a clock that
// was set back: several processes write into one log.
const backMax = 2000

// makeClock returns the clock of one log.
func makeClock(moments []moment) clock {
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.line, b.line) })
	oneCalendar(moments)
	c := clock{}
	known := 0
	for _, m := range moments {
		if m.time != missing {
			if known == 0 {
				c.origin = m.time
			}
			known++
		}
	}
	c.timed = known >= 2 && c.place(moments)
	if !c.timed {
		c.count(moments)
	}
	if c.origin < dated || !c.timed {
		c.origin = 0
	}
	return c
}

// dated is the least Unix time in ms that counts as a date. A log without dates counts its days
// from the year 0.
var dated = time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC).UnixMilli()

// oneCalendar removes the times without a date if other times have one, because they cannot be
// compared.
func oneCalendar(moments []moment) {
	if !slices.ContainsFunc(moments, func(m moment) bool { return m.time >= dated }) {
		return
	}
	for i := range moments {
		if moments[i].time < dated {
			moments[i].time = missing
		}
	}
}

// place sets x by the times. A line without a time gets the x of the line before. If a clock is set
// back, the axis goes on. place reports whether any time passed.
func (c *clock) place(moments []moment) bool {
	shift, now := -c.origin, int64(0)
	for _, m := range moments {
		if m.time != missing {
			x := m.time + shift
			switch {
			case x < now-backMax:
				shift += now - x
			case m.resumed && x > now:
				c.cut += x - now
				shift -= x - now
			case x > now:
				now = x
			}
		}
		c.put(m.line, now)
	}
	return c.end > 0
}

// count sets x by the number of checkpoints.
func (c *clock) count(moments []moment) {
	c.lines, c.x, c.end = nil, nil, 0
	now := int64(0)
	for _, m := range moments {
		if m.counts {
			now = int64(m.number) * 1000
			c.put(m.line, now)
		} else {
			c.put(m.line, now+500)
		}
	}
}

func (c *clock) put(line int, x int64) {
	c.end = max(c.end, x)
	if n := len(c.lines); n > 0 && c.lines[n-1] == line {
		return
	}
	c.lines, c.x = append(c.lines, line), append(c.x, x)
}

// at returns the x of a line, which is that of the last line that the clock knows before it.
func (c *clock) at(line int) int64 {
	i, found := slices.BinarySearch(c.lines, line)
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	return c.x[i]
}

// clocks returns the clock of each log of a timeline.
func (c *Collector) clocks(tl *timeline.Timeline) map[string]*clock {
	moments := map[string][]moment{}
	busiest := map[string]*track{}
	for _, t := range c.tracks {
		if b := busiest[t.log]; b == nil || len(t.points) > len(b.points) {
			busiest[t.log] = t
		}
	}
	add := func(log string, m moment) { moments[log] = append(moments[log], m) }
	at := func(t time.Time) int64 {
		if t.IsZero() {
			return missing
		}
		return t.UnixMilli()
	}
	for _, t := range c.tracks {
		for _, p := range t.points {
			add(t.log, moment{line: p.line, time: p.time, counts: busiest[t.log] == t, number: p.number})
		}
	}
	for i := range tl.Samples {
		s := &tl.Samples[i]
		add(s.Pos.Path, moment{line: s.Pos.Line, time: at(s.Time)})
	}
	for f := range tl.InOrder() {
		add(f.Pos.Path, moment{line: f.Pos.Line, time: at(f.Start)})
		add(f.EndPos.Path, moment{line: f.EndPos.Line, time: at(f.End)})
	}
	for i := range tl.Runs {
		r := &tl.Runs[i]
		add(r.Start.Pos.Path, moment{
			line: r.Start.Pos.Line, time: at(r.Start.Time),
			resumed: len(moments[r.Start.Pos.Path]) > 0 && r.Batch == r.Number,
		})
		for k := range r.Resumes {
			again := &r.Resumes[k]
			add(again.Pos.Path, moment{line: again.Pos.Line, time: at(again.Time), resumed: true})
		}
		if r.End != nil {
			add(r.End.Pos.Path, moment{line: r.End.Pos.Line, time: at(r.End.Time)})
		}
	}
	out := make(map[string]*clock, len(moments))
	for log, of := range moments {
		made := makeClock(of)
		out[log] = &made
	}
	return out
}
