package parser

// A dialect is the way in which one program prints its memory. Each stands in a file of its own, with the lines that it
// reads.
type dialect struct {
	// name is what --dialect and the records call it: "deepspeed".
	name string
	// needles are strings of four bytes or more, one of which stands in every line with which a record of the dialect
	// begins. They are how a log is searched, so they should be rare in other text; the case of letters counts.
	needles []string
	// read reads what stands at a needle: l.text[at:] begins with one of needles, and what precedes it may belong to the
	// record too. It adds records to the line and returns the offset in l.text behind what it has read; where the text is
	// not the dialect's it adds nothing and returns 0. It may go on to the lines that follow with l.next; the offset is
	// then one in the line where it ended.
	read func(l *line, at int) (end int)
}

// A table is a part of a log whose lines mean nothing without its head: the rows of a CSV file. It stays open to the end
// of the log, and other lines may stand between its rows.
type table interface {
	// row reads a line from its beginning and says whether it is one of the table's.
	row(l *line) bool
}

// A dialectSet is the dialects that a log is read in, ready to be searched for.
type dialectSet struct {
	list    []*dialect
	needles *matcher   // the groups are the places in list
	each    []*dialect // those without needles: they try each line
}

func newDialectSet(list []*dialect) *dialectSet {
	set := &dialectSet{list: list}
	groups := make([][]string, len(list))
	for i, d := range list {
		if groups[i] = d.needles; len(d.needles) == 0 {
			set.each = append(set.each, d)
		}
	}
	set.needles = newMatcher(groups)
	return set
}

// next returns the offset of the next needle or escape at or after `from`, or -1. If a dialect has no
// needles, every offset of the text counts as one.
func (set *dialectSet) next(text []byte, from int) int {
	if len(set.each) > 0 {
		if from < len(text) {
			return from
		}
		return -1
	}
	at, _, _ := set.needles.next(text, from)
	return at
}
