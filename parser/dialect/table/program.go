package table

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/strictyaml"
)

// A Program is the way in which one program prints its memory, line by line.
type Program struct {
	Name string
	// Source is the file of the program that prints the lines: "megatron/training/utils.py".
	Source string
	Lines  []Line
}

// A Line is one kind of line of a program.
type Line struct {
	// Pattern is a regular expression in Go's syntax. It is matched with one line at a time, and may have
	// several matches in it. Its named groups are read, see [GroupNames].
	Pattern string
	// Unit is the unit of numbers that have none: "MiB". A number's own unit is in its group or
	// directly behind it.
	Unit string
	// Decimal says that kB, MB, GB and TB are powers of 1000, both in the text and as Unit. Otherwise
	// they are powers of 1024. KiB, MiB, GiB and TiB always are.
	Decimal bool
	// Checkpoint or Step is the name of a reading that the pattern does not name. A checkpoint is
	// printed at a named point of the program. A step is printed at each step or by the clock, and is
	// sampled. Without both, the reading is sampled and has the program's name.
	Checkpoint, Step string
	// Rounding is how the program rounds its numbers.
	Rounding Rounding
	// Decimals is the number of decimals to which the program rounds. It is needed if the program
	// prints fewer or more.
	Decimals int
	// Change says that the numbers are differences. They may be negative.
	Change bool
	// LauncherRank has no effect: the rank of a launcher, as in "[rank3]:", counts in every dialect.
	// Files from before that may set it.
	LauncherRank bool
	// KeepTorn says that a torn line gives the readings before the tear. See the group begun.
	KeepTorn bool
	// Example is a line that the pattern matches. Gives is what [Line.Read] returns for it.
	Example, Gives string
}

// A Rounding is how a program turns a size into the number that it prints.
type Rounding string

// The roundings. The true size is within the resolution of the reading.
const (
	// Nearest rounds to the nearest number with the printed decimals. Line.Decimals is needed if the
	// program drops zeros: Python prints 1.7 for round(1.70, 2).
	Nearest Rounding = ""
	// Down rounds down: "5624 MiB" is read as 5624.5 MiB, plus or minus 0.5 MiB.
	Down Rounding = "down"
	// UpOrDown rounds to either neighbour: the true size may be up to a unit away.
	UpOrDown Rounding = "up or down"
	// None prints a float with all its digits, so that the bytes are exact. Only a number that has
	// exactly Line.Decimals decimals was rounded to the nearest.
	None Rounding = "none"
)

// Roundings are all roundings, in the words of YAML.
var Roundings = []Rounding{"nearest", Down, UpOrDown, None}

// A Mistake says what a field of a program or a line should be.
type Mistake struct {
	Field    string // "name", "pattern", "unit", ...
	Expected string
}

// The groups that are not quantities.
const (
	groupCheckpoint = "checkpoint"
	groupStep       = "step"
	groupFile       = "file"
	groupFallback   = "fallback"
	groupDevice     = "device"
	groupRank       = "rank"
	groupTime       = "time"
	groupBegun      = "begun"
	groupTorn       = "torn"
)

// GroupNames returns the names that the groups of a pattern may have:
//
//	allocated, reserved, ...   any [record.Quantity]
//	checkpoint, step           the name of the reading
//	file                       the name of a file that the program starts
//	fallback                   the words for what the program does after a failed allocation
//	device, rank, time
//	begun                      a line that does not match the pattern behind this group is torn
//	torn                       a line in which this group takes part is torn
func GroupNames() []string {
	return append(
		slices.Clone(record.QuantityKeys[:]),
		groupCheckpoint,
		groupStep,
		groupFile,
		groupFallback,
		groupDevice,
		groupRank,
		groupTime,
		groupBegun,
		groupTorn,
	)
}

var programName = lex.Expression(`^[a-z0-9][a-z0-9._-]{0,39}$`)

// NameMistakes returns the mistakes in the name of a program. taken are the names of other
// programs.
func NameMistakes(name string, taken []string) []Mistake {
	switch {
	case !programName().MatchString(name):
		return []Mistake{{"name", "a name of lower-case letters, digits, '.', '_' and '-'"}}
	case slices.Contains(taken, name):
		return []Mistake{
			{"name", `a name that no built-in dialect has ("vramsoak dialects" lists them)`},
		}
	}
	return nil
}

