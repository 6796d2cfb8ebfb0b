package harness

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"vramsoak/parser"
)

// A past is what the log says of the run so far.
type past struct {
	start *parser.RunStart // nil where the log is empty
	end   *parser.RunEnd   // nil where the run was killed since it began, or was taken up again
	first int              // of the log's files, as it would be for the part that follows: see parser.Resume

	processes, restarts int
	// names and ends are as in a tracker.
	names, ends bool
	spent       time.Duration // by the harness's clock, the time between parts of the run left out
}

// reader takes in a log.
type reader struct {
	past
	batch *batch
	more  func(count int) // makes the batch so long at least, where it can be
	ahead int             // how many more files than there are a line may be of

	open   int       // the file that was worked on, unknown between files
	began  time.Time // the part of the run
	last   time.Time // that the log gives
	before time.Duration
	live   map[int]bool // processes that have not ended, by pid
}

// readPast brings a batch to where a log left it: files that were begun and not ended, or ended because the run was
// interrupted, have not begun. In the log of an older version a pipeline's lines may pass for the harness's: one that does not
// fit the batch is passed over.
func readPast(log io.Reader, cfg Config, b *batch, more func(count int)) (past, error) {
	r := &reader{batch: b, more: more, ahead: max(1, cfg.workers)*aheadMax + len(cfg.Files), open: unknown, live: map[int]bool{}}
	for rec, err := range cfg.Dialects.Read(log, cfg.logPath()) {
		if err != nil {
			return past{}, fmt.Errorf("reading the log: %w", err)
		}
		if r.start == nil {
			start, ok := rec.(parser.RunStart)
			if !ok || rec.At().Line != 1 {
				return past{}, fmt.Errorf("%s: expected a log that begins with %s run-start, found another line; the run cannot be resumed",
					rec.At(), parser.HarnessPrefix)
			}
			r.start, r.began, r.last = &start, start.Time, start.Time
			continue
		}
		r.take(rec)
	}
	r.part()
	return r.past, nil
}

func (r *reader) take(rec parser.Record) {
	switch rec := rec.(type) {
	case parser.FileStart:
		if rec.Pipeline {
			r.names = true
			r.batch.called(rec.Path)
			return
		}
		r.clock(rec.Time)
		if i, ok := r.file(rec.Index, rec.Path); ok {
			r.tear()
			r.batch.begin(i)
			r.open = i
		}
	case parser.FileEnd:
		if rec.Pipeline {
			r.ends = true
			r.batch.called(rec.Path)
			return
		}
		r.clock(rec.Time)
		i, ok := r.file(rec.Index, rec.Path)
		switch {
		case !ok:
			return
		case rec.Status == parser.StatusFailed && rec.Error == parser.Interrupted:
			r.open = i
			r.tear()
		default:
			r.batch.begin(i)
			r.batch.end(i, rec.Status)
		}
		r.open = unknown
	case parser.Sample:
		r.clock(rec.Time)
		r.live[rec.PID] = true
	case parser.Exit:
		r.clock(rec.Time)
		delete(r.live, rec.PID)
		r.processes++
		r.restarts = max(r.restarts, rec.Restarts)
	case parser.Resume:
		r.part()
		r.end, r.began, r.last = nil, rec.Time, rec.Time
	case parser.RunEnd:
		r.clock(rec.Time)
		r.end = &rec
	}
}

// clock takes a time. One that lies before the last is of a clock that was set back.
func (r *reader) clock(t time.Time) {
	if t.After(r.last) {
		r.last = t
	}
}

// file is the file of the batch that a line names.
func (r *reader) file(index int, path string) (int, bool) {
	if n := len(r.batch.files); index > n && index <= n+r.ahead {
		r.more(index)
	}
	i := index - 1
	return i, i >= 0 && i < len(r.batch.files) && r.batch.files[i].Path == path
}

// tear takes back that the open file began.
func (r *reader) tear() {
	if r.open != unknown && r.batch.begun[r.open] {
		r.batch.unbegin(r.open)
		r.batch.torn[r.open] = true
	}
	r.open = unknown
}

// part ends a part of the run.
func (r *reader) part() {
	r.tear()
	r.processes += len(r.live) // whose ends nobody saw
	clear(r.live)
	r.before += max(0, r.last.Sub(r.began))
	r.spent = r.before
	if r.end != nil && r.end.Seconds < math.MaxInt64/1e9 {
		r.before = time.Duration(r.end.Seconds * float64(time.Second))
		r.spent = r.before
	}
	r.first = 0
	if next := r.batch.waiting(1); len(next) > 0 {
		r.first = next[0] + 1
	}
}

// contradicts says where the log is not of the run that is to be taken up again.
func (p *past) contradicts(cfg Config) error {
	want := cfg.runStart(parser.Header{})
	var errs []error
	differs := func(what string, found, expected any) {
		if found != expected {
			errs = append(errs, fmt.Errorf("%s: expected %s %v, as the run is to go on with, found %v; resume it with what it was begun with",
				cfg.logPath(), what, expected, found))
		}
	}
	differs("files", p.start.Files, want.Files)
	differs("feed", p.start.Feed, want.Feed)
	differs("command", p.start.Command, want.Command)
	differs("until", p.start.Until, want.Until)
	differs("workers", p.start.Workers, want.Workers)
	differs("gpu", p.start.GPU, want.GPU)
	if p.start.Policy != want.Policy {
		errs = append(errs, fmt.Errorf("%s: expected the policy that the run is to go on with, found another; resume it with its own", cfg.logPath()))
	}
	return errors.Join(errs...)
}
