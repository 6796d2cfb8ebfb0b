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

// Options holds the log and the batch of a [Stream], and says how the stream finds where files
// begin and end.
type Options struct {
	Journal  *journal.Journal
	Batch    *queue.Batch
	Dialects *parser.Set
	Logger   *slog.Logger

	// FilePerProcess is set if each process works on one file: the file begins and ends with its
	// process. If it is not set, the pipeline's lines show where files begin and end.
	FilePerProcess bool
	// OwnFiles is set if the pipeline finds its files by itself. The batch is then empty at first, and
	// the stream adds each file when the file begins.
	OwnFiles bool
	// SoakOver reports whether the time to soak is over, so that no further file may begin. It is nil
	// if the run has no time limit.
	SoakOver func(now time.Time) bool
	// OnReading is called for each checkpoint, with its reading, its device and its rank; it may be
	// nil.
	OnReading func(*record.Reading, record.Lane)
	// OnEnd is called when a file has ended, with the record that the log gets; it may be nil.
	OnEnd func(record.FileEnd)
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

// NextProcess prepares the stream for the next process, which gets the files with the indices
// given.
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

// Rest writes the last line of a process that has ended. If the newline is missing at its end, Rest
// adds it.
func (s *Stream) Rest() {
	rest := s.lines.rest()
	s.before(rest.text)
	s.write(rest.text)
	s.opts.Journal.EndLine()
	s.after()
}

// pass writes a piece of output to the log, with the harness's lines that belong before and after
// it.
func (s *Stream) pass(p piece) {
	if !p.parse {
		s.write(p.text)
		return
	}
	s.before(p.text)
	s.write(p.text)
	s.after()
}

// before parses a line of the pipeline, and writes the harness's lines that belong before it: a
// file-start line if the line begins a file.
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

// after writes the harness's file-end line if the line of the pipeline that was just written ends a
// file.
func (s *Stream) after() {
	file := s.active
	if s.applyEnds(time.Now()); s.active != file {
		s.Tail.end()
	}
}

var segmentsPrefix = []byte(record.SegmentsPrefix)

func (s *Stream) write(text []byte) {
	// The tail leaves out lines that map the allocator's segments: they do not say why a process
	// ended, and one of them would fill the whole tail.
	if !bytes.HasPrefix(text, segmentsPrefix) {
		s.Tail.add(text)
	}
	s.opts.Journal.Pass(text)
}
