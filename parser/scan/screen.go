package scan

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/source"
)

// A screen is a part of a log that moves the cursor, such as script(1) records of `watch
// nvidia-smi`. The program repaints only the characters that changed, so the log has no line with
// the whole reading:
//
//	ESC[1;115H7 ESC[3;18H40 ESC[12;50H42 ESC[16;49H1 ESC[40;120H
//
// The terminal keeps everything that was painted. A repaint is over when the cursor moves up, when
// a line follows that does not move the cursor, or when the log ends. If a row has changed since
// the last repaint, the rows of the terminal are then read as lines. Their records get the line
// number at which the repaint ended.
//
// A line that does not move the cursor is painted too, but its records are read from the line
// itself.
type screen struct {
	terminal source.Terminal
	reader   *Scanner // of the rows
	out      Batch
	text     []byte
	line     int // number in the window of the line at which the last repaint ended
	painted  int // offset in the window up to which the log is painted
	beyond   int // painted, counted from the window's end
	noted    int // number of the batch's entries that were searched for polls
	polls    []record.Checkpoint
	plain    int // lines since the last line that moved the cursor
	credit   int
	// seen counts how often each row with a record was on the screen when the screen was last read.
	seen map[string]int
}

const (
	screenName = "screen"
	// Credit limits the work of reading screens. Each byte that is painted earns creditRate bytes of
	// reading. Reading a screen of n bytes costs n bytes, or n*n/creditSize if it has more than
	// creditSize.
	creditRate = 128
	creditSize = 8 << 10
	pollsMax   = 64 // the most readings of polls that are kept
)

// openScreen opens a screen if a line moves the cursor or clears the screen.
func (s *Scanner) openScreen(raw []byte) {
	if bytes.IndexByte(raw, 0x1b) < 0 || !addresses(raw, false) {
		return
	}
	for _, t := range s.tables {
		if t.dialect == screenName {
			return
		}
	}
	sc := &screen{
		reader:  NewScanner(s.path, s.dialects),
		painted: s.line.start,
		noted:   len(s.out.Entries),
		seen:    map[string]int{},
	}
	sc.reader.Printed = true
	sc.terminal.Gone = func(text []rune) {
		if row := rowText(nil, text); sc.seen[string(row)] > 0 {
			sc.seen[string(row)]--
		}
	}
	sc.terminal.Back = func() {}
	// Script started on 2026-11-20 02:00:03+00:00 [TERM="xterm" COLUMNS="120" LINES="40"]
	for n := 1; n <= 4; n++ {
		before, ok := s.line.Previous(n)
		if !ok {
			break
		}
		if columns, lines := quotedInt(before, `COLUMNS="`), quotedInt(before, `LINES="`); columns > 0 {
			sc.terminal.Resize(lines, columns)
			break
		}
	}
	// The screen is the first table, so that every line is offered to it.
	s.tables = append(OpenTables{{screenName, sc}}, s.tables...)
}

func quotedInt(text []byte, before string) int {
	i := bytes.Index(text, []byte(before))
	if i < 0 {
		return 0
	}
	n, _, _ := lex.CutInt(text[i+len(before):])
	return n
}

// addresses reports whether a line moves the cursor to a position or clears the screen. If the
// screen is open already, other control sequences count too: relative moves, and sequences that
// insert, delete or erase. For example, tmux ends each row that it paints with ESC[K.
func addresses(raw []byte, open bool) bool {
	finals := "Hfd"
	if open {
		finals = "HfdABCDEFGJKLMPSTX@`abersu"
	}
	for {
		i := bytes.IndexByte(raw, 0x1b)
		if i < 0 || i+1 >= len(raw) {
			return false
		}
		raw = raw[i+1:]
		if raw[0] != '[' {
			if open && bytes.IndexByte([]byte("78DEMc"), raw[0]) >= 0 {
				return true
			}
			continue
		}
		end := 1
		for end < len(raw) && raw[end] >= 0x20 && raw[end] <= 0x3f {
			end++
		}
		if end == len(raw) {
			return false
		}
		params := raw[1:end]
		switch {
		case len(params) > 0 && params[0] == '?':
			mode := string(params[1:])
			if open && (raw[end] == 'h' || raw[end] == 'l') &&
				(mode == "47" || mode == "1047" || mode == "1049") {
				return true
			}
		case bytes.IndexByte([]byte(finals), raw[end]) >= 0,
			raw[end] == 'J' && len(params) == 1 && params[0] >= '2':
			return true
		}
		raw = raw[end:]
	}
}

