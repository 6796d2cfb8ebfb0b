package nearmiss

import (
	"strings"

	"vramsoak/parser/lex"
)

// A number is a number of a line, and what the line says about it.
type number struct {
	start, end int    // offsets of its digits
	label      int    // offset of its label
	unit       unit   // the unit behind it
	keyUnit    string // the unit that the label or an expression names
	decimal    bool   // the keyUnit is a power of 1000
	after      int    // offset behind its unit, and the words behind it that name its quantity
	quantity   string // "" if it has none, or none that is sure
	sense      sense  // of the words that name it
	gpu, host  bool   // the words around it name the GPU, or the host
	device     [2]int // offsets of the number of its device, or 0, 0
	score      int
	unclear    string // why its meaning is not sure, or ""
	odd        bool   // it has separators that a dialect does not read
	shares     bool   // its unit is behind the next number: "8.10/24.00 GB"
}

// hasUnit reports whether the number is a size.
func (n *number) hasUnit() bool { return n.unit.name != "" || n.keyUnit != "" }

// plainNumber matches a number that a dialect reads: 7.23, 1,073,741,824, 3.18e+04.
var plainNumber = lex.Expression(
	`^(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)$`)

// oneNumber matches a number, with all its separators, at the beginning of a text. The blanks are
// those that do not break a line.
var oneNumber = lex.Expression(
	`^\d+(?:[_'’\x{a0}\x{2009}\x{202f}]\d{3}|[.,]\d+)*(?:[eE][+-]?\d{1,3}\b)?`)

// spaced matches a number in which blanks separate three digits each: "7 763 152 896".
var spaced = lex.Expression(`^\d{1,3}(?: \d{3})+(?:\.\d+)?(?: ?[A-Za-z]|$)`)

// numbersOf returns the numbers of a line, at most 32.
func numbersOf(text string) (numbers []number) {
	for i := 0; i < len(text) && len(numbers) < 32; {
		if !lex.IsDigit(text[i]) {
			i++
			continue
		}
		end := i + len(oneNumber().FindString(text[i:]))
		joined := i > 0 && (lex.IsWordByte(text[i-1]) && text[i-1] != '_' || text[i-1] == '.' ||
			text[i-1] == '-' && (i == 1 || text[i-2] != ' ' && text[i-2] != '_'))
		if joined {
			i = end
			continue
		}
		n := number{start: i, end: end, odd: !plainNumber().MatchString(text[i:end])}
		if m := spaced().FindString(text[i:]); m != "" {
			n.odd = true
			n.end = i + len(strings.TrimRight(m, " ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
		}
		numbers = append(numbers, n)
		i = n.end
	}
	return numbers
}

// isSigned reports whether a sign precedes the number, which is then a difference.
func (n *number) isSigned(text string) bool {
	return n.start > 0 && (text[n.start-1] == '+' || text[n.start-1] == '-' || text[n.start-1] == '~')
}

// unitOfDivision returns the unit by which the expression in a label divides, or "". decimal is set
// if it is a power of 1000.
func unitOfDivision(label string) (name string, decimal bool) {
	label = strings.NewReplacer(" ", "", "(", "", ")", "").Replace(label)
	label = strings.TrimRight(label, ":=\"'")
	for ; label != ""; label = label[1:] {
		switch label {
		case "/1024":
			return "KiB", false
		case "/1024/1024", "/1024**2", "/1024*1024", "/2**20", "/1<<20", "/1048576":
			return "MiB", false
		case "/1024/1024/1024", "/1024**3", "/1024*1024*1024", "/2**30", "/1<<30", "/1073741824":
			return "GiB", false
		case "/1e6", "/10**6", "/1000000", "/1000**2", "/1000/1000":
			return "MB", true
		case "/1e9", "/10**9", "/1000000000", "/1000**3", "/1000/1000/1000":
			return "GB", true
		}
	}
	return "", false
}
