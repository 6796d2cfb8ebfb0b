package parser

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"runtime"
	"sync"
)

// Read yields the records of a log in its order. name stands in their positions. A line that looks like a record and
// cannot be read is a [SyntaxError] record; an I/O error is yielded once, with a nil record, and ends the reading.
//
// Lines may be of any length and hold any bytes: a '\r' ends a piece of a line as '\n' does (progress bars), and terminal
// escapes are passed over. Memory is constant. A file is read on several processors; what a pipe gives is read when nothing more
// has come for a moment. Files of other forms are told by how they
// begin: of a Jupyter notebook the outputs are read, each line at its place in the file; a device memory profile of JAX
// (pprof) is one reading a device.
func Read(r io.Reader, name string) iter.Seq2[Record, error] { return (*Set)(nil).Read(r, name) }

// recordsOf are the records of the batches.
func recordsOf(batches iter.Seq2[*batch, error]) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var maps segmentJoiner
		for b, err := range batches {
			for i := range b.entries {
				if !maps.add(b.entries[i].record(b.line), yield) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		maps.end(yield)
	}
}

// readLog yields what is in a log, of whatever form.
func readLog(r io.Reader, name string, m *matcher) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if mayWait(r) {
			r = newPipe(ctx, r)
		}
		form, r := formOf(r)
		if form == nil {
			batches(newSource(r), name, m)(yield)
			return
		}
		form.read(patient{r}, name, m, func(rec Record, err error) bool {
			b := batch{}
			if c, ok := rec.(Checkpoint); ok {
				b.entries = []entry{{Checkpoint: c}}
			} else if rec != nil {
				b.entries = []entry{{other: rec}}
			}
			return yield(&b, err)
		})
	}
}

// mayWait says whether a reader may have nothing for now: see [Log.MayWait].
func mayWait(r io.Reader) bool {
	switch r := r.(type) {
	case interface{ MayWait() bool }:
		return r.MayWait()
	case *os.File, *io.PipeReader:
		return true
	}
	return false
}

// A patient reader waits where another says that there is nothing for now.
type patient struct{ io.Reader }

func (p patient) Read(b []byte) (n int, err error) {
	for n, err = p.Reader.Read(b); errors.Is(err, errQuiet); n, err = p.Reader.Read(b) {
		if n > 0 {
			return n, nil
		}
	}
	return n, err
}

// batches yields what is in a log, window by window. A batch is good until the next one.
//
// Windows are scanned ahead of their turn, as if no table were open and no block of lines reached into them. Where that
// turns out wrong, the window is scanned again in its turn; so the result is that of reading from the first line to the
// last.
func batches(src source, name string, m *matcher) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		r := newReaders(src, name, m)
		defer close(r.stop)
		s := newScanner(name, m)
		var tables []openTable
		line, skip := 0, int64(0)
		var quoted quotes
		for j := range r.ahead {
			<-j.done
			if len(tables) > 0 || skip > j.offset+int64(j.win.from) {
				j.scan(s, skip, tables)
			}
			tables, skip = j.out.tables, j.offset+int64(j.out.end)
			j.out.line = line
			quoted.resolve(&j.out)
			line += j.out.lines
			err := j.err
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
	win    window
	offset int64 // of win.buf in the log
	// read, where it is set, reads the window into a buffer, which it may have to grow.
	read func(j *job, buf *[]byte)
	err  error // io.EOF for the last window
	out  batch
	done chan struct{}
}

