package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/search"
	"vramsoak/parser/stamp"
)

// A User is a dialect of the user's own, as a policy file gives it:
//
//	dialects:
//	  - name: ours
//	    pattern: 'step \d+: VRAM (?P<used>[\d.]+) of (?P<total>[\d.]+)'
//	    unit: MiB
type User struct {
	Name string
	// Pattern is a regular expression of Go's, which is tried on each line by itself. Its named groups are what is read:
	// any [record.Quantity], checkpoint (the reading's name), file (the work on a file of that name begins), fallback (the words
	// by which the program says how it goes on after an allocation failed), device, rank, time.
	// A line may match several times.
	Pattern string
	// Unit is that of numbers without one: "MiB". The unit of a number that has one stands in its group or right behind it.
	Unit string
	// Decimal says that kB, MB, GB and TB, in the text and as Unit, are powers of 1000; else they are of 1024. KiB, MiB, GiB
	// and TiB always are.
	Decimal bool
}

// A DialectMistake is what is wrong with a user's dialect.
type DialectMistake struct {
	Field    string // "name", "pattern" or "unit"
	Expected string
}

// Groups that are no quantities.
const (
	groupCheckpoint = "checkpoint"
	groupFile       = "file"
	groupFallback   = "fallback"
	groupDevice     = "device"
	groupRank       = "rank"
	groupTime       = "time"
)

// GroupNames are the names that the groups of a [User]'s pattern may have.
func GroupNames() []string {
	return append(slices.Clone(record.QuantityKeys[:]), groupCheckpoint, groupFile, groupFallback, groupDevice, groupRank, groupTime)
}

var dialectName = lex.Expression(`^[a-z0-9][a-z0-9._-]{0,39}$`)

// Mistakes are all that is wrong with the dialect, by itself; none where it is sound.
func (d User) Mistakes() []DialectMistake {
	var all []DialectMistake
	wrong := func(field, format string, args ...any) {
		all = append(all, DialectMistake{field, fmt.Sprintf(format, args...)})
	}
	switch {
	case !dialectName().MatchString(d.Name):
		wrong("name", "a name of lower-case letters, digits, '.', '_' and '-'")
	case slices.Contains(Names(), d.Name):
		wrong("name", "a name that no built-in dialect has (%s)", strings.Join(Names(), ", "))
	}
	if d.Unit != "" && d.unit() == 0 {
		wrong("unit", "a unit of bytes, KiB, MiB, GiB or TiB (or kB, MB, GB, TB)")
	}
	re, err := regexp.Compile(d.Pattern)
	if err != nil {
		reason := err.Error()
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			reason = fmt.Sprintf("%s: %s", e.Code, e.Expr)
		}
		wrong("pattern", "a regular expression of Go's (%s)", reason)
		return all
	}
	reads := false
	for _, name := range re.SubexpNames() {
		_, err := record.ParseQuantity(name)
		reads = reads || err == nil || name == groupFile || name == groupFallback
		if name != "" && !slices.Contains(GroupNames(), name) {
			wrong("pattern", "groups named %s (not %s)", strings.Join(GroupNames(), ", "), name)
		}
	}
	if !reads {
		wrong("pattern", "a group that reads memory, such as (?P<allocated>[\\d.]+), a (?P<file>...) or a (?P<fallback>...)")
	}
	if strings.ContainsAny(d.Pattern, "\n\r") {
		wrong("pattern", "a pattern of one line (in YAML one behind | ends with a line break: put it in quotes)")
	}
	if re.MatchString("") {
		wrong("pattern", "a pattern that does not match the empty string")
	}
	return all
}

// unit is what a number without a unit counts, in bytes, 0 where it must have one.
func (d User) unit() int64 {
	n, rest := d.cutUnit([]byte(d.Unit))
	if len(bytes.TrimSpace(rest)) > 0 {
		return 0
	}
	return n
}

