package source

import (
	"bytes"
	"unicode/utf8"

	"vramsoak/parser/lex"
)

// A Terminal holds the screen that a program has painted so far. It executes the control
// functions of ECMA-48 and xterm that change text or move the cursor, and ignores all others.
// That is enough for programs that repaint their screen, such as watch and ncurses programs, and
// for the terminal multiplexers tmux and screen.
type Terminal struct {
	Rows []terminalRow
	row  int
	col  int
	// Height and Width are the screen's size in rows and columns, or 0 if the log does not give
	// it.
	Height, Width int
	// The scrolling region is the rows [top, bottom), or all rows from top on if bottom is 0.
	top, bottom int
	saved       [2]int
	last        rune // the last character, which the control function REP repeats

	state  terminalState
	params []byte
	char   []byte // the first bytes of a UTF-8 character that is not complete yet

	// Back is called before the cursor moves up or the screen is cleared. The caller may then
	// read the screen before the program paints over it.
	Back func()
	// Gone is called with each row that scrolls off the top of the screen.
	Gone func(text []rune)
	// Left is set if the program switched from the alternate screen back to the normal screen.
	Left bool
	// Painting makes the terminal note what changes: a change sets Dirty of its row and of the
	// terminal.
	Painting, Dirty bool
}

type terminalRow struct {
	Cells []rune
	Dirty bool // the row has changed since the last call of Clean
}

type terminalState uint8

const (
	inText   terminalState = iota
	inEscape               // behind ESC
	inSet                  // behind ESC '(' and the like: one more byte follows
	inCSI                  // behind ESC '['
	inString               // behind ESC ']' and the like: skips all bytes up to BEL or ESC '\'
	inStringEscape
)

// The size of the largest screen, in rows and columns. Characters outside it are dropped.
const (
	TerminalRows = 300
	terminalCols = 500
)

// Write executes the bytes that a program wrote.
func (t *Terminal) Write(b []byte) {
	for _, c := range b {
		switch t.state {
		case inText:
			t.text(c)
		case inEscape:
			t.escape(c)
		case inSet:
			t.state = inText
		case inCSI:
			switch {
			case c >= 0x40 && c <= 0x7e:
				t.state = inText
				t.control(c)
			case c == 0x1b:
				t.state = inEscape
			case len(t.params) < 64:
				t.params = append(t.params, c)
			}
		case inString:
			switch c {
			case 0x07:
				t.state = inText
			case 0x1b:
				t.state = inStringEscape
			}
		case inStringEscape:
			t.state = inText
			if c != '\\' {
				t.escape(c)
			}
		}
	}
}

func (t *Terminal) text(c byte) {
	if len(t.char) > 0 || c >= 0x80 {
		t.char = append(t.char, c)
		if !utf8.FullRune(t.char) {
			return
		}
		r, size := utf8.DecodeRune(t.char)
		more := append([]byte(nil), t.char[size:]...)
		t.char = t.char[:0]
		t.put(r)
		for _, c := range more {
			t.text(c)
		}
		return
	}
	switch {
	case c == 0x1b:
		t.state = inEscape
	case c == '\n': // programs write "\r\n" or '\n', because the terminal's driver adds '\r'
		t.col = 0
		t.feed()
	case c == '\r':
		t.col = 0
	case c == '\b':
		t.col = max(0, t.col-1)
	case c == '\t':
		t.col = min(t.col/8*8+8, t.maxCol())
	case c >= ' ' && c < 0x7f:
		t.put(rune(c))
	}
}

func (t *Terminal) escape(c byte) {
	t.state = inText
	switch c {
	case '[':
		t.state, t.params = inCSI, t.params[:0]
	case ']', 'P', 'X', '^', '_':
		t.state = inString
	case '(', ')', '*', '+', '#', '%', ' ':
		t.state = inSet
	case '7':
		t.saved = [2]int{t.row, t.col}
	case '8':
		t.move(t.saved[0], t.saved[1])
	case 'D':
		t.feed()
	case 'E':
		t.col = 0
		t.feed()
	case 'M':
		if t.row == t.top {
			t.Back()
			t.scroll(-1)
		} else {
			t.move(max(0, t.row-1), t.col)
		}
	case 'c':
		t.Back()
		t.erase(0, TerminalRows)
		t.row, t.col, t.top, t.bottom = 0, 0, 0, 0
	}
}

