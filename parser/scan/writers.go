package scan

import (
	"bytes"
	"slices"
	"sort"

	"vramsoak/parser/record"
	"vramsoak/parser/search"
	"vramsoak/parser/source"
)

// A writer holds the lines of a window that one process printed, without their wrappers. Wrappers
// name the process, see [source.Wrapping]. So a dialect that reads a block of lines sees the lines
// of one process only, even if several processes print into one log at the same time.
type writer struct {
	name string // as in [record.Header]
	// buf holds the lines. Those that the window owns begin in buf[from:to].
	buf      []byte
	from, to int
	pieces   []piece
	parts    [source.Streams]linePart
	last     int // index of the piece that was asked for last
	state    writerState
}

// A piece is a line of a writer, or a part of it that ends with '\r'.
type piece struct {
	at         int // offset in the writer's buffer
	start, end int // offsets in the window of the whole line, with its wrapper
	head       int // number of bytes of the wrapper before the text
	number     int // number of the line in the window, from 0
	kind       source.WrapKind
}

// piece returns the piece at an offset of the writer's buffer.
func (w *writer) piece(at int) *piece {
	if p := w.pieces[w.last:]; len(p) > 1 && p[0].at <= at && at < p[1].at {
		return &p[0]
	}
	i := sort.Search(len(w.pieces), func(i int) bool { return w.pieces[i].at > at })
	w.last = max(0, i-1)
	return &w.pieces[w.last]
}

// maxStates is the most writers whose open tables are kept from window to window.
const maxStates = 256

// scanWriters reads a window whose lines are wrapped. It reads the lines of each writer on their
// own, and puts the records in the order of their lines.
func (s *Scanner) scanWriters(win source.Window, state State, out *Batch) {
	entries := len(out.Entries)
	writers := s.split(win, state)
	out.State = nil
	out.Lines = bytes.Count(win.Buf[win.From:win.To], source.Newline)
	for _, w := range writers {
		if w.from == w.to && len(w.state.tables) == 0 {
			if w.state.end > win.Offset+int64(win.To) { // a block of its lines goes on behind the window
				out.State = append(out.State, w.state)
			}
			continue
		}
		sub := source.Window{Buf: w.buf, From: w.from, To: w.to, Offset: win.Offset}
		s.writer, s.around = w, win.Buf
		end, _ := s.scanLines(sub, w.offsetOf(w.state.end-win.Offset), w.state.tables, out)
		s.leaveScreens(out.Lines, out)
		s.writer = nil
		if len(s.tables) > 0 || end > w.to {
			out.State = append(out.State, writerState{w.name, s.tables, win.Offset + w.startOf(end)})
		}
	}
	if extra := len(out.State) - maxStates; extra > 0 {
		out.State = slices.Delete(out.State, 0, extra)
	}
	slices.SortStableFunc(out.Entries[entries:], func(a, b Entry) int { return a.line() - b.line() })
}

// offsetOf returns the offset in the writer's buffer of the first line that begins at or after an
// offset of the window.
func (w *writer) offsetOf(start int64) int {
	i := sort.Search(len(w.pieces), func(i int) bool { return int64(w.pieces[i].start) >= start })
	if i == len(w.pieces) {
		return len(w.buf)
	}
	return w.pieces[i].at
}

// startOf returns the offset in the window of the line at an offset of the writer's buffer.
func (w *writer) startOf(at int) int64 {
	i := sort.Search(len(w.pieces), func(i int) bool { return w.pieces[i].at >= at })
	if i == len(w.pieces) {
		return int64(w.pieces[i-1].end)
	}
	return int64(w.pieces[i].start)
}

// split divides the lines of a window by their writers. Every writer of the state has an entry.
func (s *Scanner) split(win source.Window, state State) []*writer {
	b := splitter{s: s, win: win, known: map[string]*writer{}}
	s.writers, b.spare = nil, s.writers
	for i := range state {
		b.writer(state[i].name).state = state[i]
	}
	// The buffer may begin in the middle of a line.
	pos := 0
	if win.Offset > 0 {
		if pos = bytes.IndexByte(win.Buf[:win.From], '\n') + 1; pos == 0 {
			pos = win.From
		}
	}
	s.unwrapper.LineNumbers = win.Numbered
	number := -bytes.Count(win.Buf[min(pos, win.From):win.From], source.Newline)
	for pos < len(win.Buf) {
		end := len(win.Buf)
		if i := bytes.IndexByte(win.Buf[pos:], '\n'); i >= 0 {
			end = pos + i + 1
		}
		b.line(pos, end, number)
		pos = end
		number++
	}
	for _, w := range s.writers {
		w.bound(win)
	}
	return s.writers
}

// bound sets the part of the writer's buffer that the window owns.
func (w *writer) bound(win source.Window) {
	for i := range w.parts {
		if part := &w.parts[i]; part.text != nil { // the log, or the buffer, ends behind it
			p := part.first
			if n := len(w.pieces); n > 0 { // the pieces are in the order of the window
				p.start = max(p.start, w.pieces[n-1].start)
			}
			w.add(p, part.text, nil, false)
		}
	}
	w.from, w.to = w.offsetOf(int64(win.From)), w.offsetOf(int64(win.To))
	if len(w.pieces) == 0 { // the writer has a state, but no lines
		w.pieces = append(w.pieces, piece{start: win.To, end: win.To})
	}
}

