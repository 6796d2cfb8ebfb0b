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
)

// A Program is the way in which one program prints its memory, line by line.
type Program struct {
	Name string
	// Source is where the program prints the lines: "megatron/training/utils.py".
	Source string
	Lines  []Line
}

// A Line is one kind of line of a program.
type Line struct {
	// Pattern is a regular expression of Go's, which is matched with one line at a time. A line may
	// have several matches. Its named groups are what is read, see [GroupNames].
	Pattern string
	// Unit is that of numbers without one: "MiB". The unit of a number that has one stands in its
	// group or right behind it.
	Unit string
	// Decimal says that kB, MB, GB and TB, in the text and as Unit, are powers of 1000; else they are
	// of 1024. KiB, MiB, GiB and TiB always are.
	Decimal bool
	// Checkpoint and Step are the name of a reading whose pattern gives it none. A checkpoint is at a
	// place of the program; a reading by the step or the clock is sampled. With neither, the name is
	// the program's, and the reading is sampled.
	Checkpoint, Step string
	// Rounding is how the program rounds its numbers.
	Rounding Rounding
	// Decimals is to how many decimals the program rounds, where the printed ones do not say it.
	Decimals int
	// Change says that the numbers are differences. They may be negative.
	Change bool
	// LauncherRank says that the rank stands before the line, where a launcher puts it: "[rank3]:".
	LauncherRank bool
	// KeepTorn says that a torn line gives the readings that stand before the tear. See the group
	// begun.
	KeepTorn bool
	// Example is a line that the pattern matches, and Gives what is read from it, see [Line.Read].
	Example, Gives string
}

// A Rounding is how a program turns a size into the number that it prints.
type Rounding string

// The roundings. The size that was printed lies within the resolution of the reading.
const (
	// Nearest is to the nearest number of the printed decimals. With Line.Decimals those count which
	// the program leaves out: Python prints 1.7 for round(1.70, 2).
	Nearest Rounding = ""
	// Down is to the number below: "5624 MiB" is read as 5624.5 MiB, give or take 0.5 MiB.
	Down Rounding = "down"
	// UpOrDown is to one of the two numbers around it: the size may be all of a unit away.
	UpOrDown Rounding = "up or down"
	// None is for a float with all its digits: the bytes are exact. With Line.Decimals a number of so
	// many decimals was rounded to the nearest after all.
	None Rounding = "none"
)

// Roundings are all of them, as they are written in YAML.
var Roundings = []Rounding{"nearest", Down, UpOrDown, None}

// A Mistake is what is wrong with a field of a program or a line.
type Mistake struct {
	Field    string // "name", "pattern", "unit", ...
	Expected string
}

// Groups that are no quantities.
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

// GroupNames are the names that the groups of a pattern may have: any [record.Quantity]; checkpoint
// and step, the reading's name; file, the name of a file on which work begins; fallback, the words
// by which the program says how it goes on after an allocation failed; device, rank, time; begun,
// behind which the line must go on as the pattern says, or else is torn; torn, which only torn
// lines have.
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

// NameMistakes are all that is wrong with the name of a program. taken are the names of others.
func NameMistakes(name string, taken []string) []Mistake {
	switch {
	case !programName().MatchString(name):
		return []Mistake{{"name", "a name of lower-case letters, digits, '.', '_' and '-'"}}
	case slices.Contains(taken, name):
		return []Mistake{
			{"name", "a name that no built-in dialect has (" + strings.Join(taken, ", ") + ")"},
		}
	}
	return nil
}

// Mistakes are all that is wrong with the program, but for its name.
func (p *Program) Mistakes() (all []Mistake) {
	for i := range p.Lines {
		all = append(all, p.Lines[i].mistakes(p.Name)...)
	}
	return all
}

// mistakes are all that is wrong with a line of a program; none if it is sound.
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
		wrong("pattern", "a regular expression of Go's (%s)", reason)
		return all
	}
	reads := false
	for _, name := range re.SubexpNames() {
		_, err := record.ParseQuantity(name)
		reads = reads || err == nil || name == groupFile || name == groupFallback || name == groupTorn
		if name != "" && !slices.Contains(GroupNames(), name) {
			wrong("pattern", "groups named %s (not %s)", strings.Join(GroupNames(), ", "), name)
		}
	}
	if !reads {
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
	switch gives := l.Read(program, l.Example); {
	case gives == "":
		wrong("example", "a line that the pattern matches")
	case l.Gives != "" && l.Gives != gives:
		wrong("gives", "%s", gives)
	}
	return all
}

// unit is what a number without a unit counts, in bytes, 0 where it must have one.
func (l *Line) unit() int64 {
	n, rest := l.cutUnit([]byte(l.Unit))
	if len(bytes.TrimSpace(rest)) > 0 {
		return 0
	}
	return n
}

// cutUnit is [lex.CutUnit] by what MB means in the line.
func (l *Line) cutUnit(text []byte) (unit int64, rest []byte) {
	if l.Decimal {
		return lex.CutDecimalUnit(text)
	}
	return lex.CutUnit(text)
}

// name is the default name of a reading of the line, and whether it is sampled.
func (l *Line) name(program string) (name string, sampled bool) {
	return cmp.Or(l.Checkpoint, l.Step, program), l.Checkpoint == ""
}

// Equal reports whether two programs are described alike.
func (p Program) Equal(o Program) bool {
	return p.Name == o.Name && p.Source == o.Source && slices.Equal(p.Lines, o.Lines)
}
