package records

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/reports/wording"
)

// Counts holds the numbers of records in a log.
type Counts struct {
	Readings map[string]int // records that give an amount of memory, by dialect
	Events   int            // other records
	Bad      int            // unreadable lines
}

func (c *Counts) add(rec record.Record) {
	switch _, bad := rec.(record.SyntaxError); {
	case bad:
		c.Bad++
	case !IsReading(rec):
		c.Events++
	default:
		if c.Readings == nil {
			c.Readings = map[string]int{}
		}
		c.Readings[rec.Head().Dialect]++
	}
}

// IsReading reports whether a record gives an amount of memory.
func IsReading(rec record.Record) bool {
	switch r := rec.(type) {
	case record.Checkpoint, record.Change, record.OutOfMemory:
		return true
	case record.Sample:
		return r.Len() > 0
	case record.Idle, record.SegmentMap:
		return true
	}
	return false
}

// String returns the counts in one line: "1,140 readings (transcription 1,120, out-of-memory 20),
// 12 events, 3 unreadable lines".
func (c Counts) String() string {
	all := 0
	for _, n := range c.Readings {
		all += n
	}
	s := wording.Plural(all, "reading")
	if all > 0 {
		names := slices.SortedFunc(maps.Keys(c.Readings), func(a, b string) int {
			return cmp.Or(c.Readings[b]-c.Readings[a], cmp.Compare(a, b))
		})
		for i, name := range names {
			names[i] = name + " " + wording.Count(c.Readings[name])
		}
		s += " (" + strings.Join(names, ", ") + ")"
	}
	s += ", " + wording.Plural(c.Events, "event")
	if c.Bad > 0 {
		s += ", " + wording.Plural(c.Bad, "unreadable line")
	}
	return s
}
