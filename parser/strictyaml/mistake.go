package strictyaml

import (
	"fmt"
	"strings"
)

// A Mistake is one thing that is wrong with a file, or likely not what was Meant.
type Mistake struct {
	Path         string
	Line, Column int // from 1; in characters
	Severity     Severity
	Rule         string // of a lint rule; "" for what cannot be read at all
	Expected     string
	Found        string
	Advice       string // what to do; "" where Expected says it
}

// A Severity says what follows from a mistake.
type Severity int

// What follows from a mistake.
const (
	Error   Severity = iota // the file is refused
	Warning                 // it is read
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Error is "p.yaml:3:8: expected ..., found ...; what to do".
func (m *Mistake) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", m.Path, m.Line, m.Column)
	if m.Severity == Warning {
		b.WriteString("warning: ")
	}
	fmt.Fprintf(&b, "expected %s, found %s", m.Expected, m.Found)
	if m.Advice != "" {
		b.WriteString("; " + m.Advice)
	}
	return b.String()
}

// Meant is ` (did you mean "x"?)` where one of the names is near.
func Meant(name string, names []string) string {
	if near := Nearest(name, names); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// Nearest is the name that takes the fewest changes to become, "" where that is more than a third of its letters.
func Nearest(name string, names []string) string {
	best, least := "", min(len(name)/3+1, len(name)-1)
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d <= least && (best == "" || d < least) {
			best, least = n, d
		}
	}
	return best
}

// distance is how many letters must be put in, taken out, changed or swapped with their neighbour to make b of a (optimal
// string alignment).
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