// control executes the control function that ends with the byte final, such as 'H' in
// "\x1b[2;5H".
func (t *Terminal) control(final byte) {
	if len(t.params) > 0 && t.params[0] == '?' {
		t.mode(final)
		return
	}
	first, second := t.param(0), t.param(1)
	n := min(max(1, first), terminalCols)
	switch final {
	case 'H', 'f':
		t.move(max(1, first)-1, max(1, second)-1)
	case 'd':
		t.move(n-1, t.col)
	case 'A':
		t.move(t.above(n), t.col)
	case 'B', 'e':
		t.move(t.below(n), t.col)
	case 'C', 'a':
		t.move(t.row, t.col+n)
	case 'D':
		t.move(t.row, max(0, t.col-n))
	case 'E':
		t.move(t.below(n), 0)
	case 'F':
		t.move(t.above(n), 0)
	case 'G', '`':
		t.move(t.row, n-1)
	case 'J':
		t.eraseDisplay(first)
	case 'K':
		t.eraseLine(first)
	case 'L', 'M':
		if t.row >= t.top && t.row < t.lastRow() {
			top := t.top
			t.top = t.row
			if final == 'L' {
				n = -n
			}
			t.scroll(n)
			t.top = top
		}
	case 'S':
		t.scroll(n)
	case 'T':
		t.scroll(-n)
	case '@':
		t.shift(n)
	case 'P':
		t.shift(-n)
	case 'X':
		t.blank(t.col, t.col+n)
	case 'b':
		for range n {
			if t.last != 0 {
				t.put(t.last)
			}
		}
	case 'r':
		t.top, t.bottom = max(1, first)-1, second
		if t.top >= TerminalRows || t.bottom > 0 && t.bottom <= t.top {
			t.top, t.bottom = 0, 0
		}
		if t.top == 0 && t.bottom <= TerminalRows {
			t.Height = max(t.Height, t.bottom)
		}
		t.move(0, 0)
	case 's':
		t.saved = [2]int{t.row, t.col}
	case 'u':
		t.move(t.saved[0], t.saved[1])
	case 't':
		if first == 8 {
			t.Resize(second, t.param(2))
		}
	}
}

// Resize sets the height and the width of the screen. It ignores sizes that are 0 or too large.
func (t *Terminal) Resize(height, width int) {
	if height > 0 && height <= TerminalRows && width > 0 && width <= terminalCols {
		t.Height, t.Width = height, width
	}
}

// mode sets a DEC private mode if final is 'h', or resets it if final is 'l'. Only the modes 47,
// 1047 and 1049 have an effect: setting one of them switches to the alternate screen, resetting
// it switches back to the normal screen. Both clear the screen.
func (t *Terminal) mode(final byte) {
	t.params[0] = ' '
	switch t.param(0) {
	case 47, 1047, 1049:
		if final == 'h' || final == 'l' {
			t.Back()
			t.erase(0, TerminalRows)
			t.Left = final == 'l'
		}
	}
}

