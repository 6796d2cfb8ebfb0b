package table

import (
	"regexp/syntax"
	"slices"
	"strings"

	"vramsoak/parser/search"
)

// Literals are strings of which one is in every line that the pattern matches. They are nil if the
// pattern demands none of four bytes or more, or ignores case. Without them each line of a log is
// tried, which takes longer.
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

// literalsMax bounds the alternatives of a pattern that are searched for one by one.
const literalsMax = 8

// literals are what a part of a pattern demands.
type literals struct {
	exact bool     // the part matches what best[0] is, and nothing else
	best  []string // one of these is in every match
}

func shortest(set []string) int {
	if len(set) == 0 {
		return 0
	}
	return len(slices.MinFunc(set, func(a, b string) int { return len(a) - len(b) }))
}

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

// concatLiterals joins what follows one another exactly, and takes the part whose shortest literal
// is the longest.
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
