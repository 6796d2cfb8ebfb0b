package plots

import (
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"vramsoak/reports/wording"
)

// Wrap breaks text into lines at its blanks. A word that is wider than a line is broken too.
func Wrap(sty text.Style, s string, width vg.Length) []string {
	var lines []string
	line := ""
	for word := range strings.SplitSeq(s, " ") {
		if line != "" && sty.Width(line+" "+word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for word != "" && sty.Width(word) > width {
			head := prefix(sty, word, width)
			lines, word = append(lines, word[:head]), word[head:]
		}
		line = word
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// prefix returns the number of bytes of a word that fit into a line, and at least one rune.
func prefix(sty text.Style, word string, width vg.Length) int {
	fits := 0
	for i := range word {
		if fits > 0 && sty.Width(word[:i]) > width {
			return fits
		}
		fits = i
	}
	if fits == 0 {
		_, fits = utf8.DecodeRuneInString(word)
	}
	return fits
}

// Clauses returns as many clauses of a text as fit into at most `most` lines. Semicolons end
// clauses. If even the first clause does not fit, its end is cut off.
func Clauses(sty text.Style, s string, width vg.Length, most int) []string {
	parts := wording.Clauses(s)
	for n := len(parts); n > 1; n-- {
		if lines := Wrap(sty, strings.Join(parts[:n], "; "), width); len(lines) <= most {
			return lines
		}
	}
	lines := Wrap(sty, parts[0], width)
	if last := most - 1; len(lines) > most {
		lines = append(lines[:last:last], Fit(sty, strings.Join(lines[last:], " "), width))
	}
	return lines
}