// cutUnit is [lex.CutUnit] by what MB means in the dialect.
func (d User) cutUnit(text []byte) (unit int64, rest []byte) {
	if d.Decimal {
		return lex.CutDecimalUnit(text)
	}
	return lex.CutUnit(text)
}

// Literals are the strings one of which stands in every line that the pattern matches; nil where the pattern has none of
// four bytes or more, or ignores case. Without them each line of a log is tried, which takes longer.
func (d User) Literals() []string {
	re, err := syntax.Parse(d.Pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	best := literalsOf(re.Simplify()).best
	if shortest(best) < search.MinNeedle {
		return nil
	}
	for i := range best {
		best[i] = best[i][:min(len(best[i]), search.MaxNeedle-1)]
	}
	return best
}

// literalsMax bounds the alternatives of a pattern that are searched for one by one.
const literalsMax = 8

// literals are what a part of a pattern demands.
type literals struct {
	exact bool     // the part matches what best[0] is, and nothing else
	best  []string // one of these is in every match
}

func shortest(set []string) int {
	if len(set) == 0 {
		return 0
	}
	return len(slices.MinFunc(set, func(a, b string) int { return len(a) - len(b) }))
}

func literalsOf(re *syntax.Regexp) literals {
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		if re.Flags&syntax.FoldCase != 0 && strings.ToLower(text) != strings.ToUpper(text) {
			return literals{}
		}
		return literals{true, []string{text}}
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return literals{true, []string{""}}
	case syntax.OpCapture:
		return literalsOf(re.Sub[0])
	case syntax.OpPlus:
		return literals{false, literalsOf(re.Sub[0]).best}
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			l := literalsOf(sub)
			if len(l.best) == 0 || len(all)+len(l.best) > literalsMax {
				return literals{}
			}
			all = append(all, l.best...)
		}
		return literals{false, all}
	case syntax.OpConcat:
		return concatLiterals(re.Sub)
	}
	return literals{}
}

// concatLiterals joins what follows one another exactly, and takes the part whose shortest literal is the longest.
func concatLiterals(parts []*syntax.Regexp) literals {
	var best []string
	exact, run := true, ""
	take := func(set []string) {
		if shortest(set) > shortest(best) {
			best = set
		}
	}
	for _, part := range parts {
		l := literalsOf(part)
		if l.exact {
			run += l.best[0]
			continue
		}
		take([]string{run})
		take(l.best)
		exact, run = false, ""
	}
	if exact {
		return literals{true, []string{run}}
	}
	take([]string{run})
	return literals{false, best}
}

// Compiled makes the dialect, the i-th of the user's, one like the others. It must be sound.
func (d User) Compiled(i int) *scan.Dialect {
	u := d.Reader(i)
	return &scan.Dialect{Name: d.Name, Needles: d.Literals(), Read: u.read}
}

func (d User) Reader(i int) *UserReader {
	re := regexp.MustCompile(d.Pattern)
	return &UserReader{User: d, Re: re, Names: re.SubexpNames(), bit: 1 << i}
}

// A UserReader reads what a pattern matches.
type UserReader struct {
	User
	Re    *regexp.Regexp
	Names []string // of the groups
	bit   uint64   // in line.tried
}

// UserDialectsMax is how many dialects a user may have.
const UserDialectsMax = 64

// read reads all matches of the line at once, where the first of the literals stands in it that is not of another record.
func (u *UserReader) read(l *scan.Line, at int) (end int) {
	if !l.Once(u.bit) {
		return 0
	}
	for _, match := range u.Re.FindAllSubmatchIndex(l.Text, -1) {
		if match[1] > at && u.match(l, match) {
			end = match[1]
		}
	}
	return end
}

