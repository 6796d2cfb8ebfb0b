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

// A State is the state of a run as its log shows it.
type State struct {
	Start *record.RunStart // nil if the log is empty
	End   *record.RunEnd   // nil if the harness was killed in the last part of the run
	First int              // number of the first file not begun, from 1; 0 if none

	Processes, Restarts int
	// NamesFiles is true if the pipeline printed a file-start line, EndsFiles if it printed a file-end
	// line.
	NamesFiles, EndsFiles bool
	// Sound is the length of the log in bytes, without an incomplete end.
	Sound int64
	// Spent is how long the harness has worked on the run so far. The time between a kill and the
	// resume does not count.
	Spent time.Duration
}

// A Replay holds the batch that [Journal.Resume] brings to the state in the log, and how to read
// the log.
type Replay struct {
	Dialects *parser.Set
	Batch    *queue.Batch
	// Extend adds files until the batch has count files, or until there are no more.
	Extend func(count int)
	// Ahead bounds Extend: a line of the log is ignored if the file that it names comes more than
	// Ahead files after the end of the batch.
	Ahead int
	// Round is the number of files in a round of the whole batch, if the run works on a part of it;
	// else 0. The numbers of its files then have gaps.
	Round int
	// Check returns an error if the log belongs to another run.
	Check func(State) error
}

// Resume reads the log, marks in the batch which files have begun and how they ended, and cuts an
// incomplete end off the log. It returns in torn the number of bytes that it cut off. If reading
// the log or r.Check gives an error, Resume returns it and does not change the log.
//
// Resume marks two kinds of files as lost, which count as not begun: files that have begun and not
// ended, and files that ended only because the run was interrupted.
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
	s.Sound = sound
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

// read marks in the batch what the records of a log say, and returns the state of the run. It
// ignores file lines that do not fit the batch. Such lines may come from the pipeline, because
// older versions of the harness wrote no quote lines.
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

// A reader marks in the batch what the records of a log say. The log of a resumed run has several
// parts; each part after the first begins with a resume line.
type reader struct {
	State
	Replay

	open   int           // the current file, None between files
	began  time.Time     // when this part of the run began
	last   time.Time     // the latest time in this part
	before time.Duration // time spent in earlier parts
	live   map[int]bool  // processes that have not ended, by PID
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

// clock sets r.last, the latest time in this part of the log, to t. If t is earlier, clock does
// nothing, because the machine's clock may have been set back.
func (r *reader) clock(t time.Time) {
	if t.After(r.last) {
		r.last = t
	}
}

// file returns the batch's index of the file that a line of the log names by number and path. ok is
// false if the batch has no such file.
func (r *reader) file(index int, path string) (i int, ok bool) {
	if last := r.Batch.LastPlace(); index > last && index-last <= r.aheadPlaces() {
		for n := -1; r.Batch.LastPlace() < index && r.Batch.Len() > n; {
			n = r.Batch.Len()
			r.Extend(n + 1)
		}
	}
	i, ok = r.Batch.At(index)
	return i, ok && r.Batch.File(i).Path == path
}

// aheadPlaces returns by how much the number of a file may exceed the last number in the batch.
func (r *reader) aheadPlaces() int {
	if r.Round == 0 {
		return r.Ahead
	}
	return (r.Ahead/max(1, r.Batch.Len()) + 1) * r.Round
}

// loseOpen marks the result of the current file, if there is one, as lost.
func (r *reader) loseOpen() {
	if r.open != queue.None {
		r.Batch.Lose(r.open)
	}
	r.open = queue.None
}

// endPart ends a part of the log, as a kill or the run-end line ends it. The results of files and
// of processes whose end is not in the log were lost when the harness was killed.
func (r *reader) endPart() {
	r.loseOpen()
	r.Processes += len(r.live) // the log does not say how they ended
	clear(r.live)
	r.before += max(0, r.last.Sub(r.began))
	r.Spent = r.before
	if r.End != nil && r.End.Seconds < math.MaxInt64/1e9 {
		r.before = time.Duration(r.End.Seconds * float64(time.Second))
		r.Spent = r.before
	}
	r.First = 0
	if next := r.Batch.Waiting(1); len(next) > 0 {
		r.First = r.Batch.Place(next[0])
	}
}

// Contradicts returns an error unless the log at path belongs to the run that is to be resumed. The
// parameter want is the run-start line that the resumed run would write.
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
	differs("shard", s.Start.Shard, want.Shard)
	differs("shards", s.Start.Shards, want.Shards)
	differs("batch", s.Start.Batch, want.Batch)
	if s.Start.Policy != want.Policy {
		errs = append(errs, fmt.Errorf("%s: expected the policy that the run is to go on with, "+
			"found another; resume it with its own", path))
	}
	return errors.Join(errs...)
}
