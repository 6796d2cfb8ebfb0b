package record

import (
	"fmt"
	"strings"
	"time"
)

// A Position is the position of a line in a log. Path is the name of the log. Line counts the
// lines from 1; each '\n' ends a line.
type Position struct {
	Path string `json:"path"`
	Line int    `json:"line"`
}

func (p Position) String() string { return fmt.Sprintf("%s:%d", p.Path, p.Line) }

// A Record is one thing that a log says. Its type is [Checkpoint], [Change], [Event], [Warning],
// [OutOfMemory], [Crash], [RunStart], [FileStart], [FileEnd], [Sample], [Exit], [Orphan], [Idle],
// [Holder], [Holding], [Limits], [Leftover], [Resume], [EarlyEnd], [RunEnd], [Quoted], [SegmentMap]
// or [SyntaxError]. Callers may keep records: the parser does not change them later.
type Record interface {
	// At returns the line that the record was read from.
	At() Position
	// When returns the time that the line gives, or the zero time if it gives none.
	When() time.Time
	// Head returns the record's header.
	Head() Header
	// Moved returns a copy of the record whose line number is larger by the given number of
	// lines.
	Moved(lines int) Record
}

// Header holds what every record has, such as the position of its line and the time that the line
// gives.
type Header struct {
	Pos  Position
	Time time.Time
	// Local is set if the line gives a time without a zone. Time then has the same digits, in UTC.
	Local bool
	// Dateless is set if the line gives only a time of day. Time is then on January 1 of the year
	// 0. Yearless is set if the line gives a date without a year. Time is then in the year 0. The
	// Builder of a timeline counts days and years from this date, so that times do not go back at
	// midnight.
	Dateless, Yearless bool
	// Outer is set if the time precedes the line in the form in which containers and CI put it there.
	// A log may have been wrapped so long after it was written.
	Outer bool
	// Dialect is the name of the log format that the line is written in, such as "transcription".
	Dialect string
	// Writer names the process that printed the line, as a container, a launcher or a logger gives
	// it: "pod/whisper-3/main", "rank 3". It is "" if the line names no process.
	Writer string
}

// FormatTime returns the time with as much detail as the line gives, to the millisecond. It
// returns "" if the line gives no time. The format is RFC 3339, but without a zone if the line
// has none: "2026-11-20T02:00:03.123". A time without a year is "--11-20T02:00:03.123" (ISO
// 8601:2000), a time without a date is "02:00:03.123".
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

// A SyntaxError is a line that looks like a record and cannot be read. It is a record too, so
// that reading can go on with the next line.
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

// TornAdvice is the advice for a record that was cut off, or into which another process wrote.
const TornAdvice = "what cannot be read is left out; " +
	"if two writers share the log, give each its own or write whole lines"
