package output

import (
	"slices"
	"strings"
	"time"

	"vramsoak/harness/journal"
	"vramsoak/harness/queue"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// A Tracker finds out which file the pipeline works on, and writes to the log where files begin and
// end.
type Tracker struct {
	opts  Options
	log   *journal.Journal
	batch *queue.Batch

	// NamesFiles and EndsFiles say that the pipeline has printed a file-start line, a file-end
	// line.
	NamesFiles, EndsFiles bool

	// What follows is about the present process.

	given  []int // its files
	split  timeline.Splitter
	active *work // nil between files
	last   int   // the file that ended last
	// since is when the active file began or, between files, the wait for the next one.
	since time.Time
	// stopping says that the process is being ended: no file begins any more. ignoreEnd says that
	// it is ended for time or memory: if its file ends after all, that does not count.
	stopping, ignoreEnd bool
	ends                []record.FileEnd // in the line that is being passed on

	// RanOut says that an allocation failed and that no checkpoint followed.
	RanOut bool
	// Reading is the last checkpoint's.
	Reading record.Reading
	lane    record.Lane
	read    bool // the line that is being passed on is a checkpoint

	LastEnd time.Time // when a file ended last
	// Changed says that there is something new that a person watching wants to see. The caller
	// resets it.
	Changed bool
}

// work is the work on one file.
type work struct {
	index int    // None if the pipeline named a file that it was not given
	path  string // in the log
	name  string // as the pipeline prints it
	audio float64
	began time.Time
	// inferred says that a checkpoint showed the beginning, not a line that names the file.
	inferred bool
	oom      bool // an allocation failed
	// failures is the number of failed allocations that neither work nor a fallback followed.
	failures int
	// fellBack says that a fallback followed the last failed allocation.
	fellBack bool
	said     record.FileEnd // the pipeline's file-end line, if the file ends with the process
}

func newTracker(opts Options) *Tracker {
	return &Tracker{opts: opts, log: opts.Journal, batch: opts.Batch}
}

// nextProcess prepares for a process that gets these files.
func (t *Tracker) nextProcess(given []int, now time.Time) {
	t.given, t.split, t.active, t.since = given, timeline.Splitter{}, nil, now
	t.last, t.stopping, t.ignoreEnd, t.RanOut = queue.None, false, false, false
}

// Between reports whether the process works on no file.
func (t *Tracker) Between() bool { return t.active == nil }

// Path returns the path of the file that the process works on, "" between files.
func (t *Tracker) Path() string {
	if t.active == nil {
		return ""
	}
	return t.active.path
}

// Since returns when the active file began or, between files, the wait for the next one.
func (t *Tracker) Since() time.Time { return t.since }

// Given returns the files that the process was given.
func (t *Tracker) Given() []int { return t.given }

// Begun returns how many files of the process have begun.
func (t *Tracker) Begun() int {
	n := 0
	for _, i := range t.given {
		if t.batch.HasBegun(i) {
			n++
		}
	}
	return n
}

// Stopping reports whether the process is being ended.
func (t *Tracker) Stopping() bool { return t.stopping }

// Stop notes that the process is being ended: no file begins any more.
func (t *Tracker) Stop() { t.stopping = true }

// IgnoreEnd notes that the process is being ended for time or memory. If its file ends after all,
// that does not count.
func (t *Tracker) IgnoreEnd() { t.ignoreEnd = true }

// parse takes a line that is about to be written to the log.
func (t *Tracker) parse(line []byte, now time.Time) {
	t.ends = t.ends[:0]
	if record.NeedsQuote(line) { // as it will be in the log
		line = slices.Concat([]byte(record.QuoteLine+"\n"), line)
	}
	for _, rec := range t.opts.Dialects.ParseLine(line, record.Position{}) {
		switch rec := rec.(type) {
		case record.Checkpoint:
			t.Reading, t.lane, t.read, t.Changed = rec.Reading, rec.Lane, true, true
			if !t.opts.FilePerProcess && !rec.Sampled {
				t.checkpoint(rec, now)
			}
			t.RanOut = false
			if t.active != nil && !isCleanup(&rec) {
				t.active.failures = 0
			}
		case record.OutOfMemory:
			t.RanOut = true
			if t.active != nil {
				t.active.allocationFailed(&rec)
			}
		case record.Event:
			if t.active != nil && rec.Kind == record.EventFallback {
				t.active.fallback(&rec)
			}
		case record.FileStart:
			if rec.Pipeline && !t.opts.FilePerProcess {
				t.named(rec, now)
			}
		case record.FileEnd:
			if rec.Pipeline {
				t.ends = append(t.ends, rec)
			}
		}
	}
}

// allocationFailed notes a failed allocation, unless its line says how the pipeline goes on, or
// repeats the last failure.
func (w *work) allocationFailed(o *record.OutOfMemory) {
	w.oom = true
	switch {
	case o.NamesFallback:
		w.fellBack = true
	case !o.Repeated || !w.fellBack && w.failures == 0:
		w.failures++
		w.fellBack = false
	}
}

// fallback notes that the pipeline said how it goes on after the last failure.
func (w *work) fallback(e *record.Event) {
	if !e.NamesFailure && !w.fellBack && w.failures > 0 {
		w.failures--
		w.fellBack = true
	}
}

// isCleanup reports whether a checkpoint only shows that memory was freed, or that a stage ended
// with an error. After a failed allocation it is no sign that the work went on.
func isCleanup(c *record.Checkpoint) bool {
	return !c.Sampled && (c.InCleanup() || strings.HasSuffix(c.Name, "(failed)"))
}

// soakOver reports whether no further file may begin.
func (t *Tracker) soakOver(now time.Time) bool {
	return t.opts.SoakOver != nil && t.opts.SoakOver(now)
}
