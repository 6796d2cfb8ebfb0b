package source

import (
	"encoding/binary"
	"math/bits"

	"vramsoak/parser/search"
)

// Newline is '\n' as a slice, for functions such as bytes.Count.
var Newline = []byte{'\n'}

// A Window is a piece of a log. It owns the lines that begin in Buf[From:To]. Buf also holds up to
// [Margin] bytes before these lines and behind them.
type Window struct {
	Buf      []byte
	From, To int
	form
	Offset int64 // Offset is the offset of Buf in the log, in bytes
	Err    error // the error that ended reading the log; io.EOF for the last window
	// read, if it is set, reads the window into a buffer. It enlarges a buffer that is too small.
	read func(w *Window, buf *[]byte)
}

// A form is what the beginning of a log tells about all its lines.
type form struct {
	Wrapped  bool // the log begins with a log driver's JSON, in which needles may be escaped
	Numbered bool // the numbers before the lines are line numbers, see [HasLineNumbers]
}

// formOf returns the form of a log that begins with a text.
func formOf(head []byte) form {
	return form{Wrapped: BeginsWithJSON(head), Numbered: HasLineNumbers(head)}
}

// OneLine returns the window of a line that is a log of its own.
func OneLine(line []byte) Window {
	return Window{Buf: line, To: len(line), form: formOf(line)}
}

const (
	// Margin is how many bytes before and behind a window are in the window's buffer. It limits
	// the size of a block of lines that a dialect reads together, such as PyTorch's
	// memory_summary. It also limits the length of a line that is read as a whole.
	Margin = 32 << 10
)

// Cut returns the offset at which to cut the window, at or before the offset `near`. It cuts
// behind the last line that ends before `near`, so that no line is divided. Cut looks for this
// line end behind `low`, and only in the [Margin] bytes before `near`. If it finds none, the line
// is too long and Cut returns `near`, which divides the line. Only near the log's beginning does
// Cut then return `low`.
func (w *Window) Cut(low, near int) int {
	if near >= len(w.Buf) {
		return len(w.Buf)
	}
	for i := near; i > max(low, near-Margin); i-- {
		if b := w.Buf[i-1]; b == '\n' || b == '\r' && w.Buf[i] != '\n' {
			return i
		}
	}
	if w.Offset == 0 && near < Margin { // only tests have windows that end so near the log's beginning
		return low
	}
	return near
}

// LineStart returns the offset at which the line around the offset `at` begins. It looks at no
// more than [Margin] bytes before `at`.
func (w *Window) LineStart(at int) int {
	low := max(0, at-Margin)
	return low + lastBreak(w.Buf[low:at])
}

// lastBreak returns the offset behind the last '\n' or '\r' in a text, or 0 if the text has
// neither. It tests eight bytes at a time, for speed.
func lastBreak(b []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	// zeros returns a number with the byte 0x80 for each byte of x that is 0, and 0 for the
	// others.
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

// LineEnd returns the offset at which the line around the offset `at` ends. escaped is set if
// there is an escape byte from `at` to that end.
func (w *Window) LineEnd(at int) (end int, escaped bool) {
	n, escaped := search.LineEnd(w.Buf[at:min(len(w.Buf), at+Margin)])
	return at + n, escaped
}

// LineAfter returns the offsets of the line behind the line that ends at the offset `end`. ok is
// false if the buffer has no such line.
func (w *Window) LineAfter(end int) (start, stop int, ok bool) {
	start = w.SkipBreak(end)
	if start == end || start >= len(w.Buf) {
		return 0, 0, false
	}
	stop, _ = w.LineEnd(start)
	return start, stop, true
}

// SkipBreak returns the offset behind the '\n', '\r' or "\r\n" at the offset `end`: the beginning
// of the next line.
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

// LineBefore returns the offsets of the line before the line that begins at the offset `start`.
// ok is false if the buffer has no such line.
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

// Load reads the bytes of the window into a buffer. Only windows of a file need Load, because
// several workers read a file in parallel. A window of a stream has its bytes already.
func (w *Window) Load(buf *[]byte) {
	if w.read != nil {
		w.read(w, buf)
	}
}