// Mistakes returns the mistakes in the lines of a program.
func (p *Program) Mistakes() (all []Mistake) {
	for i := range p.Lines {
		all = append(all, p.Lines[i].mistakes(p.Name)...)
	}
	return all
}

// mistakes returns the mistakes in a line of a program.
func (l *Line) mistakes(program string) (all []Mistake) {
	wrong := func(field, format string, args ...any) {
		all = append(all, Mistake{field, fmt.Sprintf(format, args...)})
	}
	if l.Unit != "" && l.unit() == 0 {
		wrong("unit", "a unit of bytes, KiB, MiB, GiB or TiB (or kB, MB, GB, TB)")
	}
	re, err := regexp.Compile(l.Pattern)
	if err != nil {
		reason := err.Error()
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			reason = fmt.Sprintf("%s: %s", e.Code, e.Expr)
		}
		wrong("pattern", "a regular expression in Go's syntax, which has no lookaround (%s)", reason)
		return all
	}
	for _, name := range re.SubexpNames() {
		if name != "" && !slices.Contains(GroupNames(), name) {
			wrong("pattern", "groups named %s (not %s)%s", strings.Join(GroupNames(), ", "), name,
				strictyaml.Meant(name, GroupNames()))
		}
	}
	if !reads(re.SubexpNames()) && !slices.Contains(re.SubexpNames(), groupTorn) {
		wrong(
			"pattern",
			"a group that reads memory, such as (?P<allocated>[\\d.]+), a (?P<file>...) or a (?P<fallback>...)",
		)
	}
	if strings.ContainsAny(l.Pattern, "\n\r") {
		wrong(
			"pattern",
			"a pattern of one line (in YAML one behind | ends with a line break: put it in quotes)",
		)
	}
	if re.MatchString("") {
		wrong("pattern", "a pattern that does not match the empty string")
	}
	if re.NumSubexp() >= groupsMax {
		wrong("pattern", "at most %d groups", groupsMax-1)
	} else if _, err := compile(l.Pattern, l.KeepTorn); err != nil {
		wrong("pattern", "(?P<begun>) once, in no other group, before the rest of the line")
	}
	if len(all) > 0 || l.Example == "" {
		return all
	}
	records := l.records(program, l.Example)
	unreadable := slices.ContainsFunc(records, func(rec record.Record) bool {
		_, bad := rec.(record.SyntaxError)
		return bad
	})
	switch gives := renderAll(records); {
	case len(records) == 0:
		wrong("example", "a line that the pattern matches")
	case l.Gives == "" && unreadable && !l.onlyTorn():
		wrong("example", "a line that can be read; if its numbers have no unit, add the key unit")
	case l.Gives != "" && l.Gives != gives:
		wrong("gives", "%s", gives)
	}
	return all
}

// reads reports whether a pattern with these groups reads anything: a quantity, the name of a file,
// or a fallback.
func reads(groups []string) bool {
	return slices.ContainsFunc(groups, func(name string) bool {
		_, err := record.ParseQuantity(name)
		return err == nil || name == groupFile || name == groupFallback
	})
}

// onlyTorn reports whether the line's pattern is only for torn lines: it reads nothing from them.
func (l *Line) onlyTorn() bool {
	re, err := syntax.Parse(l.Pattern, syntax.Perl)
	return err == nil && !reads(re.CapNames())
}

// unit returns the unit of numbers without a unit, in bytes. It is 0 if every number must have one.
func (l *Line) unit() int64 {
	n, rest := l.cutUnit([]byte(l.Unit))
	if len(bytes.TrimSpace(rest)) > 0 {
		return 0
	}
	return n
}

// cutUnit is [lex.CutUnit] or [lex.CutDecimalUnit], by what MB means in the line.
func (l *Line) cutUnit(text []byte) (unit int64, rest []byte) {
	if l.Decimal {
		return lex.CutDecimalUnit(text)
	}
	return lex.CutUnit(text)
}

// name returns the name of a reading that the pattern does not name, and whether it is sampled.
func (l *Line) name(program string) (name string, sampled bool) {
	return cmp.Or(l.Checkpoint, l.Step, program), l.Checkpoint == ""
}

// Equal reports whether two programs have the same description.
func (p Program) Equal(o Program) bool {
	return p.Name == o.Name && p.Source == o.Source && slices.Equal(p.Lines, o.Lines)
}
