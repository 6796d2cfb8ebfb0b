package parser

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// A batch is what a scanner found in a window. Line numbers count from the window's first line, 1.
type batch struct {
	entries []entry
	line    int // how many lines the log has before the window
	lines   int // '\n' in the window
	// end is where the reading ended, as an offset in the window's buffer: window.to, or behind it where the last block of
	// lines reaches further.
	end int
	// tables are those that are open at the end.
	tables []openTable
	own    bool // it may have lines of the harness
}

// An entry is a record: a checkpoint, which most are, by value, or another one.
type entry struct {
	Checkpoint
	other Record
}

// record is the entry as a record, of a window before which the log has so many lines.
func (e *entry) record(lines int) Record {
	switch r := e.other.(type) {
	case nil:
		e.Pos.Line += lines
		return e.Checkpoint
	case Change:
		r.Pos.Line += lines
		return r
	case Event:
		r.Pos.Line += lines
		return r
	case Warning:
		r.Pos.Line += lines
		return r
	case OutOfMemory:
		r.Pos.Line += lines
		return r
	case Crash:
		r.Pos.Line += lines
		return r
	case RunStart:
		r.Pos.Line += lines
		return r
	case FileStart:
		r.Pos.Line += lines
		return r
	case FileEnd:
		r.Pos.Line += lines
		return r
	case Sample:
		r.Pos.Line += lines
		return r
	case Exit:
		r.Pos.Line += lines
		return r
	case Orphan:
		r.Pos.Line += lines
		return r
	case Idle:
		r.Pos.Line += lines
		return r
	case Holder:
		r.Pos.Line += lines
		return r
	case Resume:
		r.Pos.Line += lines
		return r
	case RunEnd:
		r.Pos.Line += lines
		return r
	case Quoted:
		r.Pos.Line += lines
		return r
	case SyntaxError:
		r.Pos.Line += lines
		return r
	case mover:
		return r.Moved(lines)
	}
	return e.other
}

// A mover is a record of a dialect's own, which no log has when it is read: it stands for a line until
// later lines say what it is. Moved returns it with its line so many lines further on.
type mover interface{ Moved(lines int) Record }

// move puts the entry at another line of the window.
func (e *entry) move(line int) {
	rec := e.record(0)
	from := rec.At().Line
	if e.other == nil {
		e.Pos.Line = line
		return
	}
	e.other = e.record(line - from)
}

type openTable struct {
	dialect string
	table   table
}

// A place is where a line of a window begins, and how many the window has before it.
type place struct{ start, number int }

// A scanner reads the lines of windows. It is used by one goroutine at a time.
type scanner struct {
	path     string
	dialects *dialectSet

	buf     []byte // for windows
	win     window
	out     *batch
	tables  []openTable
	reading string // the dialect that reads
	printed bool   // what is read is no log itself: a screen, or the outputs of a notebook
	line    line
	names   map[string]string
	recent  [256]string // of names, see recentPlace: most logs say the same again and again
	found   candidates  // where the search stopped
	hits    []hit       // in the line, not tried yet
	stamp   lastStamp
}

func newScanner(path string, m *dialectSet) *scanner {
	s := &scanner{path: path, dialects: m, names: map[string]string{}}
	s.line.s = s
	return s
}

// scan reads the lines that begin in win.buf[win.from:win.to], with the tables that are open before them. Those before
// skip are read already, with a block of lines that begins before the window.
func (s *scanner) scan(win window, skip int, tables []openTable, out *batch) {
	s.win, s.out, s.tables = win, out, tables
	for _, t := range tables {
		if sc, ok := t.table.(*screen); ok {
			sc.enter(win)
		}
	}
	pos := max(win.from, skip)
	number := bytes.Count(win.buf[win.from:min(pos, win.to)], newline) // of the line at pos
	last := place{win.from, 0}
	for pos < win.to {
		hit, start := -1, pos
		if len(s.tables) == 0 && !win.docker && len(s.dialects.each) == 0 {
			// Only lines with a needle are looked at. It may lie across the window's end, in a line that is longer than a window.
			text := win.buf[:min(len(win.buf), win.to+needleMax)]
			var lines int
			if hit, lines, s.found = s.dialects.needles.next(text, pos); hit < 0 {
				last = place{win.to, number + lines - bytes.Count(text[win.to:], newline)}
				break
			}
			if start = max(win.lineStart(hit), pos); start >= win.to {
				break
			}
			number += lines
		} // else the line may be a row, or of a dialect without needles
		end, escaped := win.lineEnd(max(start, hit))
		hit -= start
		last = place{start, number}
		s.line.set(start, end, number, escaped)
		if escaped {
			s.openScreen(win.buf[start:end])
			hit = -1 // there may be escapes before it, or in it
		}
		entries := len(out.entries)
		if hit >= 0 {
			hit -= end - start - len(s.line.text) // there may be a hole before the text
			s.read(hit)
		} else if !s.row() && !s.each() {
			if hit, _, s.found = s.dialects.needles.next(s.line.text, 0); hit >= 0 {
				s.read(hit)
			}
		}
		nameFailures(out.entries[entries:])
		pos, number = s.after(s.line.end), s.line.number
		if pos > s.line.end && win.buf[pos-1] == '\n' {
			number++
		}
	}
	out.lines = last.number + bytes.Count(win.buf[last.start:win.to], newline)
	out.end, out.tables = max(pos, win.to), s.tables
	for _, t := range s.tables {
		if sc, ok := t.table.(*screen); ok {
			sc.leave(win, out)
		}
	}
}

