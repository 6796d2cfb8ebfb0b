package parser

import (
	"bytes"
	"slices"
	"strings"
)

// A line is what a dialect reads: one line of a log, or the piece of one that ends with '\r', without its end and
// without terminal escapes. Through it the dialect reaches the lines around, and adds its records.
type line struct {
	text []byte

	s          *scanner
	start, end int // in the window, of the line as it is there
	number     int // of the line in the window, from 0
	first      int // where the lines begin that a dialect reads together
	clean      []byte
	docker     []byte // the whole line, where the text is the program's in one of Docker's
	inner      []byte
	stamps     lineStamps
	tried      uint64 // the user's dialects that have tried the line
}

// set goes to the line that window[start:end] is; escaped says that there may be escapes in it.
func (l *line) set(start, end, number int, escaped bool) {
	l.start, l.end, l.number, l.stamps, l.tried = start, end, number, lineStamps{}, 0
	l.text, l.docker = withoutHole(l.s.win.buf[start:end]), nil
	if l.s.win.docker && isDocker(l.text) {
		l.docker = l.text
		l.inner = appendDocker(l.inner[:0], l.text)
		l.text = withoutHole(l.inner)
	}
	if (escaped || l.docker != nil) && bytes.IndexByte(l.text, escape) >= 0 {
		l.clean = stripEscapes(l.clean[:0], l.text)
		l.text = l.clean
	}
}

// peek is the text of the n-th line after this one, from 1; ok is false where the log, or what of it is at hand (some 64
// KiB), ends before. So it does before a line of the harness, which belongs to nothing that a pipeline prints.
func (l *line) peek(n int) (text []byte, ok bool) {
	end := l.end
	for range n {
		start, stop, ok := l.s.win.lineAfter(end)
		if !ok {
			return nil, false
		}
		text, end = plain(l.s.win.buf[start:stop], l.s.win.docker), stop
		if bytes.HasPrefix(trimBlanks(text), harnessPrefixBytes) {
			return nil, false
		}
	}
	return text, n > 0
}

// next goes on to the line after this one, which must be there: see peek.
func (l *line) next() {
	start, end, ok := l.s.win.lineAfter(l.end)
	if ok {
		l.set(start, end, l.number+bytes.Count(l.s.win.buf[l.end:start], newline), true)
	}
}

// previous is the text of the n-th line before this one, from 1.
func (l *line) previous(n int) (text []byte, ok bool) {
	start, end := l.start, l.start
	for range n {
		if start, end, ok = l.s.win.lineBefore(start); !ok {
			return nil, false
		}
	}
	return plain(l.s.win.buf[start:end], l.s.win.docker), true
}

// cut says that the line begins before what is at hand of it: it is longer than margin, and the text is not its beginning.
func (l *line) cut() bool {
	return l.start > 0 && l.s.win.buf[l.start-1] != '\n' && l.s.win.buf[l.start-1] != '\r'
}

// header is that of a record that begins at an offset of the text. Its time is the one that stands before the record;
// where several lines are read together and this one has none, it is that of the first.
func (l *line) header(at int) (h Header) {
	l.head(&h, at)
	return h
}

// head makes a zero header that of a record, see [line.header].
func (l *line) head(h *Header, at int) {
	// The number counts from the window's first line, see [batch].
	h.Pos.Path, h.Pos.Line, h.Dialect = l.s.path, l.number+1, l.s.reading
	s := &l.s.stamp
	if l.docker != nil {
		l.stamps.of(l.docker, len(dockerLog), s).into(h)
	} else if begin := min(at, stampMargin); !s.recurs(l.text[:begin], h) {
		l.stamps.of(l.text, at, s).into(h)
	}
	if h.Time.IsZero() && l.first < l.start {
		end, _ := l.s.win.lineEnd(l.first)
		first := plain(l.s.win.buf[l.first:end], l.s.win.docker)
		new(lineStamps).of(first, len(first), s).into(h)
	}
}

// checkpoint adds a checkpoint that begins at an offset of the text, to be filled in. The pointer is good until the next
// record is added.
func (l *line) checkpoint(at int, name string) *Checkpoint {
	out := l.s.out
	n := len(out.entries)
	out.entries = slices.Grow(out.entries, 1)[:n+1]
	out.entries[n] = entry{}
	c := &out.entries[n].Checkpoint
	c.Name = name
	l.head(&c.Header, at)
	return c
}

// undo takes the last record back: there was nothing in it after all.
func (l *line) undo() { l.s.out.entries = l.s.out.entries[:len(l.s.out.entries)-1] }