// match adds the records of a match, and says whether there were any.
func (u *UserReader) match(l *scan.Line, at []int) bool {
	text := l.Text // the line stays, and so does its text
	var c record.Checkpoint
	var file []byte
	var h *record.Header
	first := at[1] // of what is read: a time may stand before it, within the match
	for i, name := range u.Names {
		if start := at[2*i]; name != "" && name != groupTime && start >= 0 {
			first = min(first, start)
		}
	}
	before := l.Added()
	header := func() record.Header {
		if h == nil {
			head := l.Header(first)
			h = &head
		}
		return *h
	}
	bad := func(expected string, start int) {
		l.Add(record.SyntaxError{
			Header: header(), Expected: expected, Found: lex.Shorten(strings.ToValidUTF8(string(text[start:]), "�"), 80),
			Advice: "the line matches the pattern of the dialect " + u.Name + "; mend the pattern, or give it a unit",
		})
	}
	var mistakes []func()
	mistake := func(expected string, start int) { mistakes = append(mistakes, func() { bad(expected, start) }) }
	named, fellBack := false, false
	for i, name := range u.Names {
		start, end := at[2*i], at[2*i+1]
		if name == "" || start < 0 {
			continue
		}
		group := text[start:end]
		switch name {
		case groupCheckpoint:
			c.Name, named = l.Str(group), true
		case groupFile:
			if file = bytes.TrimSpace(group); len(file) == 0 {
				mistake("the name of a file", start)
			}
		case groupFallback:
			fellBack = true
		case groupTime:
			s := stamp.Find(group)
			if s.IsZero() {
				mistake("a time such as 2026-11-20T02:00:03Z", start)
				continue
			}
			head := l.Header(first)
			s.Into(&head)
			h = &head
		case groupDevice, groupRank:
			n, rest, ok := lex.CutInt(group)
			switch {
			case !ok || len(rest) > 0:
				mistake("the number of a "+name, start)
			case name == groupDevice:
				c.Lane.Device = n
			default:
				c.Lane.Rank = n
			}
		default:
			q, _ := record.ParseQuantity(name) // known: the pattern is sound
			size, expected := u.size(group, text[end:])
			if expected != "" {
				mistake(expected+" in the group "+name, start)
				continue
			}
			c.Set(q, size)
		}
	}
	if len(file) > 0 {
		l.Add(record.FileStart{Header: header(), Pipeline: true, Path: l.Str(file)})
	}
	if c.Len() > 0 {
		c.Sampled = !named
		if c.Name == "" {
			c.Name = u.Name
		}
		c.Header = header()
		l.Add(c)
	}
	if fellBack {
		l.Add(record.Event{Header: header(), Kind: record.EventFallback, Text: l.Message(first)})
	}
	for _, add := range mistakes {
		add()
	}
	return l.Added() > before
}

// size reads a number with its unit; expected says what should stand there where it cannot.
func (u *UserReader) size(group, behind []byte) (s record.Size, expected string) {
	group = bytes.TrimSpace(group)
	number := withoutCommas(group)
	n, rest, ok := lex.CutNumber(number)
	if !ok || n.Digits < 0 {
		return record.Size{}, "a size of 0 or more"
	}
	unit, after := u.cutUnit(rest)
	if len(bytes.TrimSpace(after)) > 0 {
		return record.Size{}, "a size such as 7.23 GiB"
	}
	if unit == 0 {
		if i := len(behind) - len(lex.TrimBlanks(behind)); i < 2 {
			if found, rest := u.cutUnit(behind); len(behind)-len(rest)-i > 1 && (len(rest) == 0 || !lex.IsTextByte(rest[0])) {
				unit = found
			}
		}
	}
	if unit == 0 {
		unit = u.unit()
	}
	if unit == 0 {
		return record.Size{}, "a unit such as MiB"
	}
	if s, ok = n.Times(unit); !ok {
		return record.Size{}, "a size below 4 EiB"
	}
	return s, ""
}

// withoutCommas takes the commas out of a number that has one before every three digits: "7,763,421,184 bytes".
func withoutCommas(b []byte) []byte {
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
