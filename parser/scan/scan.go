package scan

import (
	"bytes"
	"slices"

	"vramsoak/parser/record"
	"vramsoak/parser/search"
	"vramsoak/parser/source"
	"vramsoak/parser/stamp"
)

// A Batch holds the records that a scanner found in a window. Their line numbers count from the
// window's first line, which is 1.
type Batch struct {
	Entries []Entry
	Line    int // number of lines in the log before the window
	Lines   int // number of '\n' in the window
	// State is what the next window needs to know.
	State State
	Own   bool // the window may have lines of the harness
}

// An Entry holds a record. It holds a checkpoint by value, because most records are checkpoints.
// Other is any other record, or nil.
type Entry struct {
	record.Checkpoint
	Other record.Record
	// Wrap says how the record's line was wrapped.
	Wrap source.WrapKind
}

// Record returns the record with its line number in the log. The parameter lines is the number of
// lines in the log before the window.
func (e *Entry) Record(lines int) record.Record {
	if e.Other != nil {
		return e.Other.Moved(lines)
	}
	return e.Moved(lines)
}

// line returns the number of the record's line.
func (e *Entry) line() int {
	if e.Other != nil {
		return e.Other.At().Line
	}
	return e.Pos.Line
}

// move changes the record's line number in the window.
func (e *Entry) move(line int) {
	if e.Other == nil {
		e.Pos.Line = line
		return
	}
	e.Other = e.Record(line - e.line())
}

// A State is what a scanner must know before it reads a window: for each writer, what was open at
// the end of the window before. See [Batch].
type State []writerState

// A writerState is the part of a [State] for one writer.
type writerState struct {
	name   string // as in [source.Wrapping]
	tables OpenTables
	end    int64 // offset in the log up to which the writer's lines were read
	// parts are parts of lines that the next window continues.
	parts   lineParts
	printed int64 // offset in the log of the writer's last line
	ended   bool  // the last window ends with a line end
}

// plain reports whether the state is only of lines without a wrapper.
func (st State) plain() bool {
	return len(st) == 0 || len(st) == 1 && st[0].name == "" && !st[0].parts.any()
}

// concerns reports whether a window that begins at an offset of the log must be read with this
// state.
func (st State) concerns(from int64) bool {
	for i := range st {
		if len(st[i].tables) > 0 || st[i].end > from || st[i].parts.any() {
			return true
		}
	}
	return false
}

// OpenTables are the tables that are open at a point of a log.
type OpenTables []openTable

type openTable struct {
	dialect string
	table   Table
}

// A place is the offset of a line in a window and the number of lines before this line.
type place struct{ start, number int }

// A Scanner reads the lines of windows. Only one goroutine may use it at a time.
type Scanner struct {
	path     string
	dialects *Dialects

	buf     []byte // for windows
	win     source.Window
	out     *Batch
	tables  OpenTables
	reading string // name of the dialect that reads now
	Printed bool   // the text is not a log itself, but a screen or the outputs of a notebook
	line    Line
	strings interner
	found   search.Candidates // needles that may be at the offset where the search stopped
	hits    []search.Hit      // needles in the line that no dialect has read yet
	later   []search.Hit      // needles in the line to offer to the dialects with Last
	stamp   stamp.Last
	reused  string // the writer in the head that stamp remembers
	looked  place  // the last line of the window that was looked at
	last    bool   // the dialects with Last are reading
	// unordered is set if a record is of a line above the record before it.
	unordered bool
	// unwrapper takes the wrappers off lines. writer is the writer whose lines are read now, or nil
	// if no wrappers were taken off.
	unwrapper source.Unwrapper
	writer    *writer
	writers   []*writer // of the last window; their buffers are reused
	around    []byte    // the window around the writer's lines
}

// NewScanner returns a scanner. The records' positions have the given path.
func NewScanner(path string, m *Dialects) *Scanner {
	s := &Scanner{path: path, dialects: m, strings: interner{known: map[string]string{}}}
	s.line.s = s
	s.line.head.line = &s.line
	return s
}

