package parser

import (
	"errors"
	"fmt"
	"io"
	"iter"
)

// chunk is how much of a log is read at once, beside the margins.
const chunk = 1 << 20

// Read yields the records of a log in its order. name stands in their positions. A line that looks like a record and
// cannot be read is a [SyntaxError] record; an I/O error is yielded once, with a nil record, and ends the reading.
//
// Lines may be of any length and hold any bytes: a '\r' ends a piece of a line as '\n' does (progress bars), and terminal
// escapes are passed over. Memory is constant.
func Read(r io.Reader, name string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s := newScanner(name, newMatcher(dialects))
		var out batch
		var tables []openTable
		win := window{}
		line := 0
		skip := 0 // what the last window read of this one
		for done := false; !done; {
			err := win.fill(r)
			done = err != nil
			win.cut(done)
			out.entries = out.entries[:0]
			s.scan(win, skip, tables, &out)
			for i := range out.entries {
				if !yield(out.entries[i].record(line), nil) {
					return
				}
			}
			line += out.lines
			tables = out.tables
			skip = win.slide(out.end)
			if done && !errors.Is(err, io.EOF) {
				yield(nil, fmt.Errorf("reading %s after line %d: %w", name, line, err))
			}
		}
	}
}

// fill reads until the window has a chunk and what follows it, or the log ends.
func (w *window) fill(r io.Reader) error {
	for len(w.buf) < w.from+chunk+margin {
		if cap(w.buf)-len(w.buf) < 64<<10 {
			grown := make([]byte, len(w.buf), 2*margin+chunk+64<<10)
			copy(grown, w.buf)
			w.buf = grown
		}
		n, err := r.Read(w.buf[len(w.buf):cap(w.buf)])
		w.buf = w.buf[:len(w.buf)+n]
		if err != nil {
			return err
		}
	}
	return nil
}

// cut sets where the window ends: behind the last line that ends in it, or with the log.
func (w *window) cut(last bool) {
	if last {
		w.to = len(w.buf)
		return
	}
	w.to = len(w.buf) - margin
	for i := w.to; i > max(w.from, w.to-margin); i-- {
		if b := w.buf[i-1]; b == '\n' || b == '\r' && w.buf[i] != '\n' {
			w.to = i
			return
		}
	}
}

// slide makes the window's rest the beginning of the next one, and translates an offset.
func (w *window) slide(offset int) int {
	drop := max(0, w.to-margin)
	w.buf = w.buf[:copy(w.buf, w.buf[drop:])]
	w.from = w.to - drop
	return offset - drop
}

// ParseLine reads one line of a log, with or without its newline, and returns the records that it holds: mostly none or
// one, more where '\r' or a torn write put several on one line.
func ParseLine(line []byte, pos Position) []Record {
	s := newScanner(pos.Path, lineMatcher)
	var out batch
	s.scan(window{buf: line, to: len(line)}, 0, nil, &out)
	if len(out.entries) == 0 {
		return nil
	}
	records := make([]Record, 0, len(out.entries))
	for i := range out.entries {
		records = append(records, out.entries[i].record(pos.Line-1))
	}
	return records
}

var lineMatcher = newMatcher(dialects)
