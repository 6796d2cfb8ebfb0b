package nearmiss

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"vramsoak/parser/lex"
)

// readNumbers reads the numbers of the line that may be sizes. The parameter lower is the line in
// lower case.
func (c *candidate) readNumbers(lower string) {
	text := c.text
	all := numbersOf(text)
	from := 0 // end of the size before, with the words behind it
	for i := range all {
		n := &all[i]
		n.label = max(from, labelStart([]byte(text), n.start))
		rest := firstRunes(text[n.end:], 16)
		n.unit = unitAt([]byte(rest))
		if n.unit.name == "" {
			n.keyUnit = keyUnit(lower[n.label:n.start])
		}
		if n.unit.name == "" && n.keyUnit == "" {
			n.keyUnit, n.decimal = unitOfDivision(text[n.label:n.start])
		}
		if !n.hasUnit() && i+1 < len(all) && isSlash(text[n.end:all[i+1].start]) { // "8.10/24.00 GB"
			n.keyUnit = unitAt([]byte(firstRunes(text[all[i+1].end:], 16))).name
			n.shares = n.keyUnit != ""
		}
		isTime := n.unit.name == "" && (strings.HasPrefix(rest, "%") || strings.HasPrefix(rest, ":"))
		if isTime || n.isSigned(text) || !n.hasUnit() && !c.isBare(n) {
			continue
		}
		n.after = n.end
		if n.unit.name != "" {
			n.after += n.unit.length
		}
		c.readWords(n)
		c.numbers = append(c.numbers, *n)
		from = n.after
	}
	c.readPairs()
}

// isSlash reports whether the text between two numbers is only a slash.
func isSlash(between string) bool { return strings.TrimSpace(between) == "/" }

// isBare reports whether a number without a unit may be a size: its label ends with a separator,
// and has words for memory.
func (c *candidate) isBare(n *number) bool {
	if len(c.numbers) > 0 { // "mem_get_info: (1024, 2048)"
		last := &c.numbers[len(c.numbers)-1]
		if !last.hasUnit() && strings.TrimSpace(c.text[last.end:n.start]) == "," &&
			n.end-n.start >= 7 {
			return true
		}
	}
	label := strings.TrimRight(c.text[n.label:n.start], " \t\"'([")
	if !strings.HasSuffix(label, ":") && !strings.HasSuffix(label, "=") &&
		!strings.HasSuffix(label, "：") {
		return false
	}
	own := sensesOf(wordsBetween(c.words, n.label, n.start))
	big := n.end-n.start >= 7 && !strings.ContainsAny(c.text[n.start:n.end], ".e")
	switch {
	case own&saysHost != 0:
		return false
	case own&saysMemory != 0:
		return own&(saysGPU|saysQuantity|saysCurrent) != 0 || big
	case big && own&(saysAllocated|saysReserved) != 0:
		return true
	}
	above := sensesOf(wordsBetween(c.words, 0, n.start))
	return big && own&saysQuantity != 0 && above&(saysGPU|saysMemory) != 0
}

// isBytes reports whether a number without a unit is surely of bytes: it is too large for another
// unit, or its label is a function of PyTorch that returns bytes.
func (c *candidate) isBytes(n *number) bool {
	size, err := strconv.ParseUint(strings.ReplaceAll(c.text[n.start:n.end], ",", ""), 10, 64)
	label := strings.ToLower(c.text[n.label:n.start])
	return err == nil && (c.inBytes || size >= 1_000_000_000 ||
		strings.Contains(label, "memory_allocated") ||
		strings.Contains(label, "memory_reserved") || strings.Contains(label, "bytes"))
}

// separators end the text to which a number's own words belong.
const separators = "|,;()[]{}<>→"

