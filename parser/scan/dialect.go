package scan

import "vramsoak/parser/search"

// A Dialect is the way in which one program prints its memory. Each stands in a file of its own, with the lines that it
// reads.
type Dialect struct {
	// name is what --dialect and the records call it: "deepspeed".
	Name string
	// needles are strings of four bytes or more, one of which stands in every line with which a record of the dialect
	// begins. They are how a log is searched, so they should be rare in other text; the case of letters counts.
	Needles []string
	// read reads what stands at a needle: l.text[at:] begins with one of needles, and what precedes it may belong to the
	// record too. It adds records to the line and returns the offset in l.text behind what it has read; where the text is
	// not the dialect's it adds nothing and returns 0. It may go on to the lines that follow with l.next; the offset is
	// then one in the line where it ended.
	Read func(l *Line, at int) (end int)
}

// A Table is a part of a log whose lines mean nothing without its head: the rows of a CSV file. It stays open to the end
// of the log, and other lines may stand between its rows.
type Table interface {
	// row reads a line from its beginning and says whether it is one of the table's.
	Row(l *Line) bool
}

// A Dialects is the dialects that a log is read in, ready to be searched for.
type Dialects struct {
	list    []*Dialect
	needles *search.Set // the groups are the places in list
	each    []*Dialect  // those without needles: they try each line
}

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

// Next returns the offset of the next needle or escape at or after `from`, or -1. If a dialect has no
// needles, every offset of the text counts as one.
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
