package journal

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"vramsoak/harness/queue"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

// A State is what a log says of its run so far.
type State struct {
	Start *record.RunStart // nil if the log is empty
	End   *record.RunEnd   // nil if the run was killed since it began, or was resumed
	First int              // the first file that has not begun, from 1; see [record.Resume]

	Processes, Restarts int
	// NamesFiles and EndsFiles say that the pipeline printed file-start lines, file-end lines.
	NamesFiles, EndsFiles bool
	// Spent is how long the run took by the harness's clock, without the time between its parts.
	Spent time.Duration
}

// Replay says what a log is read back into.
type Replay struct {
	Dialects *parser.Set
	Batch    *queue.Batch
	// Extend makes the batch at least this long, if there are so many files.
	Extend func(count int)
	// Ahead is how many files beyond the end of the batch a line may name.
	Ahead int
	// Check may refuse the log of another run.
	Check func(State) error
}

// Resume brings the batch to where the log left it and cuts off the log's torn end, of so many
// bytes. A log that it refuses stays as it is.
//
// Files whose results were lost count as not begun: those that were begun and not ended, and those
// that ended because the run was interrupted.
func (j *Journal) Resume(r Replay) (s State, torn int64, err error) {
	info, err := j.file.Stat()
	if err != nil {
		return s, 0, fmt.Errorf("reading the log: %w", err)
	}
	sound, err := soundLength(j.file, info.Size(), r.Dialects)
	if err != nil {
		return s, 0, err
	}
	s, err = r.read(io.NewSectionReader(j.file, 0, sound), j.Path())
	if err != nil {
		return s, 0, err
	}
	if s.Start != nil {
		if err := r.Check(s); err != nil {
			return s, 0, err
		}
	}
	torn = info.Size() - sound
	if torn > 0 {
		if err := j.file.Truncate(sound); err != nil {
			return s, torn, fmt.Errorf("cutting the torn end off the log: %w", err)
		}
	}
	return s, torn, nil
}

// read reads a log back. In the log of an older version a line of the pipeline may pass for one of
// the harness; a line that does not fit the batch is ignored.
func (r Replay) read(log io.Reader, path string) (State, error) {
	read := &reader{Replay: r, open: queue.None, live: map[int]bool{}}
	for rec, err := range r.Dialects.Read(log, path) {
		if err != nil {
			return State{}, fmt.Errorf("reading the log: %w", err)
		}
		if read.Start != nil {
			read.take(rec)
			continue
		}
		start, ok := rec.(record.RunStart)
		if !ok || rec.At().Line != 1 {
			return State{}, fmt.Errorf("%s: expected a log that begins with %s run-start, "+
				"found another line; the run cannot be resumed", rec.At(), record.HarnessPrefix)
		}
		read.Start, read.began, read.last = &start, start.Time, start.Time
	}
	read.endPart()
	return read.State, nil
}

// A reader reads a log back. A run that was resumed has several parts.
type reader struct {
	State
	Replay

	open   int           // the file that is worked on, None between files
	began  time.Time     // when this part of the run began
	last   time.Time     // the latest time in this part
	before time.Duration // what earlier parts took
	live   map[int]bool  // processes that have not ended, by number
}

func (r *reader) take(rec record.Record) {
	switch rec := rec.(type) {
	case record.FileStart:
		if rec.Pipeline {
			r.NamesFiles = true
			r.Batch.Named(rec.Path)
			return
		}
		r.clock(rec.Time)
		if i, ok := r.file(rec.Index, rec.Path); ok {
			r.loseOpen()
			r.Batch.Begin(i)
			r.open = i
		}
	case record.FileEnd:
		if rec.Pipeline {
			r.EndsFiles = true
			r.Batch.Named(rec.Path)
			return
		}
		r.clock(rec.Time)
		i, ok := r.file(rec.Index, rec.Path)
		switch {
		case !ok:
			return
		case rec.Status == record.StatusFailed && rec.Error == record.Interrupted:
			r.open = i
			r.loseOpen()
		default:
			r.Batch.Begin(i)
			r.Batch.End(i, rec.Status)
		}
		r.open = queue.None
	case record.Sample:
		r.clock(rec.Time)
		r.live[rec.PID] = true
	case record.Exit:
		r.clock(rec.Time)
		delete(r.live, rec.PID)
		r.Processes++
		r.Restarts = max(r.Restarts, rec.Restarts)
	case record.Resume:
		r.endPart()
		r.End, r.began, r.last = nil, rec.Time, rec.Time
	case record.RunEnd:
		r.clock(rec.Time)
		r.End = &rec
	}
}

// clock notes a time. A time before the latest one comes from a clock that was set back.
func (r *reader) clock(t time.Time) {
	if t.After(r.last) {
		r.last = t
	}
}

// file returns the file of the batch that a line names; ok is false if there is none.
func (r *reader) file(index int, path string) (i int, ok bool) {
	if n := r.Batch.Len(); index > n && index <= n+r.Ahead {
		r.Extend(index)
	}
	i = index - 1
	return i, i >= 0 && i < r.Batch.Len() && r.Batch.File(i).Path == path
}

// loseOpen notes that the result of the open file was lost.
func (r *reader) loseOpen() {
	if r.open != queue.None {
		r.Batch.Lose(r.open)
	}
	r.open = queue.None
}

// endPart ends a part of the run.
func (r *reader) endPart() {
	r.loseOpen()
	r.Processes += len(r.live) // their ends are not in the log
	clear(r.live)
	r.before += max(0, r.last.Sub(r.began))
	r.Spent = r.before
	if r.End != nil && r.End.Seconds < math.MaxInt64/1e9 {
		r.before = time.Duration(r.End.Seconds * float64(time.Second))
		r.Spent = r.before
	}
	r.First = 0
	if next := r.Batch.Waiting(1); len(next) > 0 {
		r.First = next[0] + 1
	}
}

// Contradicts returns an error if the log belongs to another run than the one that is to be
// resumed, whose first line would be want.
func (s *State) Contradicts(path string, want record.RunStart) error {
	var errs []error
	differs := func(what string, found, expected any) {
		if found != expected {
			errs = append(errs, fmt.Errorf("%s: expected %s %v, as the run is to go on with, "+
				"found %v; resume it with what it was begun with", path, what, expected, found))
		}
	}
	differs("files", s.Start.Files, want.Files)
	differs("feed", s.Start.Feed, want.Feed)
	differs("command", s.Start.Command, want.Command)
	differs("until", s.Start.Until, want.Until)
	differs("workers", s.Start.Workers, want.Workers)
	differs("gpu", s.Start.GPU, want.GPU)
	if s.Start.Policy != want.Policy {
		errs = append(errs, fmt.Errorf("%s: expected the policy that the run is to go on with, "+
			"found another; resume it with its own", path))
	}
	return errors.Join(errs...)
}
