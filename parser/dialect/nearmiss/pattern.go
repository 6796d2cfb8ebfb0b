package nearmiss

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"vramsoak/parser/lex"
)

// A cut is the part of a line that a pattern covers: texts, and the numbers between them.
type cut struct {
	texts   []string // one more than numbers
	numbers []number
	device  [2]int // offsets in texts[0] of the number of the device, or 0, 0
	start   int    // offset in the line
}

// cut returns the part of the line that a pattern must cover. If the line has several devices, the
// part covers the numbers of the first one.
func (c *candidate) cut() (k cut) {
	for _, n := range c.numbers {
		if n.quantity == "" {
			continue
		}
		if len(k.numbers) > 0 && n.device != k.numbers[0].device {
			break
		}
		k.numbers = append(k.numbers, n)
	}
	first := &k.numbers[0]
	k.start = c.startOf(first)
	if first.device[1] > 0 {
		for _, w := range slices.Backward(wordsBetween(c.words, 0, first.device[0])) {
			if w.sense&saysGPU != 0 { // the word that has the number
				k.start = min(k.start, w.start)
				break
			}
		}
		if k.start <= first.device[0] {
			k.device = [2]int{first.device[0] - k.start, first.device[1] - k.start}
		}
	}
	at := k.start
	for i := range k.numbers {
		n := &k.numbers[i]
		k.texts = append(k.texts, c.text[at:n.start])
		if at = n.end; n.unit.name != "" {
			at += n.unit.length
		}
	}
	last := &k.numbers[len(k.numbers)-1]
	k.texts = append(k.texts, c.text[at:max(at, last.after)])
	return k
}

// startOf returns the offset at which the pattern of a number begins. It is the offset of the
// number's first known word, or of a word for the GPU shortly before it.
func (c *candidate) startOf(n *number) int {
	start := n.start
	const known = saysGPU | saysMemory | saysQuantity | saysCurrent
	for _, from := range []int{c.clause(n), n.label} {
		words := wordsBetween(c.words, from, n.start)
		if i := slices.IndexFunc(words, func(w word) bool { return w.sense&known != 0 }); i >= 0 {
			start = words[i].start
			break
		}
	}
	if sensesOf(wordsBetween(c.words, start, n.after))&saysGPU != 0 {
		return start
	}
	near := wordsBetween(c.words, max(0, start-32), start)
	for i, w := range slices.Backward(near) {
		isValue := i > 0 && near[i-1].sense&saysHost != 0 && c.text[w.start-1] == '=' // "host=gpu01"
		if w.sense&saysHost != 0 || isValue {
			break
		}
		if w.sense&saysGPU != 0 {
			return w.start
		}
	}
	return start
}

// moment matches the words in a label that say when the memory was measured.
var moment = lex.Expression(`(?i)\b(?:before|after)\b[ \t]+` +
	`(?:[^:=|,;()\[\]{}<>"'\x00-\x1f-]|-[^ ]){1,64}`)

// momentAbove matches such words before a label: "Before cleanup: ", "[MEM] before_asr: ",
// "stage=before ", `"stage": "before", `.
var momentAbove = lex.Expression(
	`(?i)(=|"|'|\b)((?:before|after)(?:[ \t_-][^:=|,;()\[\]{}"'<>→]{1,63}?)?)` +
		`(["' \t]*[:=|,;()\[\]{}"'<>→]|[ \t]+)`)

// patternOf returns a regular expression that matches the numbers of all lines, with their labels
// and units. A part that differs from line to line may be anything. With a name, the words that say
// when the memory was measured are a group. ok is false if the lines have no name.
func patternOf(alike []candidate, withName bool) (pattern string, ok bool) {
	cuts := make([]cut, len(alike))
	for i := range alike {
		cuts[i] = alike[i].cut()
		if len(cuts[i].numbers) != len(cuts[0].numbers) {
			return "", false
		}
	}
	var b strings.Builder
	if withName {
		above, inLabel := nameAbove(alike, cuts)
		if above == "" && !inLabel {
			return "", false
		}
		b.WriteString(above)
	}
	for j := range cuts[0].texts {
		texts := make([]string, len(cuts))
		for i := range cuts {
			texts[i] = cuts[i].texts[j]
		}
		switch {
		case j == 0 && cuts[0].device[1] > 0:
			after := make([]string, len(cuts))
			for i := range cuts {
				d := cuts[i].device
				if d[1] == 0 {
					return "", false
				}
				texts[i], after[i] = cuts[i].texts[0][:d[0]], cuts[i].texts[0][d[1]:]
			}
			b.WriteString(common(texts) + `(?P<device>\d{1,3})` + common(after))
		case j == 0 && withName && b.Len() == 0:
			part, ok := named(texts)
			if !ok {
				return "", false
			}
			b.WriteString(part)
		default:
			b.WriteString(common(texts))
		}
		if j < len(cuts[0].numbers) {
			b.WriteString(numberPattern(cuts, j, alike))
		}
	}
	return b.String(), true
}

