package text

import (
	"strings"
	"unicode"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// Fold splits a text into lines of at most `width` columns. All lines but the first are indented. A
// word that is wider than a line, such as a path, is split too. The blanks at the beginning of the
// text stay. Of the blanks between two words, one or two stay: two separate columns.
func Fold(s string, width int, indent string) []string {
	blanks := s[:len(s)-len(strings.TrimLeft(s, " "))]
	return FoldAfter(blanks, s, width, indent)
}

// FoldAfter is [Fold] for a text after a name. The first line begins with the name and the blanks
// after it: "--width int   ".
func FoldAfter(name, s string, width int, indent string) (lines []string) {
	line := name
	columns := twwidth.Width(line) // the width of line
	begin := func() {
		lines = append(lines, line)
		line, columns = indent, twwidth.Width(indent)
	}
	blank := false // the line has a word
	for _, word := range separated(s) {
		text := word.text
		n := twwidth.Width(text)
		if blank {
			if columns+len(word.gap)+n > width {
				begin()
			} else {
				line, columns = line+word.gap, columns+len(word.gap)
			}
		}
		for columns+n > width {
			head := cutAt(text, width-columns)
			line += head
			begin()
			text = text[len(head):]
			n = twwidth.Width(text)
		}
		line, columns, blank = line+text, columns+n, true
	}
	return append(lines, line)
}

// cutAt returns the beginning of a word that is at most `width` columns wide. It ends after the
// last slash or dot, as in a path or a name of Python, if that leaves at least half of the width.
func cutAt(word string, width int) string {
	head := widest(word, width)
	if i := strings.LastIndexAny(head, "/."); 2*twwidth.Width(head[:i+1]) >= width {
		return head[:i+1]
	}
	return head
}

// widest returns the longest beginning of a text that is at most `width` columns wide, but at least
// one rune.
func widest(s string, width int) string {
	columns := 0
	for i, c := range s {
		if columns += twwidth.Width(string(c)); columns > width && i > 0 {
			return s[:i]
		}
	}
	return s
}

// A word is a part of a text in which a line does not break.
type word struct {
	gap  string // the blanks before it: one or two
	text string
}

// words returns the parts of a text in which a line does not break.
func words(s string) (all []string) {
	for _, w := range separated(s) {
		all = append(all, w.text)
	}
	return all
}

// separated splits a text at the blanks where a line may break. A line never breaks between a
// number and its unit, or in "[line 88]".
func separated(s string) (all []word) {
	for {
		text := strings.TrimLeftFunc(s, unicode.IsSpace)
		if text == "" {
			return all
		}
		w := word{" ", text}
		if strings.HasPrefix(s, "  ") {
			w.gap = "  "
		}
		if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
			w.text = text[:end]
		}
		s = text[len(w.text):]
		if n := len(all); n > 0 && staysWith(all[n-1].text, w.text) {
			all[n-1].text += w.gap + w.text
			continue
		}
		all = append(all, w)
	}
}

// staysWith reports whether a line never breaks between these two words.
func staysWith(before, text string) bool {
	switch unit, _, _ := strings.Cut(strings.TrimRight(text, ".,;:)"), "/"); unit {
	case "%", "B", "KiB", "MiB", "GiB", "TiB", "s":
		if strings.ContainsAny(before[:1], "(-+0123456789") {
			return true
		}
	}
	return before == "[line"
}
