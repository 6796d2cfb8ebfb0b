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
		if bytes.HasPrefix(trimBlanks(text), harnessPrefix) {
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

// tornAdvice is for a record that was cut, or that another writer wrote into.
const tornAdvice = "what cannot be read is left out; if two writers share the log, give each its own or write whole lines"

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

// Plain returns a line as a dialect sees it: without terminal escape sequences such as colours.
func Plain(line string) string { return string(plain([]byte(line), false)) }

// plain is the text of a line, see [line]; docker says that it may be one of Docker's.
func plain(b []byte, docker bool) []byte {
	b = withoutHole(b)
	if docker && isDocker(b) {
		b = appendDocker(nil, b)
	}
	if bytes.IndexByte(b, escape) < 0 {
		return b
	}
	return stripEscapes(nil, b)
}

// withoutHole is a line without the NULs before it. They are a hole in the file: it was truncated, by "> run.log" or by
// logrotate's copytruncate, while a program went on writing behind what it had written.
func withoutHole(b []byte) []byte {
	if len(b) == 0 || b[0] != 0 {
		return b
	}
	return bytes.TrimLeft(b, "\x00")
}

// stripEscapes appends b to dst without terminal control sequences: "\x1b[32m[GPU Memory] ...\x1b[0m". ECMA-48: ESC '[',
// parameter and intermediate bytes 0x20-0x3f, one final byte 0x40-0x7e; ESC, intermediate bytes 0x20-0x2f ("\x1b(B"), one
// final byte; ESC ']' and a title, up to BEL or ESC '\'. A cursor that goes right over blanks ("\x1b[12C") leaves them.
func stripEscapes(dst, b []byte) []byte {
	blanks := len(b) + 1<<10 // no line grows to more than this by them
	for i := 0; i < len(b); i++ {
		if b[i] != escape {
			dst = append(dst, b[i])
			continue
		}
		i++
		if i == len(b) {
			break
		}
		switch b[i] {
		case '[':
			from := i + 1
			for i++; i < len(b) && b[i] >= 0x20 && b[i] <= 0x3f; {
				i++
			}
			if i < len(b) && b[i] == 'C' {
				n, rest, ok := cutInt(b[from:i])
				for ; ok && len(rest) == 0 && n > 0 && n < 256 && blanks > 0; n-- {
					dst = append(dst, ' ')
					blanks--
				}
			}
		case ']':
			if n := titleEnd(b[i:]); n > 0 {
				i += n - 1
			}
		default:
			for i < len(b) && b[i] >= 0x20 && b[i] <= 0x2f {
				i++
			}
		}
	}
	return dst
}

// titleEnd is the length of a title that ends within 256 bytes, 0 where none does.
func titleEnd(b []byte) int {
	for i, c := range b[:min(len(b), 256)] {
		if c == 0x07 || c == '\\' && b[i-1] == escape {
			return i + 1
		}
	}
	return 0
}

// message is the text from an offset on, shortened to 300 bytes.
func (l *line) message(at int) string {
	return shorten(strings.ToValidUTF8(string(l.text[at:min(len(l.text), at+400)]), "�"), 300)
}

// shorten cuts s to at most n bytes at a rune's edge.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "..."
}
