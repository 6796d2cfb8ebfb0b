package export

import (
	"fmt"
	"math"
	"time"

	"vramsoak/parser/record"
	"vramsoak/reports/wording"
)

// A Clock says what the times of an export are.
type Clock int

// The clocks. All logs of one export have the same.
const (
	// NoEvents is the clock of an export without events.
	NoEvents Clock = iota
	// Dated times are nanoseconds since 1970. A time without a zone counts as UTC.
	Dated
	// Undated times are nanoseconds since the beginning of the year 0: the log gives no date, or no
	// year, and its days are counted.
	Undated
	// Lines stand in for the times of a log that has none: line 1,234 is at 1.234 seconds.
	Lines
)

// LineNanos is the time from one line to the next, if the clock is [Lines].
const LineNanos = int64(time.Millisecond)

func (c Clock) String() string {
	switch c {
	case Dated:
		return "the times of the log"
	case Undated:
		return "the times of the log, which have no date"
	case Lines:
		return "the log has no times: line 1,234 is at 1.234 s"
	}
	return "nothing"
}

// yearZero is where a timeline begins to count the days of a log without dates.
var yearZero = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)

// read returns a time in nanoseconds, and its clock. The clock is NoEvents if there is no time, or
// none that fits into 64 bits.
func read(t time.Time) (nanos int64, clock Clock) {
	switch {
	case t.IsZero():
		return 0, NoEvents
	case !wording.HasDate(t):
		since := t.Sub(yearZero)
		if since < 0 || since == math.MaxInt64 {
			return 0, NoEvents
		}
		return int64(since), Undated
	case t.Year() > 2261: // 64 bits end in 2262
		return 0, NoEvents
	}
	return t.UnixNano(), Dated
}

// A moment is a line of a log, and the time that it gives.
type moment struct {
	pos  record.Position
	time time.Time
}

// clocks sets the times of events. The first event of a log that has a time decides which clock the
// log has. Until then its events wait.
type clocks struct {
	emit  func(Event)
	kind  Clock
	named string // the log whose clock is kind
	logs  map[string]*logClock
	now   *logClock // of the log that is being read
	err   error
}

// A logClock is the clock of one log.
type logClock struct {
	name        string
	known       bool
	first, last int64
	waiting     []waiting
}

type waiting struct {
	at moment
	Event
}

// maxWaiting is how many events may wait for the first time of their log. A log with so many events
// and no time is taken for a log without times.
const maxWaiting = 1 << 13

// add emits an event at a moment of a log.
func (c *clocks) add(at moment, e Event) {
	l := c.now
	if l == nil || l.name != at.pos.Path {
		c.settle()
		if l = c.logs[at.pos.Path]; l == nil {
			l = &logClock{name: at.pos.Path}
			c.logs[l.name] = l
		}
		c.now = l
	}
	e.Log = l.name
	if l.known {
		c.send(l, at, e)
		return
	}
	l.waiting = append(l.waiting, waiting{at, e})
	if nanos, kind := read(at.time); kind != NoEvents {
		l.first, l.last = nanos, nanos
		c.decide(l, kind)
	} else if len(l.waiting) == maxWaiting {
		c.decide(l, Lines)
	}
}

// settle ends the wait of the log that was read last.
func (c *clocks) settle() {
	if l := c.now; l != nil && !l.known && len(l.waiting) > 0 {
		c.decide(l, Lines)
	}
}

// rewind makes events without a time get the first time of their log, instead of its last one.
func (c *clocks) rewind() {
	c.settle()
	for _, l := range c.logs {
		l.last = l.first
	}
}

// decide sets the clock of a log, and emits the events that wait for it.
func (c *clocks) decide(l *logClock, kind Clock) {
	l.known = true
	if c.kind == NoEvents {
		c.kind, c.named = kind, l.name
	}
	if c.kind != kind && c.err == nil {
		c.err = fmt.Errorf("%s and %s cannot share a time axis (%s: %s; %s: %s); export them into "+
			"two files", c.named, l.name, c.named, c.kind, l.name, kind)
	}
	for _, w := range l.waiting {
		c.send(l, w.at, w.Event)
	}
	l.waiting = nil
}

// send emits an event. If its line gives no time, it gets that of the line before.
func (c *clocks) send(l *logClock, at moment, e Event) {
	e.Clock = c.kind
	if c.kind == Lines {
		e.Nanos = int64(at.pos.Line) * LineNanos
	} else {
		if nanos, kind := read(at.time); kind == c.kind {
			l.last = nanos
		}
		e.Nanos = l.last
	}
	c.emit(e)
}
