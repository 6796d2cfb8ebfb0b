package nearmiss

import (
	"slices"
	"strings"

	"vramsoak/parser/source"
)

// A candidate is a line that may be a reading of GPU memory.
type candidate struct {
	text    string
	score   int // 0 for a line that is no reading
	words   []word
	numbers []number // those that may be sizes
	unclear string   // why no dialect can be sure to read the line, or ""
	inBytes bool     // whole numbers without a unit are of bytes
}

// labelMax is the most bytes of a label. A unit scores 3. A line needs scoreMin, so it also needs a
// word for memory.
const (
	labelMax = 64
	scoreMin = 5
)

// Reasons why no dialect is offered for a line.
const (
	noUnit      = "its number has no unit"
	noLevel     = "it speaks of a limit or a difference, not of the memory in use"
	noGPU       = "it does not say that the memory is the GPU's"
	oddNumber   = "its number has separators that a dialect does not read"
	eitherComma = "the comma of its number may separate decimals or thousands"
	whichIsUsed = "it does not say which number is in use and which is the total"
	whichNumber = "it does not say which of its numbers is the memory in use"
	whichWord   = "the words around a number contradict each other"
	isTable     = "it is the header of a table, and the rows below it have no labels"
	noPattern   = "no pattern was found that reads the lines like it"
)

// judge returns what a line says of memory. The score is 0 if the line does not look like a
// reading.
func judge(line []byte) candidate { return judgeAs(line, false) }

// judgeAs is [judge]. If inBytes is set, whole numbers without a unit are of bytes.
func judgeAs(line []byte, inBytes bool) (c candidate) {
	text := string(line)
	if source.HasPlaceholder(line) || strings.Contains(text, "ut of memory") {
		return candidate{}
	}
	lower := strings.ToLower(text)
	if len(lower) != len(text) {
		lower = text // offsets must agree
	}
	score := 0
	for _, w := range wordings {
		if hasAny(lower, w.words) {
			score += w.score
		}
	}
	c.text, c.words, c.inBytes = text, wordsOf(text), inBytes
	said := sensesOf(c.words)
	if said&saysGPU != 0 {
		score += 4
	}
	if said&(saysMemory|saysAllocated|saysReserved) != 0 {
		score += 2
	}
	c.readNumbers(lower)
	best := 0
	for i := range c.numbers {
		if n := &c.numbers[i]; n.quantity != "total" && !n.host {
			best = max(best, n.score)
		}
	}
	if best == 0 || best+score < scoreMin {
		return candidate{}
	}
	c.score = best + score
	c.unclear = c.explain()
	return c
}

// explain sets the quantity of each number that a dialect may read. If no number is sure, it
// returns why. Otherwise it returns "".
func (c *candidate) explain() (unclear string) {
	sure, first := 0, ""
	for i := range c.numbers {
		n := &c.numbers[i]
		if n.host {
			n.quantity = ""
			continue
		}
		if n.unclear == "" {
			n.unclear = c.unclearNumber(n)
		}
		switch {
		case n.unclear != "":
			n.quantity = ""
			if first == "" {
				first = n.unclear
			}
		case n.quantity != "" && n.quantity != "total":
			sure++
		}
	}
	switch {
	case first != "" && (first != noLevel || sure == 0 || c.isRange()):
		return first
	case sure == 0:
		return c.chooseDefault()
	}
	return c.isSure()
}

// isRange reports whether the only quantity of the line is a peak, and another number is no level:
// "min 3 GB, max 5 GB".
func (c *candidate) isRange() bool {
	return !slices.ContainsFunc(c.numbers, func(n number) bool {
		return n.quantity != "" && n.quantity != "peak"
	})
}

// unclearNumber returns why the amount of a number is not sure, or "". It sets the unit of a number
// that surely is of bytes.
func (c *candidate) unclearNumber(n *number) string {
	digits := c.text[n.start:n.end]
	unit := strings.ToUpper(n.unit.name + n.keyUnit)
	isLarge := strings.HasPrefix(unit, "G") || strings.HasPrefix(unit, "T")
	switch {
	case n.odd && strings.Count(digits, ",") == 1,
		strings.Count(digits, ",") == 1 && (isLarge || unit == ""): // "7,763 GB"
		return eitherComma
	case n.odd:
		return oddNumber
	case n.hasUnit():
		return ""
	case c.isBytes(n):
		n.keyUnit = "B"
		return ""
	}
	return noUnit
}

// chooseDefault lets a number without a word for its quantity count as allocated, if each device
// has only one.
func (c *candidate) chooseDefault() (unclear string) {
	only := 0
	for i := range c.numbers {
		if n := &c.numbers[i]; !n.host && n.unclear == "" && n.quantity != "total" {
			n.quantity = "allocated"
			only++
		}
	}
	if only == 0 {
		return whichNumber
	}
	return c.isSure()
}

// isSure returns why the numbers of the line with a quantity cannot be read for sure, or "".
func (c *candidate) isSure() (unclear string) {
	type place struct{ quantity, device string }
	seen := map[place]bool{}
	for i := range c.numbers {
		n := &c.numbers[i]
		if n.quantity == "" && !n.host && n.unclear == "" && c.hasOther(n.device) {
			return whichNumber // "GPU0: 7 GB, GPU1: 1 GB used"
		}
		at := place{n.quantity, c.text[n.device[0]:n.device[1]]}
		if n.quantity != "" && seen[at] {
			return whichNumber
		}
		seen[at] = true
	}
	for i := range c.numbers {
		n := &c.numbers[i]
		if n.quantity == "" || n.quantity == "total" {
			continue // the total is of the same memory as the other numbers
		}
		ofDriver := n.quantity == "free" || n.quantity == "used"
		own := sensesOf(wordsBetween(c.words, n.label, n.after))
		if !n.gpu && (ofDriver || own&saysMemory == 0 && n.sense&saysQuantity == 0) {
			return noGPU
		}
	}
	return ""
}

// hasOther reports whether the line has the quantity of another device.
func (c *candidate) hasOther(device [2]int) bool {
	return device[1] > 0 && slices.ContainsFunc(c.numbers, func(n number) bool {
		return n.quantity != "" && n.device != device
	})
}
