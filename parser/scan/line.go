package scan

import (
	"bytes"
	"slices"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/search"
	"vramsoak/parser/source"
)

// A Line is the text that a dialect reads: one line of a log, or a part of a line that ends with
// '\r'. It has no line end and no terminal escapes. A dialect also uses it to read the lines before
// and after, and to add records.
type Line struct {
	Text []byte
	// Serial numbers the texts that the scanner gives to dialects, from 1. No two texts have the
	// same number.
	Serial uint64
	// Read is the end of the last record that was read in this text, or 0.
	Read int
	// Scratch is memory that dialects reuse from line to line. Each scanner has its own.
	Scratch any

	s          *Scanner
	start, End int    // offsets in the window of the line with its escapes
	number     int    // number of the line in the window, from 0
	first      int    // start of the block of lines that a dialect reads together
	clean      []byte // buffer for the text without escapes
	written    []byte // the line as the program wrote it, with escapes
	head       Head   // the head that was asked for last
}

// set makes l the line at Buf[start:end] of the window. The parameter escaped is set if the line
// may contain terminal escapes.
func (l *Line) set(start, end, number int, escaped bool) {
	l.start, l.End, l.number = start, end, number
	l.Serial++
	l.Read = 0
	l.written = l.s.win.Buf[start:end]
	l.head.forget()
	l.Text = source.WithoutHole(l.written)
	if escaped && bytes.IndexByte(l.Text, search.Escape) >= 0 {
		l.clean = source.StripEscapes(l.clean[:0], l.Text)
		l.Text = l.clean
	}
}

// lineNumber returns the number of the line in the window, from 0.
func (l *Line) lineNumber() int {
	if w := l.s.writer; w != nil {
		return w.piece(l.start).number
	}
	return l.number
}

// lineAfter returns the offsets of the line behind the line that ends at an offset of the window,
// as [source.Window.LineAfter] does. Behind a line that ends with '\n', it passes over texts that
// end with '\r', because the next text is drawn over them:
//
//	| Allocated memory      |   5624 MiB |
//	transcribing:  50%|█████     | 5/10\r|       from large pool |   5543 MiB |
func (s *Scanner) lineAfter(end int) (start, stop int, ok bool) {
	over := !s.drawnOver(end)
	for start, stop, ok = s.win.LineAfter(end); ok && over && s.drawnOver(stop); {
		start, stop, ok = s.win.LineAfter(stop)
	}
	return start, stop, ok
}

// lineBefore is lineAfter for the line before a line that begins at an offset.
func (s *Scanner) lineBefore(start int) (from, end int, ok bool) {
	from, end, ok = s.win.LineBefore(start)
	if end, _ := s.win.LineEnd(start); !ok || s.drawnOver(end) {
		return from, end, ok
	}
	for ok && s.drawnOver(end) {
		from, end, ok = s.win.LineBefore(from)
	}
	return from, end, ok
}

// drawnOver reports whether a text ends with '\r' at an offset of the window, and not with "\r\n".
func (s *Scanner) drawnOver(end int) bool {
	buf := s.win.Buf
	return end < len(buf) && buf[end] == '\r' && (end+1 == len(buf) || buf[end+1] != '\n')
}

// Peek returns the text of the n-th line after this one, from 1. ok is false if the log ends before
// that line, or if the line lies beyond the margin of the window. ok is also false if a line of the
// harness comes first, because a block of the pipeline's lines ends there.
func (l *Line) Peek(n int) (text []byte, ok bool) {
	end := l.End
	for range n {
		start, stop, ok := l.s.lineAfter(end)
		if !ok {
			return nil, false
		}
		text, end = source.PlainText(l.s.win.Buf[start:stop]), stop
		if bytes.HasPrefix(lex.TrimBlanks(text), record.HarnessPrefixBytes) {
			return nil, false
		}
	}
	return text, n > 0
}

// Next makes l the next line, if the window has one. Call [Line.Peek] first.
func (l *Line) Next() {
	start, end, ok := l.s.lineAfter(l.End)
	if ok {
		l.set(start, end, l.number+bytes.Count(l.s.win.Buf[l.End:start], source.Newline), true)
	}
}

// Previous returns the text of the n-th line before this one, from 1.
func (l *Line) Previous(n int) (text []byte, ok bool) {
	start, end := l.start, l.start
	for range n {
		if start, end, ok = l.s.lineBefore(start); !ok {
			return nil, false
		}
	}
	return source.PlainText(l.s.win.Buf[start:end]), true
}

// Cut reports whether the line is longer than the margin of the window. The text then lacks the
// beginning of the line.
func (l *Line) Cut() bool {
	return l.start > 0 && l.s.win.Buf[l.start-1] != '\n' && l.s.win.Buf[l.start-1] != '\r'
}

// Checkpoint adds a checkpoint that begins at an offset of the text. The caller sets its quantities
// through the pointer, which is valid until the next record is added.
func (l *Line) Checkpoint(at int, name string) *record.Checkpoint {
	out := l.s.out
	n := len(out.Entries)
	out.Entries = slices.Grow(out.Entries, 1)[:n+1]
	out.Entries[n] = Entry{}
	c := &out.Entries[n].Checkpoint
	c.Name = name
	l.Head(at).fill(&c.Header)
	return c
}

// Undo removes the last record.
func (l *Line) Undo() { l.s.out.Entries = l.s.out.Entries[:len(l.s.out.Entries)-1] }