// clause returns the offset in the line at which the own words of a number begin.
func (c *candidate) clause(n *number) int {
	label := strings.TrimRight(c.text[n.label:n.start], " \t:=\"'：")
	if inside := strings.TrimRight(label, ")]"); len(inside) < len(label) {
		if keyUnit(strings.ToLower(label)) != "" { // "GPU memory (MB): "
			label = inside[:max(0, strings.LastIndexAny(inside, "(["))]
		}
	}
	at := strings.LastIndexAny(label, separators)
	if at < 0 {
		return n.label
	}
	_, size := utf8.DecodeRuneInString(label[at:])
	return n.label + at + size
}

// readWords reads the words before and behind a number.
func (c *candidate) readWords(n *number) {
	own := wordsBetween(c.words, c.clause(n), n.start)
	behind, end := c.wordsBehind(n.after, lastQuantity(own))
	said := sensesOf(own)
	before, back := lastQuantity(own), sensesOf(behind)&(saysQuantity|saysCurrent)
	if len(own) == 0 && back == 0 { // "usage: 33 % (8.1 GiB/24 GiB)"
		own = wordsBetween(c.words, n.label, n.start)
		before, said = lastQuantity(own), sensesOf(own)
	}
	n.sense = before | back
	if back != 0 && before&saysQuantity == 0 {
		n.sense = back
	}
	var sure bool
	n.quantity, sure = n.sense.quantity()
	switch {
	case (said|sensesOf(behind))&saysNoLevel != 0:
		n.unclear = noLevel
	case !sure:
		n.unclear = whichWord
	case arrow().MatchString(c.text[:n.start]):
		n.unclear = noLevel
	case n.quantity == "" && n.sense&saysCurrent != 0:
		n.quantity = "allocated"
	}
	if len(behind) > 0 {
		n.after = end
	}
	for _, w := range wordsBetween(c.words, 0, n.start) { // the nearest one counts
		if w.sense&(saysGPU|saysHost) != 0 {
			n.gpu, n.host = w.sense&saysGPU != 0, w.sense&saysHost != 0
		}
	}
	if around := sensesOf(behind) & (saysGPU | saysHost); around != 0 {
		n.gpu, n.host = around&saysGPU != 0, around&saysHost != 0
	}
	for _, m := range deviceNumber().FindAllStringSubmatchIndex(c.text[:n.start], -1) {
		if rest := c.text[m[3]:]; c.text[m[2]] == '0' && m[3] > m[2]+1 { // "host=gpu01"
			continue
		} else if rest[0] != '.' && rest[0] != '%' && !lex.IsWordByte(rest[0]) &&
			unitAt([]byte(firstRunes(rest, 16))).name == "" {
			n.device = [2]int{m[2], m[3]}
		}
	}
	n.rate(sensesOf(wordsBetween(c.words, n.label, n.start)), c.text)
}

// arrow matches the text before the second one of two numbers that show a change, as in
// "7.23 -> 0.18 GB".
var arrow = lex.Expression(`\d[A-Za-z ]{0,4}(?:->|=>|→|\bto) ?$`)

// rate sets the score of a number. The parameter said is what its label says.
func (n *number) rate(said sense, text string) {
	n.score = 3
	if !n.hasUnit() {
		n.score = 1
		if said&saysMemory == 0 && said&(saysAllocated|saysReserved) != 0 {
			n.score += 2 // "before cleanup allocated=7763152896"
		}
		if strings.Contains(text, "em_get_info") || strings.Contains(text, "emGetInfo") {
			n.score += 2
		}
	}
	if said&(saysGPU|saysMemory) != 0 {
		n.score += 2
	}
	if n.quantity != "" && n.quantity != "total" {
		n.score++
	}
}

