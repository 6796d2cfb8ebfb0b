package nearmiss

import (
	"strings"

	"vramsoak/parser/dialect/table"
	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// name is the name of the dialect that is written.
const name = "my-log"

// dialect returns a file with a dialect that reads the candidate's line and those of the log that
// look alike. If no dialect is sure to read them, it returns the reason.
func (c *candidate) dialect(likely []candidate) (file, unclear string) {
	if c.unclear != "" && c.unclear != noUnit {
		return "", c.unclear
	}
	own := judgeAs([]byte(c.text), true)
	alike, others := []candidate{own}, []candidate(nil)
	key, inBytes := own.key(), c.unclear == ""
	for i := range likely {
		o := judgeAs([]byte(likely[i].text), true)
		switch {
		case o.text == c.text:
		case o.unclear == "" && o.key() == key:
			alike = append(alike, o)
			inBytes = inBytes || likely[i].unclear == ""
		default:
			others = append(others, likely[i])
		}
	}
	if !inBytes {
		return "", noUnit
	}
	if own.unclear != "" {
		return "", own.unclear
	}
	unit, decimal, ok := unitOf(alike)
	if !ok {
		return "", "its numbers have several units, which a dialect does not read"
	}
	for _, withName := range []bool{true, false} {
		p, ok := patternOf(alike, withName)
		if !ok {
			continue
		}
		line := table.Line{Pattern: p, Unit: unit, Decimal: decimal, Step: "GPU memory"}
		if withName {
			line.Step = ""
		}
		if reads(&line, alike, others) {
			return asYAML(&line), ""
		}
	}
	return "", noPattern
}

// key returns what a line has in common with the lines that look like it: the quantities, and the
// known words of their labels.
func (c *candidate) key() string {
	var b strings.Builder
	for i := range c.numbers {
		n := &c.numbers[i]
		if n.quantity == "" {
			continue
		}
		b.WriteString(n.quantity + " ")
		for _, w := range wordsBetween(c.words, c.clause(n), n.start) {
			if w.sense&^(saysNoLevel|saysFiller) != 0 {
				b.WriteString(strings.ToLower(c.text[w.start:w.end]) + " ")
			}
		}
		if !n.unit.known {
			b.WriteString(n.unit.name + n.keyUnit)
		}
		b.WriteByte('|')
	}
	return b.String()
}

// unitOf returns the unit of the numbers that have none that a dialect reads. ok is false if they
// have several.
func unitOf(alike []candidate) (unit string, decimal, ok bool) {
	for i := range alike {
		for _, n := range alike[i].numbers {
			if n.quantity == "" || n.unit.known {
				continue
			}
			own := n.unit.name + n.keyUnit
			if unit != "" && own != unit {
				return "", false, false
			}
			unit, decimal = own, n.decimal
		}
	}
	return unit, decimal, true
}

// reads reports whether a dialect reads each of the lines that look alike, and of the others only
// what they say.
func reads(line *table.Line, alike, others []candidate) bool {
	program := table.Program{Name: name, Lines: []table.Line{*line}}
	if len(program.Mistakes()) > 0 {
		return false
	}
	for i := range alike {
		if all, only := readsOf(program, &alike[i]); !all || !only {
			return false
		}
	}
	for i := range others {
		if _, only := readsOf(program, &others[i]); !only {
			return false
		}
	}
	return true
}

// readsOf reports whether a dialect reads all numbers of a line that have a quantity, and whether
// it reads only these, as this quantity.
func readsOf(program table.Program, c *candidate) (all, only bool) {
	type place struct {
		quantity   string
		start, end int
	}
	want := map[place]bool{}
	for _, n := range c.numbers {
		if n.quantity != "" {
			want[place{n.quantity, n.start, n.end}] = true
		}
	}
	for trial, err := range table.Try(strings.NewReader(c.text), name, []table.Program{program}) {
		if err != nil || trial.Text != c.text {
			return false, false
		}
		for _, rec := range trial.Records {
			if _, isReading := rec.(record.Checkpoint); !isReading {
				return false, false
			}
		}
		for _, g := range trial.Groups {
			if g.Name == "checkpoint" || g.Name == "device" {
				continue
			}
			at := place{g.Name, g.Start, g.End}
			if !want[at] {
				return false, false
			}
			delete(want, at)
		}
	}
	return len(want) == 0, true
}

// asYAML returns a file with a dialect of one line.
func asYAML(line *table.Line) string {
	var b strings.Builder
	b.WriteString("dialects:\n  - name: " + name + "\n")
	b.WriteString("    pattern: '" + strings.ReplaceAll(line.Pattern, "'", "''") + "'\n")
	if line.Unit != "" {
		b.WriteString("    unit: " + line.Unit + "\n")
	}
	if line.Decimal {
		b.WriteString("    decimal: true\n")
	}
	if line.Step != "" {
		b.WriteString("    step: " + line.Step + "\n")
	}
	return b.String()
}

// firstRunes returns at most the first n runes of a text.
func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// usualUnit matches a unit as most programs print it: "GB", " MiB".
var usualUnit = lex.Expression(`^ ?[KMGT]?i?B$`)
