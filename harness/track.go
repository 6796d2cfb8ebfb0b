package harness

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"vramsoak/parser"
)

// A tracker tells from what the pipeline prints which file it works on, and writes where files
// begin and end.
type tracker struct {
	log      *journal
	batch    *batch
	dialects *parser.Set
	logger   *slog.Logger

	// follow says that files begin and end where the pipeline says so, not with its process; open,
	// that they are not known beforehand.
	follow, open bool
	// over says that no further file is to begin; nil where there is no such time.
	over func(now time.Time) bool
	// names and ends say that the pipeline has printed a file-start line, a file-end line.
	names, ends bool

	// What follows is of the present process.

	fed    []int // the files it got
	split  parser.Splitter
	active *work // nil between files
	last   int   // the file that ended last
	// turn is when the active file began or, between files, the wait for the next one.
	turn time.Time
	// ending says that the process is being ended: no file begins any more. late says that it is
	// for want of time: that the file ends after all does not count any more.
	ending, late bool
	said         []parser.FileEnd // by the line that is being passed
	starved      bool             // an allocation failed, and no checkpoint followed

	reading parser.Reading // of the last checkpoint
	lane    parser.Lane
	read    bool      // there was one since it was last asked
	lastEnd time.Time // when a file ended last
	changed bool      // something that a person watching wants to see
}

// work is the work on one file.
type work struct {
	index int    // unknown where the pipeline named a file that was not fed
	path  string // in the log
	name  string // as the pipeline called it
	audio float64
	began time.Time
	// inferred says that a checkpoint showed the beginning, not a line that names the file.
	inferred bool
	oom      bool // an allocation failed
	// failures are those allocations that neither work nor a fallback followed; pardoned says that
	// a fallback followed the last one.
	failures int
	pardoned bool
	said     parser.FileEnd // what the pipeline said of the end, where the process decides
}

// process prepares for a process that gets these files.
func (t *tracker) process(fed []int, now time.Time) {
	t.fed, t.split, t.active, t.turn = fed, parser.Splitter{}, nil, now
	t.last, t.ending, t.late, t.starved = unknown, false, false, false
}

// before takes a line that is about to be written to the log.
func (t *tracker) before(text []byte, now time.Time) {
	t.said = t.said[:0]
	if parser.MayBeOwn(text) { // as it is in the log
		text = append(slices.Clone(quoteLine), text...)
	}
	for _, rec := range t.dialects.ParseLine(text, parser.Position{}) {
		switch rec := rec.(type) {
		case parser.Checkpoint:
			t.reading, t.lane, t.read, t.changed = rec.Reading, rec.Lane, true, true
			if t.follow && !rec.Sampled {
				t.checkpoint(rec, now)
			}
			t.starved = false
			if t.active != nil && !isCleanUp(&rec) {
				t.active.failures = 0
			}
		case parser.OutOfMemory:
			t.starved = true
			if t.active != nil {
				t.active.failed(&rec)
			}
		case parser.Event:
			if t.active != nil && rec.Kind == parser.EventFallback {
				t.active.fellBack(&rec)
			}
		case parser.FileStart:
			if rec.Pipeline && t.follow {
				t.named(rec, now)
			}
		case parser.FileEnd:
			if rec.Pipeline {
				t.said = append(t.said, rec)
			}
		}
	}
}

// failed notes an allocation that failed, unless its line says how the pipeline goes on, or repeats
// what failed before.
func (w *work) failed(o *parser.OutOfMemory) {
	w.oom = true
	switch {
	case o.Named:
		w.pardoned = true
	case !o.Again || !w.pardoned && w.failures == 0:
		w.failures++
		w.pardoned = false
	}
}

// fellBack notes that the pipeline said how it goes on after the last failure.
func (w *work) fellBack(e *parser.Event) {
	if !e.Named && !w.pardoned && w.failures > 0 {
		w.failures--
		w.pardoned = true
	}
}