// Scan reads the lines that begin in win.Buf[win.From:win.To] and adds their records to out. The
// parameter state is the State of the window before, see [Batch]. If a line that may have a record
// is wrapped (see [source.Unwrapper]), Scan takes the wrappers off all lines of the window, and
// reads the lines of each writer on their own. It also does so if a line may have been stored in
// parts, because a needle may be in two of them.
func (s *Scanner) Scan(win source.Window, state State, out *Batch) {
	entries := len(out.Entries)
	if !win.Wrapped && state.plain() && !s.hasParts(win) && s.scanPlain(win, state, out) {
		return
	}
	clear(out.Entries[entries:])
	out.Entries = out.Entries[:entries]
	s.scanWriters(win, state, out)
}

// scanPlain reads the lines of a window without wrappers. It reports false if it meets a wrapped
// line that may have a record.
func (s *Scanner) scanPlain(win source.Window, state State, out *Batch) bool {
	var carried writerState
	if len(state) > 0 {
		carried = state[0]
	}
	skip := int(max(0, carried.end-win.Offset))
	s.unordered = false
	end, ok := s.scanLines(win, skip, carried.tables, out)
	if !ok {
		return false
	}
	out.Lines = s.looked.number + bytes.Count(win.Buf[s.looked.start:win.To], source.Newline)
	if s.unordered {
		sortByLine(out.Entries)
	}
	out.State = nil
	if len(s.tables) > 0 || end > win.To {
		out.State = State{{tables: s.tables, end: win.Offset + int64(end)}}
	}
	s.leaveScreens(out.Lines, out)
	return true
}

// scanLines reads the lines that begin in win.Buf[win.From:win.To]. The parameter tables holds the
// tables that are open before these lines. scanLines leaves out lines before the offset skip,
// because they belong to a block that began in an earlier window. It returns the offset at which
// reading ended, which lies behind win.To if a block crosses the window's end. ok is false if a
// line is wrapped that may have a record, and no wrappers were taken off the window's lines.
func (s *Scanner) scanLines(
	win source.Window, skip int, tables OpenTables, out *Batch,
) (end int, ok bool) {
	s.win, s.out, s.tables = win, out, tables
	pos := max(win.From, skip)
	looked := s.writer == nil && len(tables) > 0
	if looked && s.wrapped(win, pos) { // the rows before that line must not change the tables
		return 0, false
	}
	for _, t := range tables {
		if sc, ok := t.table.(*screen); ok {
			sc.enter(win)
		}
	}
	number := bytes.Count(win.Buf[win.From:min(pos, win.To)], source.Newline) // of the line at pos
	s.looked = place{win.From, 0}
	known := 0 // for isWrapped
	for pos < win.To {
		hit, start := -1, pos
		if len(s.tables) == 0 && !win.Wrapped && len(s.dialects.each) == 0 {
			// Only lines with a needle are read. In a line that is longer than a window, the needle may
			// cross the window's end.
			text := win.Buf[:min(len(win.Buf), win.To+search.MaxNeedle)]
			var lines int
			if hit, lines, s.found = s.dialects.needles.Next(text, pos); hit < 0 {
				s.looked = place{win.To, number + lines - bytes.Count(text[win.To:], source.Newline)}
				break
			}
			if start = max(win.LineStart(hit), pos); start >= win.To {
				break
			}
			number += lines
		} // else the line may be a row, or of a dialect without needles
		end, escaped := win.LineEnd(max(start, hit))
		if s.writer == nil && !looked {
			if s.isWrapped(win, known, start, end) {
				return 0, false
			}
			known = start
		}
		hit -= start
		s.looked = place{start, number}
		s.line.set(start, end, number, escaped)
		if escaped {
			s.openScreen(win.Buf[start:end])
			hit = -1 // there may be escapes before it, or in it
		}
		entries := len(out.Entries)
		if hit >= 0 {
			hit -= end - start - len(s.line.Text) // there may be a hole before the text
			s.read(hit)
		} else if !s.row() && !s.each() {
			if hit, _, s.found = s.dialects.needles.Next(s.line.Text, 0); hit >= 0 {
				s.read(hit)
			}
		}
		nameFailures(out.Entries[entries:])
		s.sign(out.Entries[entries:], start)
		pos, number = s.after(s.line.End), s.line.number
		if pos > s.line.End && win.Buf[pos-1] == '\n' {
			number++
		}
	}
	return max(pos, win.To), true
}

