package table

import (
	"bytes"
	"strings"
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
		Name: name, Needles: l.Literals(), Whole: true,
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
	// whole is the example of this line. If the line is one of torn lines, it is the example of the
	// last line above it that is not.
	whole string
}

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
	for whole > 0 && program.Lines[whole].Gives == givesTorn {
		whole--
	}
	r.whole = program.Lines[whole].Example
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

// read reads all matches of a line at once. at is the offset of the first needle that is not part
// of another dialect's record. read returns the end of the last match behind it, or 0.
func (r *reader) read(l *scan.Line, at int) (end int) {
	f, _ := l.Scratch.(*finder)
	if f == nil {
		f = &finder{}
		l.Scratch = f
	}
	for f.begin(r.pattern, l.Text); f.next(); {
		if f.slots[1] > at && r.match(l, f.slots) {
			end = f.slots[1]
		}
		if !r.mayFollow(l.Text[min(f.from, len(l.Text)):]) {
			break
		}
	}
	return end
}

// mayFollow reports whether the rest of a line has a literal, so that another match is possible.
func (r *reader) mayFollow(rest []byte) bool {
	for _, s := range r.literals {
		if bytes.Contains(rest, s) {
			return true
		}
	}
	return len(r.literals) == 0
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
	first    int // offset of the first value, other than the time
	kept     int // end of the last reading; -1 without one
	torn     bool
	mistakes []mistake
}

// wrong adds a mistake: the text at an offset is not what was expected.
func (m *match) wrong(expected string, at int) {
	m.mistakes = append(m.mistakes, mistake{expected, at})
}

// A mistake is a group whose text cannot be read.
type mistake struct {
	expected string
	at       int
}

