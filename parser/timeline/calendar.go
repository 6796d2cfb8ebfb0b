package timeline

import (
	"time"

	"vramsoak/parser/record"
	"vramsoak/parser/stamp"
)

// A calendar completes times without a date or without a year. It counts the days of a log whose
// lines give only the time of day, and the years of a log whose lines give no year. Times may go
// back a little, because two processes write the log or somebody set the clock. A time of day
// that goes back by more than half a day is of the next day. A date that goes back by more than
// half a year is of the next year.
type calendar struct {
	latest  time.Time // the latest time so far, including the counted days or years
	lacks   stamp.Gap // which parts are missing in the most complete times so far
	started bool      // the log had a line with a time
	wraps   int       // days or years counted so far
}

const (
	halfDay  = 12 * time.Hour
	halfYear = 183 * 24 * time.Hour
	// maxLate is how long after midnight a late line of the previous day, or year, may come.
	maxLate = time.Hour
)

// date completes the time of a header: it adds the days or years that were counted. If the first
// line of a log lacks its date or year, its year stays 0.
func (c *calendar) date(h *record.Header) {
	if h.Time.IsZero() {
		return
	}
	lacks := stamp.NoGap
	switch {
	case h.Dateless:
		lacks = stamp.NoDate
	case h.Yearless:
		lacks = stamp.NoYear
	}
	switch {
	case !c.started || lacks < c.lacks:
		*c = calendar{latest: h.Time, lacks: lacks, started: true}
		return
	case lacks > c.lacks:
		h.Time = c.nearest(h.Time, lacks)
		h.Dateless, h.Yearless = false, c.lacks == stamp.NoYear
	case lacks != stamp.NoGap:
		h.Time = c.unwrap(h.Time)
	}
	if h.Time.IsZero() {
		h.Time = h.Time.Add(1) // New Year of the year 1 is Go's zero time, which would mean no time
	}
	if h.Time.After(c.latest) {
		c.latest = h.Time
	}
}

// unwrap returns a time with the counted days or years added. If the result is much earlier than
// the latest time, a new day or year has begun, and unwrap counts it. If the result is much
// later, the line may be a late one of the previous day or year, see maxLate.
func (c *calendar) unwrap(t time.Time) time.Time {
	at := addUnits(t, c.wraps, c.lacks)
	switch {
	case c.latest.Sub(at) > minWrap(c.lacks):
		c.wraps++
		return addUnits(t, c.wraps, c.lacks)
	case c.wraps > 0 && at.Sub(c.latest) > minWrap(c.lacks):
		if before := addUnits(t, c.wraps-1, c.lacks); c.latest.Sub(before) <= maxLate {
			return before
		}
	}
	return at
}

// nearest adds the missing date or year to a time. It chooses the day, or the year, with which the
// time is closest to the latest time.
func (c *calendar) nearest(t time.Time, lacks stamp.Gap) time.Time {
	month, day := t.Month(), t.Day()
	if lacks == stamp.NoDate {
		month, day = c.latest.Month(), c.latest.Day()
	}
	t = time.Date(c.latest.Year(), month, day, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(),
		time.UTC)
	switch {
	case c.latest.Sub(t) > minWrap(lacks):
		return addUnits(t, 1, lacks)
	case t.Sub(c.latest) > minWrap(lacks):
		return addUnits(t, -1, lacks)
	}
	return t
}

// addUnits adds n days to a time without a date, or n years to a time without a year.
func addUnits(t time.Time, n int, lacks stamp.Gap) time.Time {
	if lacks == stamp.NoDate {
		return t.AddDate(0, 0, n)
	}
	return t.AddDate(n, 0, 0)
}

// minWrap returns how far a time must go back to count as one of the next day or the next year.
func minWrap(lacks stamp.Gap) time.Duration {
	if lacks == stamp.NoDate {
		return halfDay
	}
	return halfYear
}
