package table

import (
	"regexp/syntax"
	"slices"
	"strings"

	"vramsoak/parser/search"
)

// Literals returns strings, one of which is in every line that the pattern matches. It returns nil
// if the pattern has no literal text of four bytes or more, or ignores case. Then each line of a
// log is matched, which takes longer.
func (l *Line) Literals() []string {
	re, err := syntax.Parse(l.Pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	if re, err = tornTree(re, false); err != nil {
		return nil
	}
	best := literalsOf(re.Simplify()).best
	if shortest(best) < search.MinNeedle {
		return nil
	}
	for i := range best {
		best[i] = best[i][:min(len(best[i]), search.MaxNeedle-1)]
	}
	return best
}

// spans reports whether a match of the pattern can contain the message of another program, because
// of a part such as ".*".
func (l *Line) spans() bool {
	re, err := syntax.Parse(l.Pattern, syntax.Perl)
	return err == nil && matchesWords(re)
}

// matchesWords reports whether a part of a pattern has a run of any words: letters with blanks
// between them.
func matchesWords(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		set, ok := setOf(re.Sub[0])
		if _, most := bounds(re); ok {
			return (most < 0 || most > 1) && (set == nil || set['a'] && set[' '] && set['Z'])
		}
	}
	return slices.ContainsFunc(re.Sub, matchesWords)
}

// literalsMax is the most literals of a pattern with alternatives. If there were more, it has none.
const literalsMax = 8

// literals are the literal texts of a part of a pattern.
type literals struct {
	exact bool     // the part matches only best[0]
	best  []string // each match has one of these
}

// shortest returns the length of the shortest string of a set, or 0 for an empty set.
func shortest(set []string) int {
	if len(set) == 0 {
		return 0
	}
	return len(slices.MinFunc(set, func(a, b string) int { return len(a) - len(b) }))
}

// literalsOf returns the literals of a part of a pattern.
func literalsOf(re *syntax.Regexp) literals {
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		if re.Flags&syntax.FoldCase != 0 && strings.ToLower(text) != strings.ToUpper(text) {
			return literals{}
		}
		return literals{true, []string{text}}
	case syntax.OpEmptyMatch,
		syntax.OpBeginLine,
		syntax.OpEndLine,
		syntax.OpBeginText,
		syntax.OpEndText,
		syntax.OpWordBoundary,
		syntax.OpNoWordBoundary:
		return literals{true, []string{""}}
	case syntax.OpCapture:
		return literalsOf(re.Sub[0])
	case syntax.OpPlus:
		return literals{false, literalsOf(re.Sub[0]).best}
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			l := literalsOf(sub)
			if len(l.best) == 0 || len(all)+len(l.best) > literalsMax {
				return literals{}
			}
			all = append(all, l.best...)
		}
		return literals{false, all}
	case syntax.OpConcat:
		return concatLiterals(re.Sub)
	}
	return literals{}
}

// concatLiterals returns the literals of parts in a row. It joins neighbours that match only one
// text. Then it chooses the part whose shortest literal is longest.
func concatLiterals(parts []*syntax.Regexp) literals {
	var best []string
	exact, run := true, ""
	take := func(set []string) {
		if shortest(set) > shortest(best) {
			best = set
		}
	}
	for _, part := range parts {
		l := literalsOf(part)
		if l.exact {
			run += l.best[0]
			continue
		}
		take([]string{run})
		take(l.best)
		exact, run = false, ""
	}
	if exact {
		return literals{true, []string{run}}
	}
	take([]string{run})
	return literals{false, best}
}
