package wording

import "strings"

// Clauses splits a message at its semicolons. It does not split at semicolons in parentheses,
// because a command in parentheses may contain some. A message without text is one empty clause.
func Clauses(message string) []string {
	var all []string
	depth, from := 0, 0
	add := func(clause string) {
		if clause = strings.TrimSpace(clause); clause != "" {
			all = append(all, clause)
		}
	}
	for i, c := range message {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth = max(0, depth-1) // a name may have a parenthesis of its own: ":-).wav"
		case depth == 0 && strings.HasPrefix(message[i:], "; "):
			add(message[from:i])
			from = i + len("; ")
		}
	}
	if add(message[from:]); len(all) == 0 {
		return []string{""}
	}
	return all
}

// FirstClause returns the first of the [Clauses] of a message.
func FirstClause(message string) string { return Clauses(message)[0] }
