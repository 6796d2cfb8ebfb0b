package source

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// A Source cuts a log into windows.
type Source interface {
	// Next sets w to the next window of the log, and reports whether it is the last window. Next
	// must be fast, because only one worker can call it at a time. Work that workers can do in
	// parallel, such as reading a file, is left to [Window.Load].
	Next(w *Window) (last bool)
}

// New returns the fastest source for a reader. If the reader is an uncompressed file on disk,
// several workers read it at the same time.
func New(r io.Reader) Source {
	if log, ok := r.(*Log); ok && log.file != nil {
		if info, err := log.file.Stat(); err == nil && info.Mode().IsRegular() {
			return File(log.file, info.Size(), windowOf(info.Size(), Chunk))
		}
	}
	return Stream(r, Chunk)
}

// Chunk is the number of bytes in a window, without its margins. A window is small enough for the
// cache of one processor core.
const Chunk = 1 << 19

// windowsLeast is the least number of windows into which a log is cut if it has room for that many
// of 2*Margin bytes. The records of the windows that workers hold then take little memory, compared
// with the log, on a machine with any number of processors.
const windowsLeast = 64

// windowOf returns the number of bytes in a window of a log of size bytes, without its margins. It
// is at most the parameter most.
func windowOf(size, most int64) int64 { return min(max(size/windowsLeast, 2*Margin), most) }

// File returns a source of the first size bytes of a file, in windows of chunk bytes. Bytes that
// are appended while the file is read are not included.
func File(file *os.File, size, chunk int64) Source {
	return &fileSource{file: file, size: size, chunk: chunk}
}

type fileSource struct {
	file            *os.File
	size, chunk, at int64
	form            form
}

func (f *fileSource) Next(w *Window) (last bool) {
	if f.at == 0 {
		head := make([]byte, min(f.size, Margin))
		n, _ := f.file.ReadAt(head, 0) // Load reads these bytes again and reports the error
		f.form = formOf(head[:n])
	}
	from, to := f.at, f.at+f.chunk
	f.at = to
	w.Offset, w.form = max(0, from-Margin), f.form
	w.read = func(w *Window, buf *[]byte) {
		want := min(f.size, to+Margin) - w.Offset
		if int64(cap(*buf)) < want {
			*buf = make([]byte, f.chunk+2*Margin)
		}
		w.Buf = (*buf)[:want]
		n, err := f.file.ReadAt(w.Buf, w.Offset)
		w.Buf, w.Err = w.Buf[:n], err
		// The windows before and behind this window compute the same two offsets.
		w.From = w.Cut(0, int(from-w.Offset))
		w.To = w.Cut(0, int(to-w.Offset))
	}
	return to >= f.size
}

// Stream returns a source that reads a stream, in windows of at most chunk bytes. It reads the
// windows one after another, because a stream cannot be read at several offsets. The windows grow
// with the bytes read so far.
func Stream(r io.Reader, chunk int) Source { return &streamSource{r: r, chunk: chunk} }

type streamSource struct {
	r     io.Reader
	chunk int
	// rest holds the bytes that were read already but belong to the next window, and the margin
	// before these bytes.
	rest []byte
	from int   // where the next window begins in rest
	pos  int64 // offset of rest in the log
	form form
}

func (s *streamSource) Next(w *Window) (last bool) {
	w.read, w.Offset = nil, s.pos
	if cap(w.Buf) == 0 {
		w.Buf = make([]byte, s.chunk+2*Margin)
	}
	buf := w.Buf[:windowOf(s.pos, int64(s.chunk))+2*Margin]
	n := copy(buf, s.rest)
	var err error
	quiet := s.from // where to cut if the log stops growing for a moment
	for n < len(buf) && err == nil && quiet == s.from {
		var k int
		k, err = s.r.Read(buf[n:])
		n += k
		if errors.Is(err, errQuiet) {
			quiet, err = lastLineEnd(buf[:n], s.from), nil
		}
	}
	if s.pos == 0 && s.from == 0 {
		s.form = formOf(buf[:min(n, Margin)])
	}
	w.Buf, w.From, w.To, w.form, w.Err = buf[:n], s.from, n, s.form, err
	switch {
	case err != nil:
		return true
	case quiet > s.from:
		w.Buf, w.To = buf[:quiet], quiet // an unfinished last line is left for the next window
	default:
		w.To = w.Cut(s.from, n-Margin)
	}
	drop := max(0, w.To-Margin)
	s.rest = append(s.rest[:0], buf[drop:n]...)
	s.from = w.To - drop
	s.pos += int64(drop)
	return false
}

// lastLineEnd returns the offset behind the last line end in buf[from:], or from if there is no
// line end. A '\r' at the end of buf does not count, because a '\n' may follow.
func lastLineEnd(buf []byte, from int) int {
	for i := len(buf); i > from; i-- {
		if b := buf[i-1]; b == '\n' || b == '\r' && i < len(buf) {
			return i
		}
	}
	return from
}

// ReadError returns the error for a log whose reading failed with err behind the given line.
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