// wordsBehind returns the words directly behind a size that name its quantity, and their
// end. It returns no words if they are the label of the next number. The parameter before
// holds the words for a quantity that precede the size.
func (c *candidate) wordsBehind(at int, before sense) (behind []word, end int) {
	end = at
	for _, w := range wordsBetween(c.words, at, len(c.text)) {
		if strings.Trim(c.text[end:w.start], " \t_") != "" || len(behind) == 4 {
			break
		}
		isOf := strings.EqualFold(c.text[w.start:w.end], "of")
		named := sensesOf(behind)&saysQuantity != 0
		if isOf && (named || before&saysQuantity != 0) || w.sense == 0 && named {
			break
		}
		behind, end = append(behind, w), w.end
	}
	for len(behind) > 0 && behind[len(behind)-1].sense&^saysFiller == 0 {
		behind = behind[:len(behind)-1]
	}
	if len(behind) == 0 {
		return nil, at
	}
	end = behind[len(behind)-1].end
	rest := strings.TrimLeftFunc(c.text[end:], isOfKey)
	rest = strings.TrimLeft(rest, " \t\"'")
	switch {
	case rest == "":
	case strings.ContainsAny(rest[:1], ":="):
		return nil, at // the label of the next number
	case lex.IsDigit(rest[0]) && (before != 0 || !c.endsWithQuantity()):
		return nil, at // "allocated 7.2 GB reserved 8.1 GB"
	}
	return behind, end
}

// isOfKey reports whether a character may be of the key of a field: "resv_bytes=".
func isOfKey(r rune) bool { return r < utf8.RuneSelf && (lex.IsWordByte(byte(r)) || r == '.') }

// endsWithQuantity reports whether a word for a quantity is behind the last number of the line:
// "7.23 GB allocated 8.10 GB reserved".
func (c *candidate) endsWithQuantity() bool {
	last := strings.LastIndexAny(c.text, "0123456789")
	return sensesOf(wordsBetween(c.words, last, len(c.text)))&saysQuantity != 0
}

// readPairs reads two numbers with "/" or "of" between them.
func (c *candidate) readPairs() {
	for i := 1; i < len(c.numbers); i++ {
		a, b := &c.numbers[i-1], &c.numbers[i]
		between := strings.ToLower(strings.Join(strings.Fields(c.text[a.after:b.start]), " "))
		switch between {
		case "->", "→", "=>", "-->", "to":
			a.unclear, b.unclear = noLevel, noLevel
			continue
		case "/", "of", "out of":
		default:
			continue
		}
		a.gpu, b.gpu = a.gpu || b.gpu, a.gpu || b.gpu
		if first, second := c.slashed(a); first != "" {
			a.quantity, b.quantity, a.unclear, b.unclear = first, second, "", ""
			continue
		}
		said, own := a.sense&saysQuantity, b.sense&saysQuantity
		const driver = saysUsed | saysUsage | saysFree
		switch {
		case a.unclear == noLevel || b.unclear == noLevel:
			a.unclear, b.unclear = noLevel, noLevel
		case own&saysTotal != 0 && said != 0, own&saysTotal == 0 && own == said && said != 0:
			b.quantity = "total"
			a.score++
		case own != 0 && said != 0: // "7.23 GB allocated / 8.10 GB reserved"
		case said&driver != 0, said != 0 && between != "/":
			b.quantity = "total"
			a.score++
		case own&driver != 0, own&saysAllocated != 0 && between != "/":
			a.sense, a.quantity, b.quantity = b.sense, b.quantity, "total"
		default:
			a.unclear, b.unclear = whichIsUsed, whichIsUsed
		}
	}
}

// slashed returns the quantities of two numbers whose label names both, as in
// "GPU memory (allocated/reserved): 7.23/8.10 GB".
func (c *candidate) slashed(n *number) (first, second string) {
	words := wordsBetween(c.words, n.label, n.start)
	for i := 1; i < len(words); i++ {
		a, b := words[i-1], words[i]
		if strings.TrimSpace(c.text[a.end:b.start]) != "/" {
			continue
		}
		first, sureA := a.sense.quantity()
		second, sureB := b.sense.quantity()
		if sureA && sureB && first != "" && second != "" && first != second {
			return first, second
		}
	}
	return "", ""
}
