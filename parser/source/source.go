package source

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// A Source cuts a log into windows.
type Source interface {
	// next makes w the next window of the log, and reports whether it is the last one. What several
	// workers can do at once is left to w.load.
	Next(w *Window) (last bool)
}

func New(r io.Reader) Source {
	if log, ok := r.(*Log); ok && log.File != nil {
		if info, err := log.File.Stat(); err == nil && info.Mode().IsRegular() {
			return &FileSource{File: log.File, Size: info.Size(), Chunk: Chunk}
		}
	}
	return &StreamSource{R: r, Chunk: Chunk}
}

// Chunk is how much of a log is read at once, beside the margins. With them it fits into a processor's own cache.
const Chunk = 1 << 19

// A FileSource cuts a file, which the workers read at their windows' places. What is appended while it is read is not
// looked at.
type FileSource struct {
	File            *os.File
	Size, Chunk, at int64
	docker          bool
}

func (f *FileSource) Next(w *Window) (last bool) {
	if f.at == 0 {
		var head [len(DockerLog)]byte
		n, _ := f.File.ReadAt(head[:], 0) // an error comes again
		f.docker = IsDocker(head[:n])
	}
	from, to := f.at, f.at+f.Chunk
	f.at = to
	w.Offset, w.Docker = max(0, from-Margin), f.docker
	w.read = func(w *Window, buf *[]byte) {
		want := min(f.Size, to+Margin) - w.Offset
		if int64(cap(*buf)) < want {
			*buf = make([]byte, f.Chunk+2*Margin)
		}
		w.Buf = (*buf)[:want]
		n, err := f.File.ReadAt(w.Buf, w.Offset)
		w.Buf, w.Err = w.Buf[:n], err
		// Both neighbours cut at the same place.
		w.From = w.Cut(0, int(from-w.Offset))
		w.To = w.Cut(0, int(to-w.Offset))
	}
	return to >= f.Size
}

// A StreamSource reads one window after the other.
type StreamSource struct {
	R     io.Reader
	Chunk int
	rest  []byte // the margin before the next window, and what of it is read already
	from  int    // in rest
	pos   int64  // of rest in the log

	docker bool
}

func (s *StreamSource) Next(w *Window) (last bool) {
	w.read, w.Offset = nil, s.pos
	if cap(w.Buf) == 0 {
		w.Buf = make([]byte, s.Chunk+2*Margin)
	}
	buf := w.Buf[:cap(w.Buf)]
	n := copy(buf, s.rest)
	var err error
	quiet := s.from // where to cut because no more is there for now
	for n < len(buf) && err == nil && quiet == s.from {
		var k int
		k, err = s.R.Read(buf[n:])
		n += k
		if errors.Is(err, ErrQuiet) {
			quiet, err = lastLineEnd(buf[:n], s.from), nil
		}
	}
	if s.pos == 0 && s.from == 0 {
		s.docker = IsDocker(buf[:n])
	}
	w.Buf, w.From, w.To, w.Docker, w.Err = buf[:n], s.from, n, s.docker, err
	switch {
	case err != nil:
		return true
	case quiet > s.from:
		w.Buf, w.To = buf[:quiet], quiet // the line that has no end yet is no part of a block
	default:
		w.To = w.Cut(s.from, n-Margin)
	}
	drop := max(0, w.To-Margin)
	s.rest = append(s.rest[:0], buf[drop:n]...)
	s.from = w.To - drop
	s.pos += int64(drop)
	return false
}

// MayWait says whether a reader may have nothing for now: see [Log.MayWait].
func MayWait(r io.Reader) bool {
	switch r := r.(type) {
	case interface{ MayWait() bool }:
		return r.MayWait()
	case *os.File, *io.PipeReader:
		return true
	}
	return false
}

// A Patient reader waits where another says that there is nothing for now.
type Patient struct{ io.Reader }

func (p Patient) Read(b []byte) (n int, err error) {
	for n, err = p.Reader.Read(b); errors.Is(err, ErrQuiet); n, err = p.Reader.Read(b) {
		if n > 0 {
			return n, nil
		}
	}
	return n, err
}

// ReadError is the I/O error that ends the reading of a log.
func ReadError(name string, line int, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("reading %s after line %d: %w; the compressed file is cut off here, get the whole of it", name, line, err)
	}
	return fmt.Errorf("reading %s after line %d: %w", name, line, err)
}
