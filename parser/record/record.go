package record

import (
	"fmt"
	"strings"
	"time"
)

// A Position is a line of a log. Line counts from 1, by '\n'. Path is the name of the log.
type Position struct {
	Path string `json:"path"`
	Line int    `json:"line"`
}

func (p Position) String() string { return fmt.Sprintf("%s:%d", p.Path, p.Line) }

// A Record is one thing that a log says: a [Checkpoint], [Change], [Event], [Warning],
// [OutOfMemory], [Crash], [RunStart], [FileStart], [FileEnd], [Sample], [Exit], [Orphan], [Idle],
// [Holder], [Resume], [RunEnd], [Quoted], [SegmentMap] or [SyntaxError]. Records are values and may
// be kept.
type Record interface {
	// At returns the line that the record was read from.
	At() Position
	// When returns the time that the line gives, or the zero time if it gives none.
	When() time.Time
	// Head returns the record's header.
	Head() Header
	// Moved returns the record with its line number raised by lines.
	Moved(lines int) Record
}

// Header holds what every record has: its line and the time that the line gives.
type Header struct {
	Pos  Position
	Time time.Time
	// Local is set if the line gave a time without a zone. Time then holds its digits as if they were
	// UTC.
	Local bool
	// Dateless is set if the line gave a time of day alone. Time then is on January 1 of the year 0.
	// Yearless is set if the line gave no year. Time then is in the year 0. A timeline's Builder
	// counts the days or years from there on.
	Dateless, Yearless bool
	// Dialect is the name of the log format that the line is written in, such as "transcription".
	Dialect string
}

// FormatTime returns the time as the line gives it, to the millisecond. It is RFC 3339, without a
// zone if the line has none. Without a year it is "--11-20T02:00:03.123" (ISO 8601:2000), without a
// date "02:00:03.123", and "" if the line gives no time.
func (h Header) FormatTime() string {
	if h.Time.IsZero() {
		return ""
	}
	layout := TimeLayout
	switch {
	case h.Dateless:
		layout = TimeLayout[len("2006-01-02T"):]
	case h.Yearless:
		layout = "--" + TimeLayout[len("2006-"):]
	}
	if h.Local {
		layout = strings.TrimSuffix(layout, "Z07:00")
	}
	return h.Time.Format(layout)
}

// At implements [Record].
func (h Header) At() Position { return h.Pos }

// When implements [Record].
func (h Header) When() time.Time { return h.Time }

// Head implements [Record].
func (h Header) Head() Header { return h }

// A SyntaxError is a line that looks like a record and cannot be read. It is itself a record:
// reading goes on after it.
type SyntaxError struct {
	Header
	Expected string // what the line should have
	Found    string // what the line has, shortened
	Advice   string // what to do about it; may be empty
}

// Error returns "path:line: expected X, found "Y"; advice".
func (e SyntaxError) Error() string {
	s := fmt.Sprintf("%s: expected %s, found %q", e.Pos, e.Expected, e.Found)
	if e.Advice != "" {
		s += "; " + e.Advice
	}
	return s
}

// TornAdvice is the advice for a record that was cut off, or that another writer wrote into.
const TornAdvice = "what cannot be read is left out; " +
	"if two writers share the log, give each its own or write whole lines"
