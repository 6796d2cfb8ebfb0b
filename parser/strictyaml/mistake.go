package strictyaml

import (
	"fmt"
	"strings"
)

// A Mistake is one error in a file, or one thing that the file's author probably did not mean.
type Mistake struct {
	Path         string
	Line, Column int // both from 1; Column counts characters
	Severity     Severity
	Rule         string // name of a lint rule; "" if the file is wrong by itself
	Expected     string
	Found        string
	Advice       string // what to do; "" if Expected says it
}

// A Severity says what happens to a file with a mistake.
type Severity int

// The severities.
const (
	Error   Severity = iota // the file is not read
	Warning                 // the file is read all the same
)

// Error returns "p.yaml:3:8: expected ..., found ...; what to do".
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
