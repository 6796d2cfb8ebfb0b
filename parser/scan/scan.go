package scan

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/search"
	"vramsoak/parser/source"
	"vramsoak/parser/stamp"
)

// A Batch is what a scanner found in a window. Line numbers count from the window's first line, 1.
type Batch struct {
	Entries []Entry
	Line    int // how many lines the log has before the window
	Lines   int // '\n' in the window
	// end is where the reading ended, as an offset in the window's buffer: window.to, or behind it where the last block of
	// lines reaches further.
	End int
	// tables are those that are open at the end.
	Tables []openTable
	Own    bool // it may have lines of the harness
}

// An Entry is a record: a checkpoint, which most are, by value, or another one.
type Entry struct {
	record.Checkpoint
	Other record.Record
}

// Record returns the record, whose line is counted from the log's first one. lines is how many lines
// the log has before the window.
func (e *Entry) Record(lines int) record.Record {
	if e.Other != nil {
		return e.Other.Moved(lines)
	}
	return e.Checkpoint.Moved(lines)
}

// move puts the entry at another line of the window.
func (e *Entry) move(line int) {
	rec := e.Record(0)
	from := rec.At().Line
	if e.Other == nil {
		e.Pos.Line = line
		return
	}
	e.Other = e.Record(line - from)
}

type openTable struct {
	dialect string
	table   Table
}

// A place is where a line of a window begins, and how many the window has before it.
type place struct{ start, number int }

// A Scanner reads the lines of windows. It is used by one goroutine at a time.
type Scanner struct {
	path     string
	dialects *Dialects

	buf     []byte // for windows
	win     source.Window
	out     *Batch
	tables  []openTable
	reading string // the dialect that reads
	Printed bool   // what is read is no log itself: a screen, or the outputs of a notebook
	line    Line
	names   map[string]string
	recent  [256]string       // of names, see recentPlace: most logs say the same again and again
	found   search.Candidates // where the search stopped
	hits    []search.Hit      // in the line, not tried yet
	stamp   stamp.Last
}

func NewScanner(path string, m *Dialects) *Scanner {
	s := &Scanner{path: path, dialects: m, names: map[string]string{}}
	s.line.s = s
	return s
}

// Scan reads the lines that begin in win.buf[win.from:win.to], with the tables that are open before them. Those before
// skip are read already, with a block of lines that begins before the window.
func (s *Scanner) Scan(win source.Window, skip int, tables []openTable, out *Batch) {
	s.win, s.out, s.tables = win, out, tables
	for _, t := range tables {
		if sc, ok := t.table.(*screen); ok {
			sc.enter(win)
		}
	}
	pos := max(win.From, skip)
	number := bytes.Count(win.Buf[win.From:min(pos, win.To)], source.Newline) // of the line at pos
	last := place{win.From, 0}
	for pos < win.To {
		hit, start := -1, pos
		if len(s.tables) == 0 && !win.Docker && len(s.dialects.each) == 0 {
			// Only lines with a needle are looked at. It may lie across the window's end, in a line that is longer than a window.
			text := win.Buf[:min(len(win.Buf), win.To+search.MaxNeedle)]
			var lines int
			if hit, lines, s.found = s.dialects.needles.Next(text, pos); hit < 0 {
				last = place{win.To, number + lines - bytes.Count(text[win.To:], source.Newline)}
				break
			}
			if start = max(win.LineStart(hit), pos); start >= win.To {
				break
			}
			number += lines
		} // else the line may be a row, or of a dialect without needles
		end, escaped := win.LineEnd(max(start, hit))
		hit -= start
		last = place{start, number}
		s.line.set(start, end, number, escaped)
		if escaped {
			s.openScreen(win.Buf[start:end])
			hit = -1 // there may be escapes before it, or in it
		}
		entries := len(out.Entries)
		if hit >= 0 {
			hit -= end - start - len(s.line.Text) // there may be a hole before the text
			s.read(hit)
		} else if !s.Row() && !s.each() {
			if hit, _, s.found = s.dialects.needles.Next(s.line.Text, 0); hit >= 0 {
				s.read(hit)
			}
		}
		nameFailures(out.Entries[entries:])
		pos, number = s.after(s.line.End), s.line.number
		if pos > s.line.End && win.Buf[pos-1] == '\n' {
			number++
		}
	}
	out.Lines = last.number + bytes.Count(win.Buf[last.start:win.To], source.Newline)
	out.End, out.Tables = max(pos, win.To), s.tables
	for _, t := range s.tables {
		if sc, ok := t.table.(*screen); ok {
			sc.leave(win, out)
		}
	}
}

// after is where to go on behind a line's end.
func (s *Scanner) after(end int) int { return max(s.win.SkipBreak(end), end) }

// read gives the line to the dialects: that one first whose needle begins first, of those whose prints stand at an offset or
// behind it. They may go on to the lines that follow.
func (s *Scanner) read(at int) {
	l := &s.line
	s.hits = s.hits[:0]
	from := at // where to search on
	for low := 0; ; {
		// A needle that begins before the first of those that are found may have its print behind it.
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
			return
		}
		first := s.hits[0]
		s.hits = s.hits[:copy(s.hits, s.hits[1:])]
		if first.Start < low {
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
func nameFailures(entries []Entry) {
	for i := range entries {
		event, ok := entries[i].Other.(record.Event)
		if !ok || event.Kind != record.EventFallback || len(entries) == 1 || failedToo(event.Text) {
			continue
		}
		for k := max(0, i-1); k < len(entries); k++ {
			o, ok := entries[k].Other.(record.OutOfMemory)
			if ok && o.Pos.Line == event.Pos.Line && (k > i || o.Text == event.Text) {
				o.Named, event.Named = true, true
				entries[k].Other, entries[i].Other = o, event
				break
			}
		}
	}
}

// try offers a needle to its dialects, and returns where the one that reads it ends, 0 where none does.
func (s *Scanner) try(h search.Hit) (end int) {
	l := &s.line
	start, stop, number, entries := l.start, l.End, l.number, len(s.out.Entries)
	for _, owner := range h.Owners {
		d := s.dialects.list[owner]
		s.reading, l.first = d.Name, l.start
		if end = d.Read(l, h.Start); end > 0 {
			return end
		}
		s.out.Entries = s.out.Entries[:entries]
		if l.start != start {
			l.set(start, stop, number, true)
		}
	}
	return 0
}

// Row gives the line to the open tables.
func (s *Scanner) Row() bool {
	own := s.line.IsOwn()
	for _, t := range s.tables {
		if own && t.dialect != screenName { // whatever a table takes for a row
			continue
		}
		s.reading, s.line.first = t.dialect, s.line.start
		if t.table.Row(&s.line) {
			return true
		}
	}
	return false
}

// each gives the line to the dialects without needles.
func (s *Scanner) each() bool {
	if len(s.dialects.each) > 0 && s.line.IsOwn() {
		return false
	}
	for _, d := range s.dialects.each {
		s.reading, s.line.first = d.Name, s.line.start
		if d.Read(&s.line, 0) > 0 {
			return true
		}
	}
	return false
}

// Finish reads what is left of the tables that are open where the log ends.
func (s *Scanner) Finish(tables []openTable, out *Batch) {
	s.out = out
	for _, t := range tables {
		if sc, ok := t.table.(*screen); ok {
			sc.end(s)
		}
	}
}

// closeTable closes the table of a dialect.
func (s *Scanner) closeTable(dialect string) {
	s.tables = slices.DeleteFunc(slices.Clone(s.tables), func(t openTable) bool { return t.dialect == dialect })
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

func (s *Scanner) str(b []byte) string {
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
