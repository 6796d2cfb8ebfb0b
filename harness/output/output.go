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

// Options hold the log and the batch of a [Stream], and how the stream finds the beginning and the
// end of files.
type Options struct {
	Journal  *journal.Journal
	Batch    *queue.Batch
	Dialects *parser.Set
	Logger   *slog.Logger

	// FilePerProcess is set if each process works on one file: the file begins and ends with the
	// process. Otherwise the pipeline's lines show where files begin and end.
	FilePerProcess bool
	// OwnFiles is set if the pipeline finds its files by itself. The stream adds each file to the
	// batch when it begins.
	OwnFiles bool
	// SoakOver reports whether the time to soak is over, so that no further file may begin; nil if the
	// run has no such time.
	SoakOver func(now time.Time) bool
	// OnReading is called with the reading of each checkpoint; it may be nil.
	OnReading func(*record.Reading, record.Lane)
}

// A Stream reads the output of the processes of a run, one process after the other.
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

// Take writes a chunk of the process's output to the log. It holds back a line at the end of the
// chunk that has no newline yet.
func (s *Stream) Take(chunk []byte) {
	for p := range s.lines.cut(chunk) {
		s.pass(p)
	}
}

// Rest writes the last line of a process that ended without a newline, and adds the newline.
func (s *Stream) Rest() {
	rest := s.lines.rest()
	s.before(rest.text)
	s.write(rest.text)
	s.opts.Journal.EndLine()
	s.after()
}

// pass writes a piece to the log, with the harness's lines that belong before and after it.
func (s *Stream) pass(p piece) {
	if !p.parse {
		s.write(p.text)
		return
	}
	s.before(p.text)
	s.write(p.text)
	s.after()
}

// before parses a line of the pipeline and writes the harness's lines that belong before it.
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

// after ends the file that the line ended, once the line is written.
func (s *Stream) after() {
	file := s.active
	if s.applyEnds(time.Now()); s.active != file {
		s.Tail.end()
	}
}

var segmentsPrefix = []byte(record.SegmentsPrefix)

func (s *Stream) write(text []byte) {
	// The tail leaves out maps of segments: they do not say why a process ended, and one map would
	// fill the whole tail.
	if !bytes.HasPrefix(text, segmentsPrefix) {
		s.Tail.add(text)
	}
	s.opts.Journal.Pass(text)
}
