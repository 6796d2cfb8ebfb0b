package source

import (
	"encoding/binary"
	"math/bits"

	"vramsoak/parser/search"
)

// Newline is a line end, for functions that search for bytes.
var Newline = []byte{'\n'}

// A Window is a piece of a log. The lines that begin in Buf[From:To] are its own. Up to [Margin]
// bytes before and behind them are in the buffer too.
type Window struct {
	Buf      []byte
	From, To int
	Docker   bool  // the log is one of Docker's, see [DockerLog]
	Offset   int64 // of buf in the log
	Err      error // that ended the reading of the log; io.EOF for the last window
	// read, where it is set, reads the window into a buffer, which it may have to grow.
	read func(w *Window, buf *[]byte)
}

const (
	// Margin is how many bytes of the log before and behind a window are at hand. It bounds the
	// longest block of lines that a dialect reads together, such as PyTorch's memory_summary, and the
	// longest line that is read as a whole.
	Margin = 32 << 10
)

// Cut returns where to cut the window near an offset: behind the last line that ends before it and
// after low, or at the start of the log. In a line that is longer than [Margin] it cuts at the
// offset itself.
func (w *Window) Cut(low, near int) int {
	if near >= len(w.Buf) {
		return len(w.Buf)
	}
	for i := near; i > max(low, near-Margin); i-- {
		if b := w.Buf[i-1]; b == '\n' || b == '\r' && w.Buf[i] != '\n' {
			return i
		}
	}
	if w.Offset == 0 && near < Margin {
		return low
	}
	return near
}

// LineStart returns where the line begins that has the byte at an offset, but at most [Margin]
// bytes before it.
func (w *Window) LineStart(at int) int {
	low := max(0, at-Margin)
	return low + lastBreak(w.Buf[low:at])
}

// lastBreak returns the offset behind the last '\n' or '\r' of a text, or 0. It looks at eight
// bytes at a time.
func lastBreak(b []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	// the top bit of each byte that is 0
	zeros := func(x uint64) uint64 { return ^((x&^tops + ^uint64(tops)) | x) & tops }
	for len(b) >= 8 {
		eight := binary.LittleEndian.Uint64(b[len(b)-8:])
		if found := zeros(eight^'\n'*ones) | zeros(eight^'\r'*ones); found != 0 {
			return len(b) - bits.LeadingZeros64(found)/8
		}
		b = b[:len(b)-8]
	}
	for len(b) > 0 && b[len(b)-1] != '\n' && b[len(b)-1] != '\r' {
		b = b[:len(b)-1]
	}
	return len(b)
}

// LineEnd returns where the line ends that has the byte at an offset, and whether an escape is
// before it.
func (w *Window) LineEnd(at int) (end int, escaped bool) {
	n, escaped := search.LineEnd(w.Buf[at:min(len(w.Buf), at+Margin)])
	return at + n, escaped
}

// LineAfter returns the line behind the one that ends at an offset.
func (w *Window) LineAfter(end int) (start, stop int, ok bool) {
	start = w.SkipBreak(end)
	if start == end || start >= len(w.Buf) {
		return 0, 0, false
	}
	stop, _ = w.LineEnd(start)
	return start, stop, true
}

// SkipBreak returns where the next line begins: behind '\n', '\r' or "\r\n".
func (w *Window) SkipBreak(end int) int {
	if end < len(w.Buf) && w.Buf[end] == '\r' {
		end++
		if end < len(w.Buf) && w.Buf[end] != '\n' {
			return end
		}
	}
	if end < len(w.Buf) && w.Buf[end] == '\n' {
		end++
	}
	return end
}

// LineBefore returns the line before the one that begins at an offset.
func (w *Window) LineBefore(start int) (from, end int, ok bool) {
	end = start
	if end > 0 && w.Buf[end-1] == '\n' {
		end--
	}
	if end > 0 && w.Buf[end-1] == '\r' && (end < start || w.Buf[start-1] == '\r') {
		end--
	}
	if end == start {
		return 0, 0, false
	}
	return w.LineStart(end), end, true
}

// Load reads the bytes of the window into a buffer, if its source left that to the worker who scans
// it.
func (w *Window) Load(buf *[]byte) {
	if w.read != nil {
		w.read(w, buf)
	}
}