// match reads the groups of a match and adds its records. It reports whether there were any.
func (r *reader) match(l *scan.Line, slots []int) bool {
	text := l.Text
	m := match{sampled: r.sampled, first: slots[1], kept: -1}
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

// group reads the text of a group into the match.
func (r *reader) group(l *scan.Line, m *match, g *group, group []byte, start, end int) {
	switch g.kind {
	case kindQuantity:
		size, expected := r.size(group, l.Text[end:])
		if expected != "" {
			m.wrong(expected+" in the group "+g.name, start)
			return
		}
		m.Set(g.quantity, size)
		m.kept = max(m.kept, end)
	case kindName:
		if group = bytes.TrimSpace(group); len(group) > 0 && len(group) <= scan.NameMax {
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

// add adds the records of a match, and reports whether there were any.
func (r *reader) add(l *scan.Line, m *match, slots []int) bool {
	before := l.Added()
	head := m.first
	if !hasDigit(l.Text[slots[0]:head]) {
		head = slots[0] // there is no time between
	}
	header := func() record.Header {
		h := l.Header(head)
		if !m.time.IsZero() {
			m.time.Into(&h)
		}
		return h
	}
	if len(m.file) > 0 {
		l.Add(record.FileStart{Header: header(), Pipeline: true, Path: l.Str(m.file)})
	}
	if m.Len() > 0 {
		name := r.named
		if m.name != nil {
			name = l.Str(m.name)
		}
		if r.LauncherRank {
			m.lane.Rank = max(m.lane.Rank, source.LauncherRank(l.Text[:m.first]))
		}
		if r.Change {
			l.Add(record.Change{Header: header(), Name: name, Lane: m.lane, Reading: m.Reading})
		} else {
			c := l.Checkpoint(head, name)
			if !m.time.IsZero() {
				m.time.Into(&c.Header)
			}
			c.Sampled, c.Lane, c.Reading = m.sampled, m.lane, m.Reading
		}
	}
	if m.fallback {
		l.Add(record.Event{Header: header(), Kind: record.EventFallback, Text: l.Message(m.first)})
	}
	switch {
	case r.whole == "":
		for _, wrong := range m.mistakes {
			r.bad(l, header(), wrong.expected, wrong.at)
		}
		if m.torn {
			r.bad(l, header(), "a whole line", r.tear(l, m, slots))
		}
	case m.torn || len(m.mistakes) > 0:
		expected := r.whole
		if len(m.mistakes) > 0 {
			expected = m.mistakes[0].expected + ", as in " + r.whole
		}
		if at := r.tear(l, m, slots); !source.HasPlaceholder(lex.FirstBytes(l.Text[at:], templateMax)) {
			l.Bad(at, expected, record.TornAdvice)
		}
	}
	return l.Added() > before
}

func hasDigit(text []byte) bool {
	for _, c := range text {
		if lex.IsDigit(c) {
			return true
		}
	}
	return false
}

// templateMax is how many bytes of a torn line are checked for placeholders of program source.
const templateMax = 512

// tear returns the offset from which an error quotes a torn line: behind the last reading, or at
// the literal by which the line was found.
func (r *reader) tear(l *scan.Line, m *match, slots []int) int {
	if m.kept >= 0 {
		return m.kept
	}
	for _, s := range r.literals {
		if i := bytes.Index(l.Text[slots[0]:], s); i >= 0 {
			return slots[0] + i
		}
	}
	return slots[0]
}

// bad adds a syntax error for a line that matches a pattern and cannot be read.
func (r *reader) bad(l *scan.Line, h record.Header, expected string, at int) {
	l.Add(record.SyntaxError{
		Header:   h,
		Expected: expected,
		Found:    lex.Shorten(strings.ToValidUTF8(string(l.Text[at:]), "�"), 80),
		Advice: "the line matches the pattern of the dialect " + r.program +
			"; mend the pattern, or give it a unit",
	})
}

// size returns the size in a group. behind is the text behind it, which may have the unit. If there
// is no size, expected says what the group should have.
func (r *reader) size(group, behind []byte) (s record.Size, expected string) {
	n, rest, ok := lex.CutFloat(group)
	if !ok || len(rest) > 0 && rest[0] == ',' {
		n, rest, ok = lex.CutFloat(withoutCommas(bytes.TrimSpace(group)))
	}
	if !ok || n.Digits < 0 && !r.Change {
		return record.Size{}, "a size of 0 or more"
	}
	unit := int64(0)
	if len(rest) > 0 { // the unit is in the group
		if unit, rest = r.cutUnit(rest); len(bytes.TrimSpace(rest)) > 0 {
			return record.Size{}, "a size such as 7.23 GiB"
		}
	}
	if unit == 0 {
		unit = r.unitOf(behind)
	}
	if unit == 0 {
		unit = r.bare
	}
	if unit == 0 {
		return record.Size{}, "a unit such as MiB"
	}
	if s, ok = r.rounded(n, unit); !ok {
		return record.Size{}, "a size below 4 EiB"
	}
	return s, ""
}

// unitOf returns the unit at the beginning of the text behind a number, after at most one blank.
// The unit must have two letters or more. Otherwise unitOf returns 0.
func (r *reader) unitOf(text []byte) int64 {
	if len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	if len(text) < 2 || text[0] == ' ' || text[0] == '\t' {
		return 0
	}
	unit, rest := r.cutUnit(text)
	if len(text)-len(rest) < 2 || len(rest) > 0 && lex.IsTextByte(rest[0]) {
		return 0
	}
	return unit
}

// rounded returns the size of a number of units. The line's rounding gives its resolution.
func (r *reader) rounded(n lex.Decimal, unit int64) (s record.Size, ok bool) {
	switch r.Rounding {
	case Down:
		return lex.Floored(n, unit)
	case UpOrDown:
		s, ok = n.Times(unit)
		s.Resolution = max(unit, 2*s.Resolution) // more than a unit in 3.18e+04
	case None:
		if s, ok = n.Times(unit); r.Decimals == 0 || n.Decimals != r.Decimals {
			s.Resolution = 0
		}
	default:
		return n.Rounded(r.Decimals).Times(unit)
	}
	return s, ok
}

// withoutCommas removes the commas of a number that has one before every three digits:
// "7,763,421,184 bytes".
func withoutCommas(b []byte) []byte {
	if bytes.IndexByte(b, ',') < 0 {
		return b
	}
	whole := 0
	for whole < len(b) && (lex.IsDigit(b[whole]) || b[whole] == ',') {
		whole++
	}
	groups := bytes.Split(b[:whole], []byte{','})
	if len(groups) == 1 || len(groups[0]) == 0 || len(groups[0]) > 3 {
		return b
	}
	for _, g := range groups[1:] {
		if len(g) != 3 {
			return b
		}
	}
	return append(bytes.Join(groups, nil), b[whole:]...)
}
