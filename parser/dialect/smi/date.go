package smi

import (
	"bytes"
	"strconv"
	"time"

	"vramsoak/parser/record"
)

// An smiDate is the time above a table.
type smiDate struct {
	t     time.Time
	local bool
}

// setTime sets the time of a reading that has no time yet.
func (d smiDate) setTime(c *record.Checkpoint) {
	if c.Time.IsZero() {
		c.Time, c.Local = d.t, d.local
	}
}

// findDate finds a time as C's asctime and date(1) print it:
//
//	Sun Jan 25 17:25:39 2026
//	Sun Jan 25 17:25:39 UTC 2026
func findDate(b []byte) smiDate {
	for i := 0; i+24 <= len(b); i++ {
		if b[i+3] != ' ' || b[i+7] != ' ' || b[i+13] != ':' || b[i+16] != ':' || b[i+19] != ' ' {
			continue
		}
		if t, err := time.Parse(time.ANSIC, string(b[i:i+24])); err == nil {
			return smiDate{t, true}
		}
		zone, year, _ := bytes.Cut(b[i+20:], []byte{' '})
		if len(zone) > 5 || len(year) < 4 {
			continue
		}
		if n, err := strconv.Atoi(string(year[:4])); err == nil && n > 1970 {
			t, err := time.Parse(time.ANSIC, string(b[i:i+20])+string(year[:4]))
			if err == nil {
				return smiDate{t, string(zone) != "UTC" && string(zone) != "GMT"}
			}
		}
	}
	return smiDate{}
}