// Add adds a record. The caller must have made its header with [Line.Header], and must not have
// called [Line.Head] with another offset since.
func (l *Line) Add(rec record.Record) {
	if c, ok := rec.(record.Checkpoint); ok {
		l.s.out.Entries = append(l.s.out.Entries, Entry{Checkpoint: c})
		return
	}
	switch r := rec.(type) {
	case record.OutOfMemory:
		l.failed(&r)
		rec = r
	case record.Event:
		if r.Kind == record.EventFallback {
			r.Speaker, r.NamesFailure = l.head.speaker(l.offset(r.Text)), namesAnother(r.Text)
			rec = r
		}
	}
	l.s.out.Entries = append(l.s.out.Entries, Entry{Other: rec})
}

// Bad adds a syntax error: the text at the offset looks like a record, but cannot be read as one.
// The parameter expected says what the text should be.
func (l *Line) Bad(at int, expected, advice string) {
	l.Add(record.SyntaxError{
		Header: l.Header(
			at,
		),
		Expected: expected,
		Found:    lex.Shorten(strings.ToValidUTF8(string(l.Text[at:]), "�"), 80),
		Advice:   advice,
	})
}

// Open opens a table of the current dialect, to which later lines are offered. It replaces an
// earlier table of this dialect.
func (l *Line) Open(t Table) { l.s.openTable(t) }

// Opened returns the open table of the current dialect, or nil.
func (l *Line) Opened() Table {
	for _, t := range l.s.tables {
		if t.dialect == l.s.reading {
			return t.table
		}
	}
	return nil
}

// Str returns a part of the text as a string of valid UTF-8, without blanks at both ends. Equal
// strings share their memory.
func (l *Line) Str(b []byte) string { return l.s.strings.str(b) }

// Message returns the text from an offset on, shortened to 300 bytes.
func (l *Line) Message(at int) string {
	return lex.Shorten(strings.ToValidUTF8(string(l.Text[at:min(len(l.Text), at+400)]), "�"), 300)
}

// BadCheckpoint adds a syntax error for a checkpoint that begins at an offset. The parameter found
// is the text that could not be read.
func (l *Line) BadCheckpoint(at int, expected string, found []byte) {
	l.Add(record.SyntaxError{
		Header:   l.Header(at),
		Expected: expected,
		Found: lex.Shorten(
			strings.ToValidUTF8(string(bytes.TrimSpace(found[:min(len(found), 200)])), "�"),
			80,
		),
		Advice: record.TornAdvice,
	})
}

// Begins reports whether only blanks precede an offset of the line. A real record begins its line.
// Text in the middle of a line only quotes a record.
func (l *Line) Begins(at int) bool { return len(lex.TrimBlanks(l.Text[:at])) == 0 && !l.Cut() }

// IsOwn reports whether the harness may have written the line. Such a line follows a '\n', not a
// '\r', and begins with the harness's prefix without escapes. Text on a screen and the outputs of a
// notebook never are the harness's.
func (l *Line) IsOwn() bool {
	ownLine := l.start == 0 || l.s.win.Buf[l.start-1] == '\n'
	return ownLine && !l.s.Printed &&
		bytes.HasPrefix(lex.TrimBlanks(source.WithoutHole(l.written)), record.HarnessPrefixBytes)
}

// IsWrapped reports whether a wrapper was taken off the line, see [source.Unwrapper].
func (l *Line) IsWrapped() bool {
	return l.s.writer != nil && l.s.writer.piece(l.start).kind != 0
}

// Near is how many bytes away from its needle a dialect looks for the rest of a record. A limit is
// necessary, because a long line may be full of needles.
const Near = 1 << 10

// NameMax is the largest length of a checkpoint's name, in bytes.
const NameMax = 4 << 10

// Written returns the line as the program wrote it, with escapes.
func (l *Line) Written() []byte { return l.written }

// Below returns the line that follows the line ending at an offset of the window: its text and its
// offsets. ok is false if the log ends first, or if the line lies beyond the margin.
func (l *Line) Below(end int) (text []byte, start, stop int, ok bool) {
	start, stop, ok = l.s.lineAfter(end)
	if !ok {
		return nil, 0, 0, false
	}
	return source.PlainText(l.s.win.Buf[start:stop]), start, stop, true
}

// LineEnds returns the number of line ends in the log between two offsets of the window.
func (l *Line) LineEnds(from, to int) int {
	if w := l.s.writer; w != nil {
		return w.piece(to).number - w.piece(from).number
	}
	return bytes.Count(l.s.win.Buf[from:to], source.Newline)
}

// Added returns the number of records that were added to the window so far.
func (l *Line) Added() int { return len(l.s.out.Entries) }

// Last returns the record that was added last, which must not be a checkpoint.
func (l *Line) Last() record.Record { return l.s.out.Entries[len(l.s.out.Entries)-1].Other }

// Put adds a record as it is. Unlike [Line.Add], it sets no field of the record.
func (l *Line) Put(
	rec record.Record,
) {
	l.s.out.Entries = append(l.s.out.Entries, Entry{Other: rec})
}

// NoteOwn notes that the window may have lines of the harness.
func (l *Line) NoteOwn() { l.s.out.Own = true }

// Path returns the name of the log.
func (l *Line) Path() string { return l.s.path }
