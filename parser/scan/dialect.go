package scan

import "vramsoak/parser/search"

// A Dialect reads the lines with which one program prints its memory.
type Dialect struct {
	// Name is the dialect's name in --dialect and in records: "deepspeed".
	Name string
	// Needles are strings of four bytes or more. Each line that begins a record of the dialect
	// contains at least one of them. The scanner offers the dialect only lines with a needle, so
	// needles should be rare in other text. Upper and lower case differ.
	Needles []string
	// Read reads the record around a needle. l.Text[at:] begins with this needle. Read adds records to
	// the line, and returns the offset in l.Text behind the text that it read. If the text is not of
	// this dialect, Read adds nothing and returns 0. Read may go on to the next lines with
	// [Line.Next]; the offset then counts in the last of these lines.
	Read func(l *Line, at int) (end int)
	// Spans is set if another process may have written its message into the middle of the text that
	// Read reads. The scanner then searches this text for the message of a failure.
	Spans bool
	// Failure is set for the dialects of failed allocations and crashes, see Spans.
	Failure bool
	// Last is set for a dialect that knows no program, only words that many programs use. It is
	// offered a line after all other dialects, and only if they read no memory in the line.
	Last bool
}

// A Table is a part of a log whose lines mean nothing without the lines at its head, such as the
// rows of a CSV file. It stays open to the end of the log. Other lines may come between its rows.
type Table interface {
	// Row reads the line l, and reports whether it is a row of the table.
	Row(l *Line) bool
}

// Dialects holds the dialects that a log is read in, and one search for all their needles. If two
// dialects can read a line, the earlier one in the list does.
type Dialects struct {
	list    []*Dialect
	needles *search.Set // group i holds the needles of list[i]
	fails   *search.Set // the needles of the dialects with Failure
	each    []*Dialect  // dialects without needles; they are offered every line
}

// NewDialects returns a set of the dialects in the list.
func NewDialects(list []*Dialect) *Dialects {
	set := &Dialects{list: list}
	groups := make([][]string, len(list))
	var fails [][]string
	for i, d := range list {
		if groups[i] = d.Needles; len(d.Needles) == 0 {
			set.each = append(set.each, d)
		}
		if d.Failure {
			fails = append(fails, d.Needles)
		}
	}
	set.needles, set.fails = search.New(groups), search.New(fails)
	return set
}

// mayFail reports whether a text has a needle of a dialect with Failure.
func (set *Dialects) mayFail(text []byte) bool {
	at, _, _ := set.fails.Next(text, 0)
	return at >= 0
}

// Next returns the offset of the next needle or escape byte at or after `from`, or -1 if the text
// has neither. If a dialect has no needles, Next returns `from`, unless the text ends there.
func (set *Dialects) Next(text []byte, from int) int {
	if len(set.each) > 0 {
		if from < len(text) {
			return from
		}
		return -1
	}
	at, _, _ := set.needles.Next(text, from)
	return at
}
