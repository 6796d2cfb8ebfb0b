package parser

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// A source cuts a log into windows.
type source interface {
	// next makes w the next window of the log, and reports whether it is the last one. What several
	// workers can do at once is left to w.load.
	next(w *window) (last bool)
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

func (f *fileSource) next(w *window) (last bool) {
	if f.at == 0 {
		var head [len(dockerLog)]byte
		n, _ := f.file.ReadAt(head[:], 0) // an error comes again
		f.docker = isDocker(head[:n])
	}
	from, to := f.at, f.at+f.chunk
	f.at = to
	w.offset, w.docker = max(0, from-margin), f.docker
	w.read = func(w *window, buf *[]byte) {
		want := min(f.size, to+margin) - w.offset
		if int64(cap(*buf)) < want {
			*buf = make([]byte, f.chunk+2*margin)
		}
		w.buf = (*buf)[:want]
		n, err := f.file.ReadAt(w.buf, w.offset)
		w.buf, w.err = w.buf[:n], err
		// Both neighbours cut at the same place.
		w.from = w.cut(0, int(from-w.offset))
		w.to = w.cut(0, int(to-w.offset))
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

func (s *streamSource) next(w *window) (last bool) {
	w.read, w.offset = nil, s.pos
	if cap(w.buf) == 0 {
		w.buf = make([]byte, s.chunk+2*margin)
	}
	buf := w.buf[:cap(w.buf)]
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
	w.buf, w.from, w.to, w.docker, w.err = buf[:n], s.from, n, s.docker, err
	switch {
	case err != nil:
		return true
	case quiet > s.from:
		w.buf, w.to = buf[:quiet], quiet // the line that has no end yet is no part of a block
	default:
		w.to = w.cut(s.from, n-margin)
	}
	drop := max(0, w.to-margin)
	s.rest = append(s.rest[:0], buf[drop:n]...)
	s.from = w.to - drop
	s.pos += int64(drop)
	return false
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

// readError is the I/O error that ends the reading of a log.
func readError(name string, line int, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("reading %s after line %d: %w; the compressed file is cut off here, get the whole of it", name, line, err)
	}
	return fmt.Errorf("reading %s after line %d: %w", name, line, err)
}