// Row implements [Table].
func (sc *screen) Row(l *Line) bool {
	buf := l.s.win.Buf
	raw, ending := buf[l.start:l.End], buf[l.End:l.s.win.SkipBreak(l.End)]
	painted := addresses(raw, true)
	sc.note(l.s.out)
	if sc.painted < l.start { // a dialect has read the lines before this one, as one block
		sc.paint(l.s, buf[sc.painted:l.start], false)
	}
	sc.painted = l.End + len(ending)
	if !painted {
		if len(bytes.TrimSpace(l.Text)) > 0 {
			sc.read(l.s)
		}
	}
	sc.paint(l.s, buf[l.start:sc.painted], painted)
	if sc.terminal.Left || sc.plain > source.TerminalRows { // or the screen has scrolled away
		sc.close(l.s)
	}
	return painted
}

// paint writes text to the terminal. The parameter painted is set if the text moves the cursor;
// otherwise its records are read from its lines.
func (sc *screen) paint(s *Scanner, raw []byte, painted bool) {
	sc.plain += bytes.Count(raw, source.Newline)
	if painted {
		sc.plain = 0
		if !sc.terminal.Dirty {
			sc.line = s.line.lineNumber()
		}
	}
	sc.credit = min(sc.credit+creditRate*len(raw), 1<<24)
	sc.terminal.Painting = painted
	sc.terminal.Back = func() {
		if painted {
			sc.read(s)
			sc.line = s.line.lineNumber()
		}
	}
	sc.terminal.Write(raw)
}

// close reads the screen for the last time and closes its table.
func (sc *screen) close(s *Scanner) {
	sc.read(s)
	s.closeTable(screenName)
}

// enter is called when the scanner begins a window.
func (sc *screen) enter(win source.Window) { sc.painted = max(0, win.From+sc.beyond) }

// leave is called when the scanner ends a window. It changes the offsets and line numbers so that
// they count from the next window.
func (sc *screen) leave(win source.Window, lines int, out *Batch) {
	sc.note(out)
	sc.noted = 0
	sc.line -= lines
	sc.beyond = sc.painted - win.To
}

// note copies the checkpoints of polling programs (see isPoll) from the batch's entries to
// sc.polls, where the method given looks for them. It keeps the last pollsMax of them.
func (sc *screen) note(out *Batch) {
	for i := sc.noted; i < len(out.Entries); i++ {
		if e := &out.Entries[i]; e.Other == nil && isPoll(e.Dialect) {
			sc.polls = append(sc.polls, e.Checkpoint)
		}
	}
	sc.noted = len(out.Entries)
	if extra := len(sc.polls) - pollsMax; extra > 0 {
		sc.polls = slices.Delete(sc.polls, 0, extra)
	}
}

// end is called when the log ends.
func (sc *screen) end(s *Scanner) { sc.read(s) }

