package sink

import (
	"regexp"
	"strings"
)

// formula is what a spreadsheet takes for one: a cell that begins with one of these, behind blanks,
// an apostrophe of its own or, where cells end with ';', in mid-text.
var formula = regexp.MustCompile(`(?:^|;)["'\s\p{Cf}]*[=+\-@＝＋－＠]`)

// number is text that is a number and nothing else: no formula, whatever it begins with.
var number = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

// Cell returns text as a cell of a CSV file, which encoding/csv then quotes: in one line as [Line]
// has it, with an apostrophe before what a spreadsheet would take for a formula. Numbers of our own
// need none of it.
func Cell(s string) string {
	s = Line(s)
	if number.MatchString(s) {
		return s
	}
	return formula.ReplaceAllStringFunc(s, func(match string) string {
		if rest, cut := strings.CutPrefix(match, ";"); cut {
			return ";'" + rest
		}
		return "'" + match
	})
}