// param returns the parameter number i of a control function, counted from 0. It returns 0 if the
// function has fewer parameters.
func (t *Terminal) param(i int) int {
	rest := t.params
	for ; i > 0; i-- {
		_, rest, _ = bytes.Cut(rest, []byte{';'})
	}
	n := 0
	for _, c := range bytes.TrimLeft(rest, " ") {
		if !lex.IsDigit(c) || n > 1e6 {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func (t *Terminal) maxRow() int {
	if t.Height > 0 {
		return t.Height - 1
	}
	return TerminalRows - 1
}

func (t *Terminal) maxCol() int {
	if t.Width > 0 {
		return t.Width - 1
	}
	return terminalCols - 1
}

// above returns the number of the row that is n rows above the cursor. If the cursor is in the
// scrolling region or below it, the result is at least the region's first row.
func (t *Terminal) above(n int) int {
	if t.row >= t.top {
		return max(t.top, t.row-n)
	}
	return max(0, t.row-n)
}

func (t *Terminal) below(n int) int {
	if t.row < t.lastRow() {
		return min(t.lastRow()-1, t.row+n)
	}
	return t.row + n
}

// move moves the cursor to a row and a column. Beyond the screen's edge, it moves the cursor to
// the edge.
func (t *Terminal) move(row, col int) {
	if row < t.row {
		t.Back()
	}
	t.row, t.col = min(row, t.maxRow()), min(col, t.maxCol())
}

// feed moves the cursor to the next row. If the cursor is in the last row of the scrolling
// region, the cursor stays there and the region scrolls up by one row.
func (t *Terminal) feed() {
	switch {
	case t.row+1 == t.lastRow():
		if len(t.Rows) > t.top && t.Rows[t.top].Dirty {
			t.Back()
		}
		t.scroll(1)
	case t.row < t.maxRow():
		t.row++
	}
}

// lastRow returns the number of the row below the scrolling region.
func (t *Terminal) lastRow() int {
	if t.bottom > 0 {
		return min(t.bottom, t.maxRow()+1)
	}
	return t.maxRow() + 1
}

// scroll moves the rows of the scrolling region up by n, or down if n is negative.
func (t *Terminal) scroll(n int) {
	t.at(min(t.lastRow(), TerminalRows) - 1)
	rows := t.Rows[min(t.top, len(t.Rows)):t.lastRow()]
	n = max(-len(rows), min(n, len(rows)))
	if n > 0 && t.top == 0 {
		for i := range n {
			t.Gone(rows[i].Cells)
		}
	}
	// The rows that scroll out are blanked and reused for the rows that scroll in.
	if n >= 0 {
		rotate(rows, n)
		rows = rows[len(rows)-n:]
	} else {
		rotate(rows, len(rows)+n)
		rows = rows[:-n]
	}
	for i := range rows {
		rows[i].Cells, rows[i].Dirty = rows[i].Cells[:0], false
	}
}

// rotate moves the first n rows behind the last row.
func rotate(rows []terminalRow, n int) {
	moved := append([]terminalRow(nil), rows[:n]...)
	copy(rows, rows[n:])
	copy(rows[len(rows)-n:], moved)
}

// at returns the row with the given number. It appends empty rows to the screen if the screen has
// no such row yet.
func (t *Terminal) at(row int) *terminalRow {
	for len(t.Rows) <= row {
		t.Rows = append(t.Rows, terminalRow{})
	}
	return &t.Rows[row]
}

// put paints a character at the cursor and moves the cursor one column to the right.
func (t *Terminal) put(r rune) {
	if t.Width > 0 && t.col >= t.Width {
		t.col = 0
		t.feed()
	}
	if t.col >= terminalCols {
		return
	}
	t.last = r
	t.set(t.at(t.row), t.col, r)
	t.col++
}

func (t *Terminal) set(row *terminalRow, col int, r rune) {
	if col >= len(row.Cells) && r == ' ' {
		return // nothing to paint: cells beyond the row's end are blank already
	}
	for len(row.Cells) <= col {
		row.Cells = append(row.Cells, ' ')
	}
	if row.Cells[col] != r {
		row.Cells[col] = r
		t.mark(row)
	}
}

// mark makes a row dirty, if Painting is set.
func (t *Terminal) mark(row *terminalRow) {
	if t.Painting {
		row.Dirty, t.Dirty = true, true
	}
}

// Clean makes all rows clean.
func (t *Terminal) Clean() {
	for i := range t.Rows {
		t.Rows[i].Dirty = false
	}
	t.Dirty = false
}

// blank paints blanks in the cursor's row, from the column `from` up to the column to-1.
func (t *Terminal) blank(from, to int) {
	row := t.at(t.row)
	for col := from; col < min(to, len(row.Cells)); col++ {
		t.set(row, col, ' ')
	}
}

func (t *Terminal) eraseLine(how int) {
	switch how {
	case 0:
		t.blank(t.col, terminalCols)
	case 1:
		t.blank(0, t.col+1)
	case 2:
		t.blank(0, terminalCols)
	}
}

func (t *Terminal) eraseDisplay(how int) {
	switch how {
	case 0:
		t.blank(t.col, terminalCols)
		t.erase(t.row+1, TerminalRows)
	case 1:
		t.erase(0, t.row)
		t.blank(0, t.col+1)
	case 2, 3:
		t.Back()
		t.erase(0, TerminalRows)
	}
}

// erase removes the text of the rows with the numbers `from` up to to-1.
func (t *Terminal) erase(from, to int) {
	for i := from; i < min(to, len(t.Rows)); i++ {
		t.Rows[i].Cells, t.Rows[i].Dirty = t.Rows[i].Cells[:0], false
	}
}

// shift moves the cursor's character and all characters to the right of it by n columns to the
// right. If n is negative, it moves them to the left, and the first characters are lost.
func (t *Terminal) shift(n int) {
	row := t.at(t.row)
	if t.col >= len(row.Cells) {
		return
	}
	old := append([]rune(nil), row.Cells[t.col:]...)
	row.Cells = row.Cells[:t.col]
	t.mark(row)
	for ; n > 0; n-- {
		row.Cells = append(row.Cells, ' ')
	}
	row.Cells = append(row.Cells, old[min(len(old), -min(n, 0)):]...)
	row.Cells = row.Cells[:min(len(row.Cells), t.maxCol()+1)]
}