// wrapped reports whether a line that begins in win.Buf[pos:win.To] is wrapped.
func (s *Scanner) wrapped(win source.Window, pos int) bool {
	for known := 0; pos < win.To; {
		end, _ := win.LineEnd(pos)
		if s.isWrapped(win, known, pos, end) {
			return true
		}
		known, pos = pos, max(win.SkipBreak(end), end)
	}
	return false
}

// isWrapped reports whether the line win.Buf[start:end] must be taken out of a wrapper or divided
// at a progress bar. If a '\r' precedes the line, the wrapper may be before the texts that end with
// '\r'. The parameter known is the start of the line that isWrapped was called with before, or 0.
func (s *Scanner) isWrapped(win source.Window, known, start, end int) bool {
	if _, ok := s.unwrapper.Unwrap(win.Buf[start:end]); ok || source.BarEnd(win.Buf[start:end]) > 0 {
		return true
	}
	if start == 0 || win.Buf[start-1] == '\n' {
		return false
	}
	begin := max(known, start-source.Margin)
	i := bytes.LastIndexByte(win.Buf[begin:start], '\n')
	if begin += i + 1; i < 0 && (begin > 0 || win.Offset > 0) {
		return false // the line before has the same beginning, or it is too far away
	}
	end, _ = win.LineEnd(begin)
	_, ok := s.unwrapper.Unwrap(win.Buf[begin:end])
	return ok
}

// leaveScreens tells the open screens that the window ends. The parameter lines is the window's
// number of lines.
func (s *Scanner) leaveScreens(lines int, out *Batch) {
	for _, t := range s.tables {
		if sc, ok := t.table.(*screen); ok {
			sc.leave(s.win, lines, out)
		}
	}
}

// after returns the offset at which the line behind `end` begins.
func (s *Scanner) after(end int) int { return max(s.win.SkipBreak(end), end) }

// read offers the line to the dialects of the needles at or after the offset `at`, in the order of
// the needles. A dialect may read the next lines too.
func (s *Scanner) read(at int) {
	l := &s.line
	s.hits, s.later = s.hits[:0], s.later[:0]
	entries := len(s.out.Entries)
	from := at // where to search on
	// Needles before the offset read are skipped: they are in records, or were offered already. Of the
	// needles before the offset spanned, only those of failures count, see [Dialect.Spans].
	for read, spanned := 0, 0; ; {
		// A fingerprint behind that of the first hit may belong to a needle that begins at the first
		// hit or before it. So the search goes on for the first hit's Reach.
		for from < len(l.Text) && (len(s.hits) == 0 || from < s.hits[0].Start+s.hits[0].Reach) {
			if at < 0 {
				if at, _, s.found = s.dialects.needles.Next(l.Text, from); at < 0 {
					from = len(l.Text)
					break
				}
			}
			s.hits = s.found.Insert(s.hits, l.Text, at)
			at, from = -1, at+1
		}
		if len(s.hits) == 0 {
			s.readLast(s.out.Entries[entries:])
			return
		}
		first := s.hits[0]
		s.hits = s.hits[:copy(s.hits, s.hits[1:])]
		if first.Start < read {
			continue
		}
		start := l.start
		l.Read = max(read, spanned)
		switch end, spans := s.try(first, first.Start < spanned); {
		case end == 0:
		case l.start != start:
			read, spanned = end, 0
			s.hits, s.later, from = s.hits[:0], s.later[:0], end
		case spans && s.dialects.mayFail(l.Text[first.Start:end]):
			spanned = max(spanned, end)
		default:
			read, from = end, max(from, end)
		}
	}
}