// read reads the rows of the terminal if a repaint has changed a row, and if the credit allows it.
func (sc *screen) read(s *Scanner) {
	if !sc.terminal.Dirty {
		return
	}
	size := 0
	for i := range sc.terminal.Rows {
		size += len(sc.terminal.Rows[i].Cells) + 1
	}
	cost := size * max(size, creditSize) / creditSize
	if sc.credit < cost {
		return
	}
	sc.credit -= cost
	defer sc.terminal.Clean()
	sc.note(s.out)
	sc.text = sc.text[:0]
	for i := range sc.terminal.Rows {
		sc.text = append(rowText(sc.text, sc.terminal.Rows[i].Cells), '\n')
	}
	state := sc.out.State
	sc.out = Batch{Entries: sc.out.Entries[:0]}
	sc.reader.Scan(source.Window{Buf: sc.text, To: len(sc.text)}, state, &sc.out)
	if len(sc.out.Entries) == 0 {
		clear(sc.seen)
		return
	}
	lines := bytes.Split(sc.text, source.Newline)
	fresh := sc.fresh(lines)
	for i := range sc.out.Entries {
		e := &sc.out.Entries[i]
		row := e.Record(0).At().Line - 1
		if _, quoted := e.Other.(record.Quoted); quoted {
			continue
		}
		poll := e.Other == nil && isPoll(e.Dialect)
		if !fresh[row] && (!poll || !sc.repainted(lines, row)) {
			continue
		}
		if poll && (sc.given(&e.Checkpoint) || superseded(sc.out.Entries[i+1:], &e.Checkpoint)) {
			continue
		}
		e.move(sc.line + 1)
		s.out.Entries = append(s.out.Entries, *e)
	}
}

// fresh returns, for each row with a record, whether the row is new. A new row was painted since
// the screen was last read, and is not an old row that only moved, as in `watch tail`.
func (sc *screen) fresh(lines [][]byte) map[int]bool {
	fresh := map[int]bool{}
	for i := range sc.out.Entries {
		row := sc.out.Entries[i].Record(0).At().Line - 1
		fresh[row] = sc.terminal.Rows[row].Dirty
	}
	seen := map[string]int{}
	for row, dirty := range fresh {
		text := string(lines[row])
		seen[text]++
		if !dirty {
			sc.seen[text]--
		}
	}
	for row := range lines {
		if text := string(lines[row]); fresh[row] && sc.seen[text] > 0 {
			sc.seen[text]--
			fresh[row] = false
		}
	}
	sc.seen = seen
	return fresh
}

// given reports whether a polling program's checkpoint was read already, with the same time. tmux
// paints it again when the tmux window that covered it closes.
func (sc *screen) given(c *record.Checkpoint) bool {
	return !c.Time.IsZero() && slices.ContainsFunc(sc.polls, func(p record.Checkpoint) bool {
		return p.Name == c.Name && p.Lane == c.Lane && p.Time.Equal(c.Time) && p.SameSizes(&c.Reading)
	})
}

// superseded reports whether one of the entries, which are below c on the screen, has the same
// name, device and dialect as c. Then c is from an earlier poll that is still on the screen.
func superseded(entries []Entry, c *record.Checkpoint) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool {
		return e.Other == nil && e.Name == c.Name && e.Lane == c.Lane && e.Dialect == c.Dialect
	})
}

// isPoll reports whether the program of a dialect reads the memory anew (polls) each time it
// prints. Each repaint of such a program is a new reading, even if no character has changed.
func isPoll(dialect string) bool {
	return slices.Contains([]string{"nvidia-smi", "nvidia-smi-csv", "gpustat", "rocm-smi"}, dialect)
}

// repainted reports whether any row in the block of rows around a row was painted. A single blank
// row does not end a block.
func (sc *screen) repainted(lines [][]byte, row int) bool {
	empty := func(i int) bool { return i < 0 || i >= len(sc.terminal.Rows) || len(lines[i]) == 0 }
	for _, step := range []int{-1, 1} {
		for i := row; !empty(i) || !empty(i+step); i += step {
			if !empty(i) && sc.terminal.Rows[i].Dirty {
				return true
			}
		}
	}
	return false
}

// rowText appends the text of a row, without its trailing blanks.
func rowText(dst []byte, cells []rune) []byte {
	for len(cells) > 0 && cells[len(cells)-1] == ' ' {
		cells = cells[:len(cells)-1]
	}
	for _, r := range cells {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}
