package sink

import (
	"regexp"
	"strings"
)

// formula matches what a spreadsheet takes for a formula: a cell that begins with one of these
// characters. White space or an apostrophe may precede it. Where ';' ends cells, it may be in the
// middle of the text.
var formula = regexp.MustCompile(`(?:^|;)["'\s\p{Cf}]*[=+\-@＝＋－＠]`)

// number matches text that is a number. It is no formula, whatever it begins with.
var number = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

// Cell returns text as a cell of a CSV file, which encoding/csv then quotes. The text is in one
// line, as [Line] returns it, with an apostrophe before what a spreadsheet would take for a
// formula. The program's own numbers do not need it.
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
