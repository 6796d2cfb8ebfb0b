package scan

import (
	"errors"
	"io"
	"iter"
	"runtime"
	"sync"

	"vramsoak/parser/source"
)

// Batches yields the records of a log, one batch for each window. A batch is valid until the next
// one is yielded.
//
// A worker scans a window without waiting for the end of the window before it. It assumes that no
// table is open, and that no block of lines crosses the window's start. If this turns out to be
// wrong for a window, Batches scans the window again. So the records are the same as if the log
// were read line by line.
func Batches(src source.Source, name string, m *Dialects) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		r := newReaders(src, name, m)
		defer close(r.stop)
		s := NewScanner(name, m)
		var state State
		line := 0
		for j := range r.ahead {
			<-j.done
			if state.concerns(j.win.Offset + int64(j.win.From)) {
				j.scan(s, state)
			}
			state = j.out.State
			j.out.Line = line
			line += j.out.Lines
			err := j.win.Err
			if errors.Is(err, io.EOF) {
				err = nil
			} else if err != nil {
				err = source.ReadError(name, line, err)
			}
			if !yield(&j.out, err) || err != nil {
				return
			}
			r.free <- j
		}
		if len(state) > 0 { // the log ends
			out := Batch{Line: line}
			if s.Finish(state, &out); len(out.Entries) > 0 {
				yield(&out, nil)
			}
		}
	}
}

// A job is a window and the batch of records that a worker found in it.
type job struct {
	win  source.Window
	out  Batch
	done chan struct{}
}

// scan reads the lines of the window. The buffer belongs to the scanner, so that it stays in the
// cache of one processor.
func (j *job) scan(s *Scanner, state State) {
	j.win.Load(&s.buf)
	j.out.Entries, j.out.Own = j.out.Entries[:0], false
	s.Scan(j.win, state, &j.out)
}

// readersMax is the most workers. More of them would take memory and wait for the goroutine that
// uses the records.
const readersMax = 8

// A readers value scans the windows of a source with several workers: one for each processor, but
// at most readersMax.
type readers struct {
	ahead chan *job // in the log's order
	free  chan *job
	stop  chan struct{}

	mu   sync.Mutex
	src  source.Source
	last bool // the last window is taken
}

func newReaders(src source.Source, name string, m *Dialects) *readers {
	workers := min(runtime.GOMAXPROCS(0), readersMax)
	n := 2 * workers
	r := &readers{
		ahead: make(chan *job, n),
		free:  make(chan *job, n),
		stop:  make(chan struct{}),
		src:   src,
	}
	for range n {
		r.free <- &job{done: make(chan struct{}, 1)}
	}
	for range workers {
		go r.run(NewScanner(name, m))
	}
	return r
}

// run scans windows until the log ends or the caller stops reading records.
func (r *readers) run(s *Scanner) {
	for {
		select {
		case j := <-r.free:
			if !r.take(j) {
				return
			}
			j.scan(s, nil)
			j.done <- struct{}{}
		case <-r.stop:
			return
		}
	}
}

// take gives a job the next window. It reports whether there is one.
func (r *readers) take(j *job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last {
		return false
	}
	r.last = r.src.Next(&j.win)
	r.ahead <- j // does not block: the channel has room for all jobs
	if r.last {
		close(r.ahead)
	}
	return true
}
