package parser

import (
	"errors"
	"io"
	"iter"
	"runtime"
	"sync"
)

// batches yields what is in a log, window by window. A batch is good until the next one.
//
// Windows are scanned ahead of their turn, as if no table were open and no block of lines reached into them. Where that
// turns out wrong, the window is scanned again in its turn; so the result is that of reading from the first line to the
// last.
func batches(src source, name string, m *dialectSet) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		r := newReaders(src, name, m)
		defer close(r.stop)
		s := newScanner(name, m)
		var tables []openTable
		line, skip := 0, int64(0)
		for j := range r.ahead {
			<-j.done
			if len(tables) > 0 || skip > j.win.offset+int64(j.win.from) {
				j.scan(s, skip, tables)
			}
			tables, skip = j.out.tables, j.win.offset+int64(j.out.end)
			j.out.line = line
			line += j.out.lines
			err := j.win.err
			if errors.Is(err, io.EOF) {
				err = nil
			} else if err != nil {
				err = readError(name, line, err)
			}
			if !yield(&j.out, err) || err != nil {
				return
			}
			r.free <- j
		}
		if len(tables) > 0 { // the log ends
			out := batch{line: line}
			if s.finish(tables, &out); len(out.entries) > 0 {
				yield(&out, nil)
			}
		}
	}
}

// A job is a window and what was found in it.
type job struct {
	win  window
	out  batch
	done chan struct{}
}

// scan reads the window's lines from an offset in the log on, with the tables that are open before them. The buffer is the
// scanner's own, so that it stays in its processor's cache.
func (j *job) scan(s *scanner, skip int64, tables []openTable) {
	j.win.load(&s.buf)
	j.out.entries, j.out.own = j.out.entries[:0], false
	s.scan(j.win, int(max(0, skip-j.win.offset)), tables, &j.out)
}

// readersMax is how many readers there are at most: more would wait for who takes the records, and take memory.
const readersMax = 8

// readers scan the windows of a source, one a processor.
type readers struct {
	ahead chan *job // in the log's order
	free  chan *job
	stop  chan struct{}

	mu   sync.Mutex
	src  source
	last bool // the last window is taken
}

func newReaders(src source, name string, m *dialectSet) *readers {
	workers := min(runtime.GOMAXPROCS(0), readersMax)
	n := 4 * workers
	r := &readers{ahead: make(chan *job, n), free: make(chan *job, n), stop: make(chan struct{}), src: src}
	for range n {
		r.free <- &job{done: make(chan struct{}, 1)}
	}
	for range workers {
		go r.run(newScanner(name, m))
	}
	return r
}

// run scans windows until the log ends, or the reading.
func (r *readers) run(s *scanner) {
	for {
		select {
		case j := <-r.free:
			if !r.take(j) {
				return
			}
			j.scan(s, 0, nil)
			j.done <- struct{}{}
		case <-r.stop:
			return
		}
	}
}

// take gives a job the next window, and says whether there is one.
func (r *readers) take(j *job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last {
		return false
	}
	r.last = r.src.next(&j.win)
	r.ahead <- j // there is room for all
	if r.last {
		close(r.ahead)
	}
	return true
}