// A splitter divides the lines of one window by their writers.
type splitter struct {
	s     *Scanner
	win   source.Window
	known map[string]*writer
	spare []*writer // their buffers are reused
}

// writer returns the writer with a name, and adds it if it is new.
func (b *splitter) writer(name string) *writer {
	w := b.known[name]
	if w != nil {
		return w
	}
	w = &writer{}
	if n := len(b.spare); n > 0 {
		w, b.spare = b.spare[n-1], b.spare[:n-1]
		*w = writer{buf: w.buf[:0], pieces: w.pieces[:0]}
	}
	w.name = name
	b.known[name] = w
	b.s.writers = append(b.s.writers, w)
	return w
}

// line adds the line win.Buf[start:end], with its line end, to its writer. A '\r' in the line
// divides it. The parts belong to the writer of the part before, unless they are wrapped
// themselves. The end of a progress bar divides a line too, as if a '\r' were there, see
// [source.BarEnd].
func (b *splitter) line(start, end, number int) {
	text := b.win.Buf[start:end]
	ending := len(text) - len(bytes.TrimRight(text, "\r\n"))
	if b.win.Buf[end-1] != '\n' { // a log that ends, or a line that crosses the buffer's end
		ending = 0
	}
	var w *writer
	cut := start > 0 && b.win.Buf[start-1] != '\n'
	for ; start < end; cut = false {
		stop := end - ending
		next := end
		if i := bytes.IndexByte(b.win.Buf[start:stop], '\r'); i >= 0 {
			stop, next = start+i, start+i+1
		}
		raw, newline := b.win.Buf[start:stop], b.win.Buf[stop:next]
		if bar := source.BarEnd(raw); bar > 0 && raw[0] != '{' {
			raw, next, newline = raw[:bar], start+bar, carriageReturn
		}
		wrapping, ok := b.s.unwrapper.Unwrap(raw)
		switch {
		case ok && (w == nil || len(wrapping.Writer) > 0):
			w = b.writer(b.s.strings.str(wrapping.Writer))
		case w == nil:
			w = b.writer("")
		}
		p := piece{start: start, end: next, number: number}
		if ok {
			p.head, p.kind, raw = wrapping.Head, wrapping.Kind, wrapping.Text
		}
		part := &w.parts[wrapping.Stream]
		switch {
		case ok && wrapping.Partial:
			if part.text == nil {
				part.first = p
			}
			part.text = append(part.text, raw...)
		default:
			if ok && part.text != nil {
				p.number, p.head, p.kind = part.first.number, part.first.head, part.first.kind
				raw, part.text = append(part.text, raw...), nil
			}
			w.add(p, raw, newline, cut)
		}
		start = next
	}
}

var carriageReturn = []byte{'\r'}

// add adds a piece with its text and its line end. Set cut if the text lacks the line's beginning.
// The state of a progress bar in the text is a piece of its own.
func (w *writer) add(p piece, text, newline []byte, cut bool) {
	if len(w.buf) == 0 && cut {
		w.buf = append(w.buf, 'x') // so that the line counts as cut
	}
	if bar := source.BarEnd(text); bar > 0 {
		p.at = len(w.buf)
		w.pieces = append(w.pieces, p)
		w.buf = append(append(w.buf, text[:bar]...), '\r')
		text = text[bar:]
	}
	p.at = len(w.buf)
	w.pieces = append(w.pieces, p)
	w.buf = append(append(w.buf, text...), newline...)
}

// A linePart is the beginning of a line that a log driver stored in several parts.
type linePart struct {
	first piece
	text  []byte
}

// wrapper returns the wrapped line around an offset of the text that is read, and the number of
// bytes before its text. ok is false if the line has no wrapper.
func (s *Scanner) wrapper(at int) (line []byte, head int, ok bool) {
	if s.writer == nil {
		return nil, 0, false
	}
	p := s.writer.piece(at)
	if p.kind == 0 {
		return nil, 0, false
	}
	line = bytes.TrimRight(s.around[p.start:p.end], "\r\n")
	before, behind := line[:min(p.head, len(line))], line[min(p.head, len(line)):]
	if bytes.IndexByte(line, search.Escape) >= 0 {
		before = source.StripEscapes(nil, before)
		line = source.StripEscapes(slices.Clip(before), behind)
	}
	whole := len(line)
	line = source.WithoutHole(line)
	return line, max(0, len(before)-(whole-len(line))), true
}

// sign sets Wrap of the records that begin in the line at an offset. If the records' writer has a
// rank, sign sets the rank of the records that have none.
func (s *Scanner) sign(entries []Entry, at int) {
	for i := range entries {
		e := &entries[i]
		name := e.Writer
		if e.Other != nil {
			name = e.Other.Head().Writer
		}
		if s.writer != nil {
			e.Wrap = s.writer.piece(at).kind
		}
		if name == "" {
			continue
		}
		rank, _ := record.WriterRank(name)
		if r, ok := e.Other.(record.Ranked); ok && rank > 0 {
			e.Other = r.OfRank(rank)
		} else if e.Other == nil && rank > 0 && e.Lane.Rank == 0 {
			e.Lane.Rank = rank
		}
	}
}