// try offers a needle to its dialects, until one of them reads a record. It returns the offset
// where this record ends, or 0 if no dialect read one, and the dialect's Spans. If failures is set,
// it offers the needle only to dialects with Failure.
func (s *Scanner) try(h search.Hit, failures bool) (end int, spans bool) {
	l := &s.line
	start, stop, number, entries := l.start, l.End, l.number, len(s.out.Entries)
	for _, owner := range h.Owners {
		d := s.dialects.list[owner]
		if failures && !d.Failure {
			continue
		}
		if d.Last != s.last {
			if d.Last && len(s.later) < laterMax {
				s.later = append(s.later, h)
			}
			continue
		}
		s.reading, l.first = d.Name, l.start
		if end = d.Read(l, h.Start); end > 0 {
			return end, d.Spans
		}
		s.out.Entries = s.out.Entries[:entries]
		if l.start != start {
			l.set(start, stop, number, true)
		}
	}
	return 0, false
}

// laterMax is the most needles of a line that are offered to the dialects with Last. A line of
// needles only must not take time for each of them.
const laterMax = 64

// readLast offers the line to the dialects with Last, unless another dialect has read memory in it.
// The parameter read holds the records of the line. Records that give no memory, such as events and
// failures, may share the line.
func (s *Scanner) readLast(read []Entry) {
	if len(s.later) == 0 || s.line.IsOwn() {
		return
	}
	for i := range read {
		switch read[i].Other.(type) {
		case record.Event, record.OutOfMemory, record.Crash, record.FileStart, record.FileEnd,
			record.Quoted:
		default:
			return
		}
	}
	s.last = true
	defer func() { s.last = false }()
	start, end := s.line.start, 0
	for _, h := range s.later {
		if h.Start < end {
			continue
		}
		s.line.Read = end
		if next, _ := s.try(h, false); next > 0 {
			end = next
		}
		if s.line.start != start {
			return // the dialect has read the next lines too
		}
	}
}

// row offers the line to the open tables. It reports whether one of them read the line.
func (s *Scanner) row() bool {
	own := s.line.IsOwn()
	for _, t := range s.tables {
		if own && t.dialect != screenName { // no other table may read a line of the harness as a row
			continue
		}
		s.reading, s.line.first = t.dialect, s.line.start
		if t.table.Row(&s.line) {
			return true
		}
	}
	return false
}

// each offers the line to the dialects without needles. It reports whether one of them read the
// line.
func (s *Scanner) each() bool {
	if len(s.dialects.each) > 0 && s.line.IsOwn() {
		return false
	}
	for _, d := range s.dialects.each {
		s.reading, s.line.first = d.Name, s.line.start
		end := 0
		for next := d.Read(&s.line, 0); next > end; next = d.Read(&s.line, end) {
			end = next
		}
		if end > 0 {
			return true
		}
	}
	return false
}

// Finish adds the records that the open tables still hold at the end of the log, and those of lines
// that end with a part.
func (s *Scanner) Finish(state State, out *Batch) {
	s.out = out
	for i := range state {
		s.finishParts(&state[i], out)
		for _, t := range state[i].tables {
			if sc, ok := t.table.(*screen); ok {
				sc.end(s)
			}
		}
	}
	sortByLine(out.Entries)
}

// closeTable closes the table of the dialect with this name.
func (s *Scanner) closeTable(dialect string) {
	s.tables = slices.DeleteFunc(
		slices.Clone(s.tables),
		func(t openTable) bool { return t.dialect == dialect },
	)
}

func (s *Scanner) openTable(t Table) {
	for i := range s.tables {
		if s.tables[i].dialect == s.reading {
			s.tables[i].table = t
			return
		}
	}
	s.tables = append(s.tables, openTable{s.reading, t})
}
