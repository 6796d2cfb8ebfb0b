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

// A Tracker knows which file the pipeline works on. It parses the pipeline's lines, decides which
// file they begin or end, and writes the harness's file-start and file-end lines to the log.
type Tracker struct {
	opts  Options
	log   *journal.Journal
	batch *queue.Batch

	// NamesFiles is true if the pipeline has printed a file-start line, EndsFiles if it has printed a
	// file-end line.
	NamesFiles, EndsFiles bool

	// The following fields are about the current process.

	given  []int // its files
	split  timeline.Splitter
	active *work // nil between files
	last   int   // the file that ended last
	// since is when the active file began or, between files, when the wait for the next file began.
	since time.Time
	// stopping is true while the harness is ending the process: no further file begins. ignoreEnd is
	// true if the process exceeded its time or memory limit and is ended for that. The tracker then
	// ignores a file-end line that still arrives, so that the file's status names the limit: timeout,
	// for example.
	stopping, ignoreEnd bool
	ends                []record.FileEnd // file-end records in the current line

	// RanOut is true if an allocation failed and no checkpoint of the pipeline has followed.
	RanOut bool
	// Reading is the reading of the pipeline's last checkpoint.
	Reading record.Reading
	lane    record.Lane
	read    bool // the current line is a checkpoint

	LastEnd time.Time // when a file ended last
	// AtCheckpoint is true if the last line was a checkpoint of the pipeline. The caller may reset it.
	AtCheckpoint bool
	// Changed is true after a checkpoint, or after the beginning or end of a file. The caller resets
	// Changed when it has shown the progress.
	Changed bool
}

// work is the state of the active file.
type work struct {
	index int    // None if the file is not in the batch
	path  string // in the log
	name  string // as the pipeline prints it
	audio float64
	began time.Time
	// inferred is true if a checkpoint of the pipeline began the file, and no file-start line has
	// named it yet.
	inferred bool
	oom      bool // an allocation failed
	// failures is the number of failed allocations that still count: after them the pipeline printed
	// no checkpoint that shows that its work went on, and named no fallback.
	failures int
	// fellBack is true if the pipeline named a fallback after the last failed allocation. caught is
	// true if that was the error of a batch, see record.OutOfMemory.
	fellBack, caught bool
	said             record.FileEnd // what the pipeline's file-end line said, with FilePerProcess
}

func newTracker(opts Options) *Tracker {
	return &Tracker{opts: opts, log: opts.Journal, batch: opts.Batch}
}

// nextProcess prepares the tracker for a process that gets the files with the indices given.
func (t *Tracker) nextProcess(given []int, now time.Time) {
	t.given, t.split, t.active, t.since = given, timeline.Splitter{}, nil, now
	t.last, t.stopping, t.ignoreEnd, t.RanOut = queue.None, false, false, false
}

// Between reports whether the process works on no file at the moment.
func (t *Tracker) Between() bool { return t.active == nil }

// Active returns the index of the file that the process works on. It returns None between two
// files, and for a file that is not in the batch.
func (t *Tracker) Active() int {
	if t.active == nil {
		return queue.None
	}
	return t.active.index
}

// Path returns the path of the file that the process works on, or "" between two files.
func (t *Tracker) Path() string {
	if t.active == nil {
		return ""
	}
	return t.active.path
}

// Since returns when the active file began or, between files, when the wait for the next file
// began.
func (t *Tracker) Since() time.Time { return t.since }

// Given returns the indices of the files that the process was given.
func (t *Tracker) Given() []int { return t.given }

// Begun returns how many of the files that the process was given have begun.
func (t *Tracker) Begun() int {
	n := 0
	for _, i := range t.given {
		if t.batch.HasBegun(i) {
			n++
		}
	}
	return n
}

// Stopping reports whether the harness is ending the process.
func (t *Tracker) Stopping() bool { return t.stopping }

// Stop notes that the harness is ending the process: no file begins after that.
func (t *Tracker) Stop() { t.stopping = true }

// IgnoreEnd notes that the harness ends the process because it exceeded its time or memory limit.
// The tracker then ignores file-end lines that still arrive.
func (t *Tracker) IgnoreEnd() { t.ignoreEnd = true }

// parse updates the tracker from a line that is about to be written to the log. If the line begins
// a file, parse writes the harness's file-start line first. It keeps the file-end records of the
// line in t.ends; applyEnds uses them once the line is written.
func (t *Tracker) parse(line []byte, now time.Time) {
	t.ends = t.ends[:0]
	if record.NeedsQuote(line) { // parse the line as readers of the log will
		line = slices.Concat([]byte(record.QuoteLine+"\n"), line)
	}
	t.AtCheckpoint = false
	for _, rec := range t.opts.Dialects.ParseLine(line, record.Position{}) {
		switch rec := rec.(type) {
		case record.Checkpoint:
			t.AtCheckpoint = !rec.Sampled
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

// allocationFailed adds the failed allocation o to w.failures. It does not count a line that names
// a fallback, nor a line that repeats a failure that was already counted.
func (w *work) allocationFailed(o *record.OutOfMemory) {
	w.oom = true
	caught := w.caught
	w.caught = o.Caught
	switch {
	case o.NamesFallback:
		if caught && !w.fellBack && w.failures > 0 { // both lines are about one failure
			w.failures--
		}
		w.fellBack = true
	case !o.Repeated || !w.fellBack && w.failures == 0:
		w.failures++
		w.fellBack = false
	}
}

// fallback notes that the pipeline names a fallback. The last failed allocation no longer counts
// then, because the pipeline has recovered from it.
func (w *work) fallback(e *record.Event) {
	if !e.NamesFailure && !w.fellBack && w.failures > 0 {
		w.failures--
		w.fellBack = true
	}
}

// isCleanup reports whether a checkpoint belongs to a cleanup or to a stage that failed. Such a
// checkpoint does not show that the work went on after a failed allocation: a program also cleans
// up when it gives up.
func isCleanup(c *record.Checkpoint) bool {
	return !c.Sampled && (c.InCleanup() || strings.HasSuffix(c.Name, "(failed)"))
}

// soakOver reports whether the time to soak is over, so that no further file may begin.
func (t *Tracker) soakOver(now time.Time) bool {
	return t.opts.SoakOver != nil && t.opts.SoakOver(now)
}