// isCleanUp reports whether a checkpoint only shows that memory was let go, or that a stage ended
// with an error: after a failure it is no sign that the work went on.
func isCleanUp(c *parser.Checkpoint) bool {
	return !c.Sampled && (c.OfCleanup() || strings.HasSuffix(c.Name, "(failed)"))
}

// after follows once the line is written.
func (t *tracker) after(now time.Time) {
	for _, end := range t.said {
		t.ends = true
		switch {
		case t.follow:
			t.ended(end, now)
		case t.active != nil:
			t.active.said = end
		}
	}
}

// checkpoint begins the next file where a checkpoint shows it. When all files that the process got
// have begun, what recurs belongs to the last.
func (t *tracker) checkpoint(c parser.Checkpoint, now time.Time) {
	begins := t.split.Begins(c)
	if t.names || t.ending || !begins && t.active != nil {
		return
	}
	i, ok := t.batch.next(t.fed)
	if !ok && !t.open {
		return
	}
	if t.active != nil {
		t.end(t.unsaid(), "", now)
	}
	if t.enough(now) {
		return
	}
	if t.open {
		i = t.batch.add(Input{})
	}
	t.begin(i, Input{}, now)
	t.active.inferred = true
}

// named begins the file that a line of the pipeline names.
func (t *tracker) named(start parser.FileStart, now time.Time) {
	first := !t.names
	t.names = true
	if t.ending {
		return
	}
	// Checkpoints before the first file's name, of a model that is loaded, say, showed the
	// beginning of a file. It was this one's, unless that was not its turn.
	shown := t.active != nil && t.active.inferred && first
	i := unknown
	if !t.open {
		if shown {
			t.batch.unbegin(t.active.index)
		}
		i = t.file(start.Path)
	}
	if a := t.active; a != nil {
		switch {
		case shown && t.open:
			a.inferred, a.name, a.path, t.turn = false, start.Path, start.Path, now
			return
		case shown && i == a.index:
			t.batch.begin(i)
			a.inferred, a.name, t.turn = false, start.Path, now
			return
		case shown:
			t.logger.Warn("the pipeline named its first file after its first checkpoint; print file-start earlier",
				"began", a.path, "named", start.Path)
			t.active = nil
		case t.ends:
			t.end(parser.StatusFailed, "the pipeline began the next file without a file-end line for this one", now)
		default:
			t.end(t.unsaid(), "", now)
		}
	}
	if t.enough(now) {
		return
	}
	input := Input{Path: start.Path, AudioSeconds: start.AudioSeconds}
	if t.open {
		i = t.batch.add(input)
	}
	t.begin(i, input, now)
	t.active.name = start.Path
}

// file is the file that the pipeline means by a name. A pipeline that has never named a file as it
// was fed has its own words for them, and works in the order of the feed.
func (t *tracker) file(name string) int {
	i, ok := t.batch.find(name, t.fed)
	if !ok && !t.batch.matched {
		i, _ = t.batch.next(t.fed)
	}
	return i
}

// working says that a name may be the active file's.
func (t *tracker) working(name string) bool {
	a := t.active
	if name == "" || name == a.name || name == a.path || t.open {
		return true
	}
	files := t.batch.called(name)
	return slices.Contains(files, a.index) || len(files) == 0 && (a.index == unknown || !t.batch.matched)
}

// ended ends the file of which the pipeline says so.
func (t *tracker) ended(end parser.FileEnd, now time.Time) {
	if a := t.active; a != nil {
		switch {
		case !t.working(end.Path):
			t.logger.Warn("the pipeline ended a file that it was not working on", "ended", end.Path, "working on", a.path)
		case t.late:
		default:
			t.end(end.Status, end.Error, now)
		}
		return
	}
	if t.ending || t.enough(t.turn) {
		return
	}
	// An end without a beginning: of a pipeline that prints only file-end lines.
	input := Input{Path: end.Path}
	var i int
	if t.open {
		i = t.batch.add(input)
	} else if i = t.file(end.Path); i == unknown || t.batch.begun[i] || t.names && slices.Contains(t.batch.called(end.Path), t.last) {
		t.logger.Warn("the pipeline ended a file that it had not begun", "file", end.Path)
		return
	}
	began := t.turn
	t.begin(i, input, now)
	t.active.began = began
	t.end(end.Status, end.Error, now)
}