// scan reads the window's lines from an offset in the log on, with the tables that are open before them. The buffer is the
// scanner's own, so that it stays in its processor's cache.
func (j *job) scan(s *scanner, skip int64, tables []openTable) {
	if j.read != nil {
		j.read(j, &s.buf)
	}
	j.out.entries, j.out.own = j.out.entries[:0], false
	s.scan(j.win, int(max(0, skip-j.offset)), tables, &j.out)
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

func newReaders(src source, name string, m *matcher) *readers {
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
	r.last = r.src.next(j)
	r.ahead <- j // there is room for all
	if r.last {
		close(r.ahead)
	}
	return true
}

// A source cuts a log into windows.
type source interface {
	// next prepares a job for the next window and says whether it is the last one. What may be done by a worker is left to
	// its read.
	next(j *job) (last bool)
}

func newSource(r io.Reader) source {
	if log, ok := r.(*Log); ok && log.file != nil {
		if info, err := log.file.Stat(); err == nil && info.Mode().IsRegular() {
			return &fileSource{file: log.file, size: info.Size(), chunk: chunk}
		}
	}
	return &streamSource{r: r, chunk: chunk}
}

// chunk is how much of a log is read at once, beside the margins. With them it fits into a processor's own cache.
const chunk = 1 << 19

// A fileSource cuts a file, which the workers read at their windows' places. What is appended while it is read is not
// looked at.
type fileSource struct {
	file            *os.File
	size, chunk, at int64
	docker          bool
}

func (f *fileSource) next(j *job) (last bool) {
	if f.at == 0 {
		var head [len(dockerLog)]byte
		n, _ := f.file.ReadAt(head[:], 0) // an error comes again
		f.docker = isDocker(head[:n])
	}
	from, to := f.at, f.at+f.chunk
	f.at = to
	j.offset, j.win.docker = max(0, from-margin), f.docker
	j.read = func(j *job, buf *[]byte) {
		want := min(f.size, to+margin) - j.offset
		if int64(cap(*buf)) < want {
			*buf = make([]byte, f.chunk+2*margin)
		}
		j.win.buf = (*buf)[:want]
		n, err := f.file.ReadAt(j.win.buf, j.offset)
		j.win.buf, j.err = j.win.buf[:n], err
		// Both neighbours cut at the same place.
		j.win.from = j.win.cut(0, int(from-j.offset))
		j.win.to = j.win.cut(0, int(to-j.offset))
	}
	return to >= f.size
}

// A streamSource reads one window after the other.
type streamSource struct {
	r     io.Reader
	chunk int
	rest  []byte // the margin before the next window, and what of it is read already
	from  int    // in rest
	pos   int64  // of rest in the log

	docker bool
}

func (s *streamSource) next(j *job) (last bool) {
	j.read, j.offset = nil, s.pos
	if cap(j.win.buf) == 0 {
		j.win.buf = make([]byte, s.chunk+2*margin)
	}
	buf := j.win.buf[:cap(j.win.buf)]
	n := copy(buf, s.rest)
	var err error
	quiet := s.from // where to cut because no more is there for now
	for n < len(buf) && err == nil && quiet == s.from {
		var k int
		k, err = s.r.Read(buf[n:])
		n += k
		if errors.Is(err, errQuiet) {
			quiet, err = lastLineEnd(buf[:n], s.from), nil
		}
	}
	if s.pos == 0 && s.from == 0 {
		s.docker = isDocker(buf[:n])
	}
	j.win = window{buf: buf[:n], from: s.from, to: n, docker: s.docker}
	j.err = err
	switch {
	case err != nil:
		return true
	case quiet > s.from:
		j.win.buf, j.win.to = buf[:quiet], quiet // the line that has no end yet is no part of a block
	default:
		j.win.to = j.win.cut(s.from, n-margin)
	}
	drop := max(0, j.win.to-margin)
	s.rest = append(s.rest[:0], buf[drop:n]...)
	s.from = j.win.to - drop
	s.pos += int64(drop)
	return false
}

// ParseLine reads one line of a log, with or without its newline, and returns the records that it holds: mostly none or
// one, more where '\r' or a torn write put several on one line. A line that is a part of a [SegmentMap] has none.
func ParseLine(line []byte, pos Position) []Record { return (*Set)(nil).ParseLine(line, pos) }

func parseLine(line []byte, pos Position, m *matcher) []Record {
	s := newScanner(pos.Path, m)
	var out, rest batch
	s.scan(window{buf: line, to: len(line), docker: isDocker(line)}, 0, nil, &out)
	s.finish(out.tables, &rest)
	new(quotes).resolve(&out)
	if len(out.entries)+len(rest.entries) == 0 {
		return nil
	}
	records := make([]Record, 0, len(out.entries)+len(rest.entries))
	add := func(rec Record) {
		if p, is := rec.(segmentPart); !is {
			records = append(records, rec)
		} else if p.parts == 1 {
			records = append(records, join([]segmentPart{p}))
		}
	}
	for i := range out.entries {
		add(out.entries[i].record(pos.Line - 1))
	}
	for i := range rest.entries {
		add(rest.entries[i].record(pos.Line - 1 + out.lines))
	}
	return records
}
