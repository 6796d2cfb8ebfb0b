package scan

import (
	"bytes"
	"cmp"
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
	parts    lineParts // of the line that is open now
	open     lineParts // parts at the end of the window
	printed  int64     // offset in the log of the last line up to the end of the window
	last     int       // index of the piece that was asked for last
	state    writerState
}

// A piece is a line of a writer, or a part of it that ends with '\r'.
type piece struct {
	at         int // offset in the writer's buffer
	start, end int // offsets in the window of the line, or of its last part, with its wrapper
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
	ended := win.To > 0 && win.Buf[win.To-1] == '\n'
	for _, w := range writers {
		next := writerState{name: w.name, parts: w.open, printed: w.printed, ended: ended}
		if w.from < w.to || len(w.state.tables) > 0 {
			sub := source.Window{Buf: w.buf, From: w.from, To: w.to, Offset: win.Offset}
			s.writer, s.around = w, win.Buf
			end, _ := s.scanLines(sub, w.offsetOf(w.state.end-win.Offset), w.state.tables, out)
			s.leaveScreens(out.Lines, out)
			s.writer = nil
			if next.tables = s.tables; len(s.tables) > 0 || end > w.to {
				next.end = win.Offset + w.startOf(end)
			}
		} else if w.state.end > win.Offset+int64(win.To) { // a block goes on behind the window
			next.end = w.state.end
		}
		if next.end > 0 || next.parts.any() {
			out.State = append(out.State, next)
		}
	}
	if extra := len(out.State) - maxStates; extra > 0 { // keep those that printed last
		slices.SortStableFunc(out.State, func(a, b writerState) int {
			return cmp.Compare(a.printed, b.printed)
		})
		out.State = slices.Delete(out.State, 0, extra)
	}
	sortByLine(out.Entries[entries:])
}

// sortByLine puts entries in the order of their lines.
func sortByLine(entries []Entry) {
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.line() - b.line() })
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
		w := b.writer(state[i].name)
		w.state, w.printed = state[i], state[i].printed
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
	entered, left := false, false
	for pos < len(win.Buf) {
		if !entered && pos >= win.From {
			entered = true
			b.enter()
		}
		if !left && pos >= win.To {
			left = true
			b.leave()
		}
		end := len(win.Buf)
		if i := bytes.IndexByte(win.Buf[pos:], '\n'); i >= 0 {
			end = pos + i + 1
		}
		b.line(pos, end, number)
		pos = end
		number++
	}
	if !entered {
		b.enter()
	}
	if !left {
		b.leave()
	}
	for _, w := range s.writers {
		w.bound(win)
	}
	return s.writers
}

// enter is called before the window's first line. The window before knows the parts that are open
// there. The lines in the margin may lack some of them.
func (b *splitter) enter() {
	for _, w := range b.s.writers {
		w.parts = w.state.parts
		for i := range w.parts {
			w.parts[i].text = slices.Clip(w.parts[i].text)
		}
	}
}

// leave is called behind the window's last line. It notes the parts that are open there. On a
// screen the next window shows the same lines again, so they are not kept.
func (b *splitter) leave() {
	if b.s.Printed {
		return
	}
	for _, w := range b.s.writers {
		for i, part := range w.parts {
			if part.open {
				part.text, part.line = slices.Clone(part.text), slices.Clone(part.line)
				w.open[i] = part
			}
		}
	}
}

// bound sets the part of the writer's buffer that the window owns.
func (w *writer) bound(win source.Window) {
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
	whole := start
	var w *writer
	var wrapping source.Wrapping // of the whole line
	cut := start > 0 && b.win.Buf[start-1] != '\n'
	for ; start < end; cut = false {
		stop, next, last := end-ending, end, true
		if i := bytes.IndexByte(b.win.Buf[start:stop], '\r'); i >= 0 {
			stop, next, last = start+i, start+i+1, false
		}
		raw, newline := b.win.Buf[start:stop], b.win.Buf[stop:next]
		if bar := source.BarEnd(raw); bar > 0 && raw[0] != '{' {
			raw, next, newline, last = raw[:bar], start+bar, carriageReturn, false
		}
		inner, ok := b.s.unwrapper.Unwrap(raw)
		switch {
		case ok && (w == nil || len(inner.Writer) > 0):
			w = b.writer(b.s.strings.str(inner.Writer))
		case w == nil:
			w = b.writer("")
		}
		p := piece{start: start, end: next, number: number}
		if ok {
			p.head, p.kind, raw = inner.Head, inner.Kind, inner.Text
		}
		if start == whole && ok {
			wrapping = inner
			if part := &w.parts[inner.Stream]; part.open { // the line goes on
				raw = append(part.text, raw...)
				*part = linePart{}
			}
		}
		if start < b.win.To {
			w.printed = max(w.printed, b.win.Offset+int64(start))
		}
		if last && wrapping.Partial {
			if i := bytes.LastIndexByte(raw, '\r') + 1; i > 0 {
				w.add(p, raw[:i], nil, cut)
				raw = raw[i:]
			}
			if len(raw) > source.Margin { // longer than a line that is read as a whole
				w.add(p, raw, carriageReturn, cut)
				raw = nil
			}
			w.parts[wrapping.Stream] = linePart{
				open: true, text: slices.Clone(raw), line: b.win.Buf[start:next], head: p.head, kind: p.kind,
			}
		} else {
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

// A linePart is the beginning of a line that a log driver stored in several parts. The line has the
// number of its last part, so that the numbers of a log's records never go back.
type linePart struct {
	open bool
	text []byte
	line []byte // the last of the parts, with its wrapper
	head int    // number of bytes of its wrapper before the text
	kind source.WrapKind
}

// lineParts holds the open part of each of a writer's streams.
type lineParts [source.Streams]linePart

// any reports whether a part is open.
func (parts *lineParts) any() bool {
	for i := range parts {
		if parts[i].open {
			return true
		}
	}
	return false
}

// hasParts reports whether the window may have a part of a line, as the files of Kubernetes store
// it.
func (s *Scanner) hasParts(win source.Window) bool {
	lines := win.Buf[win.From:win.To]
	first, _, _ := bytes.Cut(lines, source.Newline)
	last := bytes.TrimRight(lines, "\r\n")
	last = last[bytes.LastIndexByte(last, '\n')+1:]
	for _, line := range [][]byte{first, last} {
		if w, ok := s.unwrapper.Unwrap(line); ok && w.Stream > 0 {
			return bytes.Contains(lines, []byte(" stdout P ")) ||
				bytes.Contains(lines, []byte(" stderr P "))
		}
	}
	return false
}

// finishParts reads the open parts of a writer's lines at the end of the log.
func (s *Scanner) finishParts(state *writerState, out *Batch) {
	number := 0 // the log ends in this line, counted from the end of the last window
	if state.ended {
		number = -1
	}
	for i := range state.parts {
		part := &state.parts[i]
		if len(part.text) == 0 {
			continue
		}
		w := &writer{name: state.name}
		w.add(
			piece{end: len(part.line), head: part.head, number: number, kind: part.kind},
			part.text, nil, false,
		)
		s.writer, s.around = w, part.line
		s.scanLines(source.Window{Buf: w.buf, To: len(w.buf)}, 0, state.tables, out)
		s.writer, state.tables = nil, s.tables
	}
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
