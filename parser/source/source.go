package source

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// A Source cuts a log into windows.
type Source interface {
	// Next makes w the next window of the log, and reports whether it is the last one. What several
	// workers can do at once is left to [Window.Load].
	Next(w *Window) (last bool)
}

// New returns the source that is best for a reader: a file's bytes are read by several workers.
func New(r io.Reader) Source {
	if log, ok := r.(*Log); ok && log.file != nil {
		if info, err := log.file.Stat(); err == nil && info.Mode().IsRegular() {
			return File(log.file, info.Size(), Chunk)
		}
	}
	return Stream(r, Chunk)
}

// Chunk is how many bytes a window has besides its margins. All of it fits into a processor's own
// cache.
const Chunk = 1 << 19

// File returns the windows of the first size bytes of a file, each of chunk bytes. What is appended
// while the file is read is not in them.
func File(file *os.File, size, chunk int64) Source {
	return &fileSource{file: file, size: size, chunk: chunk}
}

type fileSource struct {
	file            *os.File
	size, chunk, at int64
	docker          bool
}

func (f *fileSource) Next(w *Window) (last bool) {
	if f.at == 0 {
		var head [len(DockerLog)]byte
		n, _ := f.file.ReadAt(head[:], 0) // the window's own reading meets the same error
		f.docker = IsDocker(head[:n])
	}
	from, to := f.at, f.at+f.chunk
	f.at = to
	w.Offset, w.Docker = max(0, from-Margin), f.docker
	w.read = func(w *Window, buf *[]byte) {
		want := min(f.size, to+Margin) - w.Offset
		if int64(cap(*buf)) < want {
			*buf = make([]byte, f.chunk+2*Margin)
		}
		w.Buf = (*buf)[:want]
		n, err := f.file.ReadAt(w.Buf, w.Offset)
		w.Buf, w.Err = w.Buf[:n], err
		// The windows before and behind this one cut at the same offsets.
		w.From = w.Cut(0, int(from-w.Offset))
		w.To = w.Cut(0, int(to-w.Offset))
	}
	return to >= f.size
}

// Stream returns the windows of a stream, each of chunk bytes or fewer. It reads one after the
// other.
func Stream(r io.Reader, chunk int) Source { return &streamSource{r: r, chunk: chunk} }

type streamSource struct {
	r     io.Reader
	chunk int
	// rest is what is read already of the next window, and the margin before it.
	rest   []byte
	from   int   // where in rest the next window begins
	pos    int64 // of rest in the log
	docker bool
}

func (s *streamSource) Next(w *Window) (last bool) {
	w.read, w.Offset = nil, s.pos
	if cap(w.Buf) == 0 {
		w.Buf = make([]byte, s.chunk+2*Margin)
	}
	buf := w.Buf[:cap(w.Buf)]
	n := copy(buf, s.rest)
	var err error
	quiet := s.from // where to cut because no more has come yet
	for n < len(buf) && err == nil && quiet == s.from {
		var k int
		k, err = s.r.Read(buf[n:])
		n += k
		if errors.Is(err, errQuiet) {
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
		w.Buf, w.To = buf[:quiet], quiet // a line without an end yet is no part of a block
	default:
		w.To = w.Cut(s.from, n-Margin)
	}
	drop := max(0, w.To-Margin)
	s.rest = append(s.rest[:0], buf[drop:n]...)
	s.from = w.To - drop
	s.pos += int64(drop)
	return false
}

// lastLineEnd returns the end of the last line of buf[from:], or from. It does not count a '\r' at
// the end, because a '\n' may follow it.
func lastLineEnd(buf []byte, from int) int {
	for i := len(buf); i > from; i-- {
		if b := buf[i-1]; b == '\n' || b == '\r' && i < len(buf) {
			return i
		}
	}
	return from
}

// ReadError returns the error for a log that could not be read behind a line.
func ReadError(name string, line int, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf(
			"reading %s after line %d: %w; the compressed file is cut off here, get the whole of it",
			name,
			line,
			err,
		)
	}
	return fmt.Errorf("reading %s after line %d: %w", name, line, err)
}