// after is where to go on behind a line's end.
func (s *scanner) after(end int) int { return max(s.win.skipBreak(end), end) }

// read gives the line to the dialects: that one first whose needle begins first, of those whose prints stand at an offset or
// behind it. They may go on to the lines that follow.
func (s *scanner) read(at int) {
	l := &s.line
	s.hits = s.hits[:0]
	from := at // where to search on
	for low := 0; ; {
		// A needle that begins before the first of those that are found may have its print behind it.
		for from < len(l.text) && (len(s.hits) == 0 || from < s.hits[0].start+s.hits[0].reach) {
			if at < 0 {
				if at, _, s.found = s.dialects.needles.next(l.text, from); at < 0 {
					from = len(l.text)
					break
				}
			}
			s.hits = s.found.insert(s.hits, l.text, at)
			at, from = -1, at+1
		}
		if len(s.hits) == 0 {
			return
		}
		first := s.hits[0]
		s.hits = s.hits[:copy(s.hits, s.hits[1:])]
		if first.start < low {
			continue
		}
		start := l.start
		if end := s.try(first); end > 0 {
			low, from = end, max(from, end)
			if l.start != start {
				s.hits, from = s.hits[:0], end
			}
		}
	}
}

// nameFailures notes which failure a fallback names, of the entries that were read together: the one in
// the same words, or the first behind them on the line.
func nameFailures(entries []entry) {
	for i := range entries {
		event, ok := entries[i].other.(Event)
		if !ok || event.Kind != EventFallback || len(entries) == 1 || failedToo(event.Text) {
			continue
		}
		for k := max(0, i-1); k < len(entries); k++ {
			o, ok := entries[k].other.(OutOfMemory)
			if ok && o.Pos.Line == event.Pos.Line && (k > i || o.Text == event.Text) {
				o.Named, event.Named = true, true
				entries[k].other, entries[i].other = o, event
				break
			}
		}
	}
}

// try offers a needle to its dialects, and returns where the one that reads it ends, 0 where none does.
func (s *scanner) try(h hit) (end int) {
	l := &s.line
	start, stop, number, entries := l.start, l.end, l.number, len(s.out.entries)
	for _, owner := range h.owners {
		d := s.dialects.list[owner]
		s.reading, l.first = d.name, l.start
		if end = d.read(l, h.start); end > 0 {
			return end
		}
		s.out.entries = s.out.entries[:entries]
		if l.start != start {
			l.set(start, stop, number, true)
		}
	}
	return 0
}

// row gives the line to the open tables.
func (s *scanner) row() bool {
	own := s.line.isOwn()
	for _, t := range s.tables {
		if own && t.dialect != screenName { // whatever a table takes for a row
			continue
		}
		s.reading, s.line.first = t.dialect, s.line.start
		if t.table.row(&s.line) {
			return true
		}
	}
	return false
}

// each gives the line to the dialects without needles.
func (s *scanner) each() bool {
	if len(s.dialects.each) > 0 && s.line.isOwn() {
		return false
	}
	for _, d := range s.dialects.each {
		s.reading, s.line.first = d.name, s.line.start
		if d.read(&s.line, 0) > 0 {
			return true
		}
	}
	return false
}

// finish reads what is left of the tables that are open where the log ends.
func (s *scanner) finish(tables []openTable, out *batch) {
	s.out = out
	for _, t := range tables {
		if sc, ok := t.table.(*screen); ok {
			sc.end(s)
		}
	}
}

// closeTable closes the table of a dialect.
func (s *scanner) closeTable(dialect string) {
	s.tables = slices.DeleteFunc(slices.Clone(s.tables), func(t openTable) bool { return t.dialect == dialect })
}

func (s *scanner) openTable(t table) {
	for i := range s.tables {
		if s.tables[i].dialect == s.reading {
			s.tables[i].table = t
			return
		}
	}
	s.tables = append(s.tables, openTable{s.reading, t})
}

// recentPlace is where in a scanner's recent a string stands: by its first and its last eight bytes.
func recentPlace(b []byte) int {
	h := uint64(len(b))
	if n := len(b); n >= 8 {
		h += binary.LittleEndian.Uint64(b)*3 + binary.LittleEndian.Uint64(b[n-8:])
	} else {
		h += uint64(b[0])<<16 + uint64(b[n/2])<<8 + uint64(b[n-1])
	}
	return int(h * 0x9e3779b97f4a7c15 >> 56) // 2^64 over the golden ratio, as hashFactor
}

// namesMax bounds the strings that a scanner shares: a log may give every record a name of its own.
const namesMax = 4096

func (s *scanner) str(b []byte) string {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return ""
	}
	recent := &s.recent[recentPlace(b)]
	if *recent == string(b) {
		return *recent
	}
	if name, ok := s.names[string(b)]; ok {
		*recent = name
		return name
	}
	name := strings.ToValidUTF8(string(b), "�")
	if len(s.names) < namesMax && len(b) < 256 {
		s.names[string(b)] = name
	}
	return name
}
