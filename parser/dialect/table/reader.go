package table

import (
	"bytes"
	"slices"
	"sync"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
	"vramsoak/parser/stamp"
)

// Dialects returns one dialect for each kind of line of the program, all with its name. The program
// must have no mistakes.
func (p *Program) Dialects() (all []*scan.Dialect) {
	for i := range p.Lines {
		all = append(all, p.Lines[i].Dialect(p.Name, func() *Program { return p }, i))
	}
	return all
}

// Dialect returns the dialect of the i-th line of a program. It calls program when a log has a
// needle of the line for the first time.
func (l *Line) Dialect(name string, program func() *Program, i int) *scan.Dialect {
	r := sync.OnceValue(func() *reader { return newReader(program(), i) })
	return &scan.Dialect{
		Name: name, Needles: l.Literals(), Spans: l.spans(),
		Read: func(l *scan.Line, at int) int { return r().read(l, at) },
	}
}

// A reader reads the lines that a pattern matches.
type reader struct {
	*Line
	program  string
	pattern  *pattern
	literals [][]byte
	groups   []group
	bare     int64  // the unit of numbers without one
	named    string // the name of readings without one
	sampled  bool   // whether these are sampled
	// whole is the example of this line, shortened. If the pattern is only for torn lines, it is the
	// example of the nearest line above that is not.
	whole string
}

// wholeMax is the most bytes of an example in the error about a torn line.
const wholeMax = 160

// A group is a named group of the pattern.
type group struct {
	name       string
	kind       groupKind
	quantity   record.Quantity
	start, end int // indices of its offsets in the slots of a match
}

type groupKind int

const (
	kindQuantity groupKind = iota
	kindName
	kindFile
	kindFallback
	kindDevice
	kindRank
	kindTime
	kindBegun
	kindTorn
)

var groupKinds = map[string]groupKind{
	groupCheckpoint: kindName, groupStep: kindName, groupFile: kindFile, groupFallback: kindFallback,
	groupDevice: kindDevice, groupRank: kindRank, groupTime: kindTime, groupBegun: kindBegun,
	groupTorn: kindTorn, groupWhole: kindBegun,
}

// newReader returns a reader of the i-th line of a program.
func newReader(program *Program, i int) *reader {
	line := &program.Lines[i]
	p, err := compile(line.Pattern, line.KeepTorn)
	if err != nil {
		panic(program.Name + ": " + err.Error()) // the program has no mistakes
	}
	r := &reader{
		Line:    line,
		program: program.Name,
		pattern: p,
		bare:    line.unit(),
	}
	for _, s := range line.Literals() {
		r.literals = append(r.literals, []byte(s))
	}
	whole := i
	for whole > 0 && program.Lines[whole].onlyTorn() {
		whole--
	}
	r.whole = lex.Shorten(program.Lines[whole].Example, wholeMax)
	r.named, r.sampled = line.name(program.Name)
	for i, name := range p.names {
		if name == "" {
			continue
		}
		g := group{name: name, start: 2 * i, end: 2*i + 1}
		if q, err := record.ParseQuantity(name); err == nil {
			g.quantity = q
		} else {
			g.kind = groupKinds[name]
		}
		r.groups = append(r.groups, g)
	}
	return r
}

// read reads the match that contains the offset `at`, at which a literal begins. It returns the
// offset behind the match's last group, or behind the match if this group precedes the literal. It
// returns 0 if no match with a record that was not read yet contains this literal.
func (r *reader) read(l *scan.Line, at int) (end int) {
	f := r.finder(l)
	for f.unread || !f.done {
		if !f.unread && !f.next() {
			f.done = true
			break
		}
		if f.unread = f.slots[0] > at && len(r.literals) > 0; f.unread {
			break // the match contains a later literal
		}
		last := r.groupsEnd(f.slots)
		if f.slots[1] > at && last > l.Read && r.match(l, f.slots) {
			if last > at {
				return last
			}
			return f.slots[1]
		}
	}
	return 0
}

// groupsEnd returns the end of the last group of a match that reads something. If no group does, it
// returns the end of the match.
func (r *reader) groupsEnd(slots []int) int {
	end := -1
	for i := range r.groups {
		if g := &r.groups[i]; g.kind != kindBegun {
			end = max(end, slots[g.end])
		}
	}
	if end < 0 {
		return slots[1]
	}
	return end
}

// A lineFinder is the finder of a reader in a line.
type lineFinder struct {
	loggedFinder
	reader *reader
	line   uint64 // the line's Serial
	unread bool   // the finder's match was not read yet
	done   bool   // the finder has no more matches
}

