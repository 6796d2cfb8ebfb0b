package output

import (
	"bytes"
	"log/slog"
	"time"

	"vramsoak/harness/journal"
	"vramsoak/harness/queue"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

// Options say what a [Stream] reads, and where it writes.
type Options struct {
	Journal  *journal.Journal
	Batch    *queue.Batch
	Dialects *parser.Set
	Logger   *slog.Logger

	// FilePerProcess says that a process works on one file, which begins and ends with it. Else
	// files begin and end where the pipeline's lines show it.
	FilePerProcess bool
	// OwnFiles says that the pipeline knows its files by itself. They are added to the batch when
	// they begin.
	OwnFiles bool
	// SoakOver reports whether no further file may begin; nil if there is no such time.
	SoakOver func(now time.Time) bool
	// OnReading is called with the reading of each checkpoint; it may be nil.
	OnReading func(*record.Reading, record.Lane)
}

// A Stream reads what the processes of a run print, one process after the other.
type Stream struct {
	*Tracker
	Tail  Tail
	lines lines
	opts  Options
}

// NewStream returns the stream of a run.
func NewStream(opts Options) *Stream {
	return &Stream{Tracker: newTracker(opts), lines: lines{dialects: opts.Dialects}, opts: opts}
}

// NextProcess prepares for a process that gets these files.
func (s *Stream) NextProcess(given []int, now time.Time) {
	s.Tail.reset()
	s.nextProcess(given, now)
	if s.opts.FilePerProcess {
		s.begin(given[0], queue.Input{}, now)
	}
}

// Take passes on a chunk of what the process printed, as far as its lines are complete.
func (s *Stream) Take(chunk []byte) {
	for p := range s.lines.cut(chunk) {
		s.pass(p)
	}
}

// Rest passes on the line that the process left unfinished, and ends it.
func (s *Stream) Rest() {
	rest := s.lines.rest()
	s.before(rest.text)
	s.write(rest.text)
	s.opts.Journal.EndLine()
	s.after()
}

// pass writes a piece to the log, between the harness's lines before and after it.
func (s *Stream) pass(p piece) {
	if !p.parse {
		s.write(p.text)
		return
	}
	s.before(p.text)
	s.write(p.text)
	s.after()
}

// before parses a line that is about to be written.
func (s *Stream) before(line []byte) {
	file := s.active
	s.parse(line, time.Now())
	if s.active != file {
		s.Tail.begin()
	}
	if s.read && s.opts.OnReading != nil {
		s.opts.OnReading(&s.Reading, s.lane)
	}
	s.read = false
}

// after ends the file that the line ended.
func (s *Stream) after() {
	file := s.active
	if s.applyEnds(time.Now()); s.active != file {
		s.Tail.end()
	}
}

var segmentsPrefix = []byte(record.SegmentsPrefix)

func (s *Stream) write(text []byte) {
	// A map of segments does not say why a process ended, and is longer than the tail.
	if !bytes.HasPrefix(text, segmentsPrefix) {
		s.Tail.add(text)
	}
	s.opts.Journal.Pass(text)
}
