package scan

import "vramsoak/parser/search"

// A Dialect is the way in which one program prints its memory.
type Dialect struct {
	// Name is what --dialect and the records call it: "deepspeed".
	Name string
	// Needles are strings of four bytes or more. Each line with which a record begins has one of them.
	// A log is searched for them, so they should be rare in other text. The case of letters counts.
	Needles []string
	// Read reads the record around a needle: l.Text[at:] begins with one of Needles. It adds records
	// to the line, and returns the offset in l.Text behind what it read. If the text is not of this
	// dialect it adds nothing and returns 0. It may go on to the next lines with [Line.Next]; the
	// offset is then one in the last of them.
	Read func(l *Line, at int) (end int)
	// Whole says that Read looks at all of a line at once. It is called once for each line then, where
	// the first of its needles stands that is in no other record.
	Whole bool
}

// A Table is a part of a log whose lines mean nothing without its head, such as the rows of a CSV
// file. It stays open until the log ends. Other lines may be between its rows.
type Table interface {
	// Row reads a line from its beginning, and reports whether it is a row of the table.
	Row(l *Line) bool
}

// Dialects are those that a log is read in, ready to be searched for. Earlier ones are tried first.
type Dialects struct {
	list    []*Dialect
	needles *search.Set // the groups are the places in list
	each    []*Dialect  // those without needles: they try each line
}

// NewDialects returns a set of dialects.
func NewDialects(list []*Dialect) *Dialects {
	set := &Dialects{list: list}
	groups := make([][]string, len(list))
	for i, d := range list {
		if groups[i] = d.Needles; len(d.Needles) == 0 {
			set.each = append(set.each, d)
		}
	}
	set.needles = search.New(groups)
	return set
}

// Next returns the offset of the next needle or escape at or after `from`, or -1. If a dialect has
// no needles, every offset of the text counts as one.
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