// finder returns the reader's finder for a line. Each scanner has a finder for each reader that has
// read a line. It keeps them in l.Scratch, the last used one first.
func (r *reader) finder(l *scan.Line) *lineFinder {
	all, _ := l.Scratch.(*[]*lineFinder)
	if all == nil {
		all = new([]*lineFinder)
		l.Scratch = all
	}
	i := slices.IndexFunc(*all, func(f *lineFinder) bool { return f.reader == r })
	if i < 0 {
		i = len(*all)
		*all = append(*all, &lineFinder{reader: r})
	}
	f := (*all)[i]
	(*all)[i], (*all)[0] = (*all)[0], f
	if f.line != l.Serial {
		f.line, f.unread, f.done = l.Serial, false, false
		f.begin(r.pattern, l.Text, l.Logger)
	}
	return f
}

// A match holds the values of the groups of one match.
type match struct {
	record.Reading
	name     []byte
	sampled  bool
	lane     record.Lane
	file     []byte
	fallback bool
	time     stamp.Stamp
	first    int // offset of the first group, other than time and begun
	value    int // offset of the first size; the end of the match without one
	kept     int // end of the last size; -1 without one
	torn     bool
	mistakes []mistake
}

// wrong notes a mistake: the text at the offset `at` is not what the parameter expected says.
func (m *match) wrong(expected string, at int) {
	m.mistakes = append(m.mistakes, mistake{expected, at})
}

// A mistake says what the text of a group at an offset should be.
type mistake struct {
	expected string
	at       int
}

// match adds the records of one match of the pattern to the line, and reports whether there were
// any. slots holds the offsets of the match and of its groups.
func (r *reader) match(l *scan.Line, slots []int) bool {
	text := l.Text
	m := match{sampled: r.sampled, first: slots[1], value: slots[1], kept: -1}
	m.torn = r.pattern.whole >= 0 && slots[2*r.pattern.whole] < 0
	for i := range r.groups {
		g := &r.groups[i]
		start, end := slots[g.start], slots[g.end]
		if start < 0 {
			continue
		}
		if g.kind != kindTime && g.kind != kindBegun {
			m.first = min(m.first, start)
		}
		r.group(l, &m, g, text[start:end], start, end)
	}
	if m.torn && !r.KeepTorn {
		m.Reading, m.kept = record.Reading{}, -1
	}
	return r.add(l, &m, slots)
}

// group reads the text of the group g, at l.Text[start:end], into m.
func (r *reader) group(l *scan.Line, m *match, g *group, group []byte, start, end int) {
	switch g.kind {
	case kindQuantity:
		size, expected := r.size(group, l.Text[end:])
		if expected != "" {
			m.wrong(expected+" in the group "+g.name, start)
			return
		}
		m.Set(g.quantity, size)
		m.value = min(m.value, start)
		m.kept = max(m.kept, end)
	case kindName:
		if logger := l.Logger(); start < logger && logger < end {
			start, group = logger, l.Text[logger:end]
		} else if g.name == groupCheckpoint && end <= logger && source.EndsInLogger(group) {
			return // [INFO] is no name
		}
		group = bytes.TrimSpace(group)
		if len(lex.TrimBlanks(l.Text[:start])) == 0 || start == l.Logger() {
			group = withoutPrefix(group)
		}
		if len(group) > 0 && len(group) <= scan.NameMax {
			m.name, m.sampled = group, g.name == groupStep
		}
	case kindFile:
		if m.file = bytes.TrimSpace(group); len(m.file) == 0 {
			m.wrong("the name of a file", start)
		}
	case kindFallback:
		m.fallback = true
	case kindTime:
		if m.time = stamp.Find(group); m.time.IsZero() {
			m.wrong("a time such as 2026-11-20T02:00:03Z", start)
		}
	case kindDevice, kindRank:
		n, rest, ok := lex.CutInt(group)
		switch {
		case !ok || len(rest) > 0:
			m.wrong("the number of a "+g.name, start)
		case g.kind == kindDevice:
			m.lane.Device = n
		default:
			m.lane.Rank = n
		}
	case kindTorn:
		m.torn = true
	}
}

// withoutPrefix returns the name of a reading without the prefix of a launcher or logger, as in
// "0: 2024-05-01 12:00:00,123 - INFO - after 20 iterations". If nothing would be left of the name,
// it returns the whole name.
func withoutPrefix(name []byte) []byte {
	isLetter := len(name) > 0 && lex.IsWordByte(name[0]) && !lex.IsDigit(name[0])
	if isLetter && (!bytes.ContainsAny(name, ":|-") || !prefixOfWords().Match(name)) {
		return name // as most names
	}
	message := source.WithoutProcess(name[source.MessageStart(name):])
	if message = bytes.TrimSpace(message); len(message) == 0 {
		return name
	}
	return message
}

// prefixOfWords matches a prefix that begins with a letter: "INFO:root:", "web-1  | ".
var prefixOfWords = lex.Expression(`^(?:(?:` + lex.Levels + `)\s*[:|-]|[a-z][\w.-]*\d\s+\|)`)