// begin writes that a file begins. What the batch does not know of it is in named.
func (t *tracker) begin(i int, named Input, now time.Time) {
	w := &work{index: i, path: named.Path, audio: named.AudioSeconds, began: now}
	if i != unknown {
		input := t.batch.files[i]
		w.path = input.Path
		if input.AudioSeconds > 0 {
			w.audio = input.AudioSeconds
		}
		t.batch.begin(i)
	}
	t.log.own(parser.FileStart{Header: t.log.head(now), Index: i + 1, Path: w.path, AudioSeconds: w.audio})
	t.active, t.turn, t.changed = w, now, true
}

// end writes that the active file has ended.
func (t *tracker) end(status parser.Status, reason string, now time.Time) {
	w := t.active
	if status == parser.StatusFailed && w.oom {
		status = parser.StatusOOM
	}
	t.log.own(parser.FileEnd{
		Header: t.log.head(now), Index: w.index + 1, Path: w.path, Status: status,
		Seconds: now.Sub(w.began).Seconds(), Error: reason,
	})
	if w.index != unknown {
		t.batch.end(w.index, status)
	}
	t.active, t.last, t.turn, t.lastEnd, t.changed = nil, w.index, now, now, true
}

// unsaid is the status of a file of which the pipeline does not say how it ended.
func (t *tracker) unsaid() parser.Status {
	if t.active.failures > 0 {
		return parser.StatusOOM
	}
	return parser.StatusOK
}

// A death is how a process ended.
type death struct {
	pid    int
	code   int    // -1 where a signal ended it
	signal string // "SIGKILL"; "" where it exited by itself
	// Why the harness ended it, if it did.
	timeout, interrupted, over bool
	overuse                    string // of what, if that is why
	// lost says that it was told to end, by SIGKILL at last, and did not.
	lost bool
	// cause is what it printed on why it ended; "" where that is not known, or it ended well.
	cause string
	// at is when it ended, or its last word was passed on. What it left behind ended later, or,
	// where it could not be ended, is running.
	at            time.Time
	left, running []Leftover
}

// reason is why the harness ended the process, if it did.
func (d death) reason() parser.ExitReason {
	switch {
	case d.timeout:
		return parser.ExitTimeout
	case d.overuse != "":
		return parser.ExitOveruse
	case d.interrupted:
		return parser.ExitInterrupted
	case d.over:
		return parser.ExitUntil
	}
	return parser.ExitByItself
}

func (d death) String() string {
	switch {
	case d.lost:
		return "did not end after SIGKILL"
	case d.overuse != "":
		return "was ended because " + d.overuse
	}
	return d.end().How()
}

// end is how the process ended, for the error of its file.
func (d death) end() parser.ProcessEnd {
	return parser.ProcessEnd{Code: d.code, Signal: d.signal, Cause: d.cause}
}

// finish ends the file that was worked on when the process ended.
func (t *tracker) finish(d death, limit time.Duration, now time.Time) {
	w := t.active
	if w == nil {
		return
	}
	status, reason := w.said.Status, w.said.Error
	switch {
	case d.timeout:
		status, reason = parser.StatusTimeout, fmt.Sprintf("took longer than %v", limit)
	case d.overuse != "":
		status, reason = parser.StatusFailed, d.overuse
	case d.interrupted && status == parser.StatusUnknown:
		status, reason = parser.StatusFailed, parser.Interrupted
	case d.interrupted:
	case d.signal != "":
		status, reason = parser.StatusCrashed, d.end().String()
	case d.code != 0:
		if reason == "" {
			reason = d.end().String()
		}
		if status != parser.StatusOOM {
			status = parser.StatusFailed
		}
	case t.follow && t.ends && !w.inferred:
		status, reason = parser.StatusCrashed, "the process exited with code 0 before the file's end"
	case status == parser.StatusUnknown:
		status = t.unsaid()
	}
	t.end(status, reason, now)
}
