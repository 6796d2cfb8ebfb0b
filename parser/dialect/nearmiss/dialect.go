package nearmiss

import (
	"regexp"
	"strings"
	"unicode"

	"vramsoak/parser/dialect/table"
	"vramsoak/parser/lex"
)

// name is the name of the dialect that is written.
const name = "my-log"

// moment matches the words in a line that say when the memory was measured.
var moment = lex.Expression(`(?i)\b(?:before|after)\b[ \t]+` +
	`(?:[^:=|,;()\[\]{}<>"'\x00-\x1f-]|-[^ ]){1,64}`)

// usualUnit matches a unit as most programs print it: "GB", " MiB".
var usualUnit = lex.Expression(`^ ?[KMGT]?i?B$`)

// dialect returns a file with a dialect that reads the candidate's line, or "" if none does.
func (c *candidate) dialect(text string) string {
	for _, withMoment := range []bool{true, false} {
		p, ok := c.pattern(text, withMoment)
		if !ok {
			continue
		}
		line := table.Line{Pattern: p, Unit: c.unit, Step: "GPU memory"}
		if withMoment {
			line.Step = ""
		}
		program := table.Program{Name: name, Lines: []table.Line{line}}
		if len(program.Mistakes()) > 0 {
			continue
		}
		if gives := line.Read(name, text); gives == "" || strings.Contains(gives, "torn") {
			continue
		}
		return asYAML(&line)
	}
	return ""
}

// asYAML returns a file with a dialect of one line.
func asYAML(line *table.Line) string {
	var b strings.Builder
	b.WriteString("dialects:\n  - name: " + name + "\n")
	b.WriteString("    pattern: '" + strings.ReplaceAll(line.Pattern, "'", "''") + "'\n")
	if line.Unit != "" {
		b.WriteString("    unit: " + line.Unit + "\n")
	}
	if line.Step != "" {
		b.WriteString("    step: " + line.Step + "\n")
	}
	return b.String()
}

// pattern returns a regular expression that matches the label, the number and the unit. With a
// moment, such as "before training", the moment is a group, so that it may be any other. ok is
// false if the line has no moment.
func (c *candidate) pattern(text string, withMoment bool) (pattern string, ok bool) {
	label := text[c.label:c.start]
	behind := ""
	rest := text[c.end:]
	if c.behind {
		behind = ` ?[A-Za-z]*[Bb](?:ytes)?\b`
		if u := unitAt([]byte(firstRunes(rest, labelMax))); usualUnit().MatchString(rest[:u.length]) {
			behind = ` ?[KMGT]?i?B\b`
		} else if !strings.ContainsAny(rest[:u.length], "bB") {
			behind = ` ?[KMGT]\b`
		}
	}
	number := `(?P<` + c.quantity + `>\d[\d.,]*)` + behind
	switch {
	case !hasLetter([]byte(label)): // "1.2 GB VRAM in use"
		unit := rest[:unitAt([]byte(firstRunes(rest, labelMax))).length]
		rest = firstRunes(rest[len(unit):], labelMax)
		if !hasLetter([]byte(rest)) {
			return "", false
		}
		if behind == "" {
			number += literal(unit)
		}
		number += literal(rest)
	case !withMoment:
		return literal(label) + number, true
	}
	if !withMoment {
		return number, true
	}
	at := moment().FindStringIndex(label)
	if at != nil {
		words := label[at[0]:at[1]]
		if trimmed := strings.TrimRight(words, " \t-"); trimmed != "" {
			at[1] = at[0] + len(trimmed)
		}
		group := `(?P<checkpoint>(?i:before|after)[ \t][^:=|,;]{1,64}?)`
		return literal(label[:at[0]]) + group + literal(label[at[1]:]) + number, true
	}
	at = moment().FindStringIndex(text[:c.label])
	if at == nil {
		return "", false
	}
	group := `(?P<checkpoint>(?i:before|after)[ \t][^:=|,;()\[\]{}"]{0,63}[^ \t:=|,;()\[\]{}"-]).*?`
	return group + literal(label) + number, true
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

// numbers matches the numbers and the blanks of a label, which differ from line to line.
var numbers = lex.Expression(`\d+(?:\.\d+)?|[ \t]+|[^\d \t]+`)

// literal returns a pattern for a text. It leaves open which numbers and how many blanks the text
// has, and what its unprintable characters are.
func literal(text string) string {
	var b strings.Builder
	for _, part := range numbers().FindAllString(text, -1) {
		switch {
		case lex.IsDigit(part[0]):
			b.WriteString(`\d[\d.]*`)
		case strings.Contains(part, "\t"):
			b.WriteString(`[ \t]+`)
		case part[0] == ' ':
			b.WriteString(` +`)
		default:
			for _, r := range part {
				if unicode.IsPrint(r) {
					b.WriteString(regexp.QuoteMeta(string(r)))
				} else {
					b.WriteByte('.')
				}
			}
		}
	}
	return b.String()
}