// add adds a record, with its header from [line.header].
func (l *line) add(rec Record) {
	if c, ok := rec.(Checkpoint); ok {
		l.s.out.entries = append(l.s.out.entries, entry{Checkpoint: c})
		return
	}
	switch r := rec.(type) {
	case OutOfMemory:
		l.failed(&r)
		rec = r
	case Event:
		if r.Kind == EventFallback {
			r.Speaker, r.Named = speakerOf(l.text, l.offset(r.Text)), namesAnother(r.Text)
			rec = r
		}
	}
	l.s.out.entries = append(l.s.out.entries, entry{other: rec})
}

// bad adds an error: text[at:] looks like a record, and another thing was expected there.
func (l *line) bad(at int, expected, advice string) {
	l.add(SyntaxError{
		Header: l.header(at), Expected: expected, Found: shorten(strings.ToValidUTF8(string(l.text[at:]), "�"), 80),
		Advice: advice,
	})
}

// open makes the lines that follow rows of the table, in the place of an earlier table of the same dialect.
func (l *line) open(t table) { l.s.openTable(t) }

// opened is the table that the dialect has open, nil where it has none.
func (l *line) opened() table {
	for _, t := range l.s.tables {
		if t.dialect == l.s.reading {
			return t.table
		}
	}
	return nil
}

// str is a string of the text: valid UTF-8, without blanks around, and shared with the earlier ones that are equal.
func (l *line) str(b []byte) string { return l.s.str(b) }

// message is the text from an offset on, shortened to 300 bytes.
func (l *line) message(at int) string {
	return shorten(strings.ToValidUTF8(string(l.text[at:min(len(l.text), at+400)]), "�"), 300)
}

// badCheckpoint adds an error where what was found is not the text from an offset on.
func (l *line) badCheckpoint(at int, expected string, found []byte) {
	l.add(SyntaxError{
		Header: l.header(at), Expected: expected,
		Found:  shorten(strings.ToValidUTF8(string(bytes.TrimSpace(found[:min(len(found), 200)])), "�"), 80),
		Advice: tornAdvice,
	})
}

// begins reports whether the line begins at an offset: text in the middle of a line is a
// mention.
func (l *line) begins(at int) bool { return len(trimBlanks(l.text[:at])) == 0 && !l.cut() }

// isOwn reports whether the line is where the harness writes its lines, and begins as they do: it is not
// drawn over another one, wrapped in escapes, or printed by a program in a notebook.
func (l *line) isOwn() bool {
	text := l.s.win.buf[l.start:l.end]
	if l.docker != nil {
		text = l.inner
	}
	ownLine := l.start == 0 || l.s.win.buf[l.start-1] == '\n'
	return ownLine && !l.s.printed && bytes.HasPrefix(trimBlanks(withoutHole(text)), harnessPrefixBytes)
}

// near bounds how far a dialect looks for what belongs to the text at a needle: a line may be long, and full of needles.
const near = 1 << 10

// nameMax is the longest name of a checkpoint, in bytes.
const nameMax = 4 << 10

// written is the line as the log has it, with its escapes.
func (l *line) written() []byte {
	if l.docker != nil {
		return l.inner
	}
	return l.s.win.buf[l.start:l.end]
}

// below returns the text of the line behind the one that ends at an offset of the window, and the
// offsets of that line. ok is false if the log, or what of it is at hand, ends before.
func (l *line) below(end int) (text []byte, start, stop int, ok bool) {
	start, stop, ok = l.s.win.lineAfter(end)
	if !ok {
		return nil, 0, 0, false
	}
	return plain(l.s.win.buf[start:stop], l.s.win.docker), start, stop, true
}

// lineEnds returns how many lines end between two offsets of the window.
func (l *line) lineEnds(from, to int) int { return bytes.Count(l.s.win.buf[from:to], newline) }

// added returns how many records the window has so far.
func (l *line) added() int { return len(l.s.out.entries) }

// last returns the last record, which must not be a checkpoint.
func (l *line) last() Record { return l.s.out.entries[len(l.s.out.entries)-1].other }

// put adds a record as it is.
func (l *line) put(rec Record) { l.s.out.entries = append(l.s.out.entries, entry{other: rec}) }

// noteOwn notes that the window may have lines of the harness.
func (l *line) noteOwn() { l.s.out.own = true }

// path returns the name of the log.
func (l *line) path() string { return l.s.path }

// once reports whether a dialect, which is told by a bit, asks for the first time in this line.
func (l *line) once(bit uint64) bool {
	first := l.tried&bit == 0
	l.tried |= bit
	return first
}
