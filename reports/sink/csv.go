package sink

import (
	"regexp"
	"strings"
)

// formula matches the beginning of a text that a spreadsheet would execute as a formula: one of
// these characters, after white space or quotes. Some spreadsheets end cells at ';', so a formula
// may also follow a ';'.
var formula = regexp.MustCompile(`(?:^|;)["'\s\p{Cf}]*[=+\-@＝＋－＠]`)

// number matches a text that is a number. A number is not a formula, even if it begins with '-'.
var number = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

// Cell returns a text as a cell of a CSV file; encoding/csv then quotes it. The text is in one
// line, as [Line] returns it. If a spreadsheet would execute it as a formula, Cell puts an
// apostrophe before it. Numbers that vramsoak computed do not need Cell.
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