// numberPattern returns a pattern for the j-th number of all lines, with its unit.
func numberPattern(cuts []cut, j int, alike []candidate) string {
	digits := `\d[\d.,]*`
	usual, oneLetter := true, true
	first := &cuts[0].numbers[j]
	for i := range cuts {
		n := &cuts[i].numbers[j]
		text := alike[i].text
		if strings.ContainsAny(text[n.start:n.end], "eE") {
			digits = `\d[\d.,]*(?:[eE][+-]?\d+)?`
		}
		unit := text[n.end : n.end+n.unit.length]
		usual = usual && usualUnit().MatchString(unit)
		oneLetter = oneLetter && !strings.ContainsAny(unit, "bB")
	}
	number := `(?P<` + first.quantity + `>` + digits + `)`
	switch {
	case first.unit.name == "":
		return number
	case !first.unit.known:
		return number + literal(alike[0].text[first.end:first.end+first.unit.length])
	case usual:
		return number + ` ?[KMGT]?i?B\b`
	case oneLetter:
		return number + ` ?[KMGT]\b`
	}
	return number + ` ?[A-Za-z]*[Bb](?:ytes)?\b`
}

// nameAbove returns a pattern for the name before the labels of all lines, or "" if one of them has
// no such name. inLabel is set if the name is in their labels.
func nameAbove(alike []candidate, cuts []cut) (pattern string, inLabel bool) {
	inLabel = true
	for i := range cuts {
		inLabel = inLabel && moment().MatchString(cuts[i].texts[0])
	}
	if inLabel {
		return "", true
	}
	const phrase = `(?P<checkpoint>(?i:before|after)(?:[ \t_-][^:=|,;()\[\]{}"'<>→]{1,63}?)?)`
	forms := map[string]bool{}
	for i := range alike {
		m := momentAbove().FindStringSubmatchIndex(alike[i].text[:cuts[i].start])
		if m == nil {
			return "", false
		}
		text := alike[i].text
		sep := strings.TrimLeft(text[m[6]:m[7]], " \t")
		switch {
		case text[m[2]:m[3]] == "=":
			forms[`=(?P<checkpoint>(?i:before|after)[\w.-]*)[ \t].*?`] = true
		case text[m[2]:m[3]] != "":
			forms[`["'](?P<checkpoint>(?i:before|after)[^"']{0,63})["'].*?`] = true
		case sep == "":
			forms[phrase+`[ \t]+`] = true
		default:
			forms[phrase+`[ \t]*`+regexp.QuoteMeta(sep)+`.*?`] = true
		}
	}
	if len(forms) != 1 {
		return "", false
	}
	for form := range forms {
		pattern = form
	}
	return pattern, false
}

// named returns a pattern for labels that have a name in them.
func named(labels []string) (pattern string, ok bool) {
	before, after := make([]string, len(labels)), make([]string, len(labels))
	group := `(?P<checkpoint>(?i:before|after)[ \t][^:=|,;]{1,64}?)`
	for i, label := range labels {
		at := moment().FindStringIndex(label)
		if at == nil {
			return "", false
		}
		words := label[at[0]:at[1]]
		if trimmed := strings.TrimRight(words, " \t-"); trimmed != "" {
			at[1] = at[0] + len(trimmed)
		}
		if at[0] > 0 && label[at[0]-1] == '=' { // the value of a field ends at a blank
			at[1] = at[0] + strings.IndexAny(label[at[0]:], " \t")
			group = `(?P<checkpoint>(?i:before|after)[\w.-]*)`
		}
		before[i], after[i] = label[:at[0]], label[at[1]:]
	}
	return common(before) + group + common(after), true
}

// tokens matches the parts of a label: numbers, blanks, words and single characters.
var tokens = lex.Expression(`\d+(?:\.\d+)?|[ \t]+|\pL+|(?s:.)`)

// common returns a pattern for texts that differ in words and numbers. A part that differs may be
// any word, or any text if the numbers of words differ.
func common(texts []string) string {
	first := tokens().FindAllString(texts[0], -1)
	head, tail, equal := len(first), len(first), true // common tokens at the beginning and the end
	same := make([]bool, len(first))
	for i := range same {
		same[i] = true
	}
	for _, text := range texts[1:] {
		if text == texts[0] {
			continue
		}
		other := tokens().FindAllString(text, -1)
		equal = equal && len(other) == len(first)
		n := 0
		for n < min(head, len(other)) && isSame(first[n], other[n]) {
			n++
		}
		head = n
		for n = 0; n < min(tail, len(other)-min(head, len(other))) &&
			isSame(first[len(first)-1-n], other[len(other)-1-n]); {
			n++
		}
		tail = n
		for i := range min(len(first), len(other)) {
			same[i] = same[i] && isSame(first[i], other[i])
		}
	}
	var b strings.Builder
	for i := 0; i < len(first); i++ {
		switch {
		case equal && same[i], !equal && (i < head || i >= len(first)-tail):
			b.WriteString(literal(first[i]))
		case equal:
			b.WriteString(`[^ \t:=|,;]+`)
		default:
			b.WriteString(`[^|;]{0,64}?`)
			i = max(i, len(first)-tail-1)
		}
	}
	return b.String()
}

// isSame reports whether a pattern matches two parts of labels as one.
func isSame(a, b string) bool {
	if lex.IsDigit(a[0]) || a[0] == ' ' || a[0] == '\t' {
		return lex.IsDigit(a[0]) == lex.IsDigit(b[0]) && (a[0] == b[0] || lex.IsDigit(b[0]))
	}
	return a == b
}

// literal returns a pattern for a text. It leaves open which numbers and how many blanks the text
// has, and what its unprintable characters are.
func literal(text string) string {
	var b strings.Builder
	for _, part := range tokens().FindAllString(text, -1) {
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
