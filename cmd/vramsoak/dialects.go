package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"vramsoak/parser"
	"vramsoak/parser/dialect"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// dialects holds the dialects that a log is read in.
type dialects struct {
	user []dialect.User // besides the built-in ones
	set  *parser.Set
	// recorded is set if the user's dialects come from the policy in the log itself.
	recorded bool
}

// dialects returns the dialects for a log. The parameter head is the beginning of the log.
func (o readOptions) dialects(head []byte, name string) (d dialects, err error) {
	tl, err := runIn(head, name)
	if err != nil {
		return d, err
	}
	policy, _, err := policyFor(o.policy, tl)
	if err != nil {
		return d, err
	}
	d.user, d.recorded = policy.Dialects, o.policy == "" && len(tl.Runs) > 0
	d.set, err = parser.NewSet(o.dialect, d.user...)
	return d, err
}

// runIn returns a timeline with the first run in a log's head. The timeline is empty if the head
// has no run.
func runIn(head []byte, name string) (*timeline.Timeline, error) {
	tl := &timeline.Timeline{}
	if !bytes.Contains(head, []byte(record.HarnessPrefix)) {
		return tl, nil
	}
	for rec, err := range parser.OwnLines().Read(bytes.NewReader(head), name) {
		if err != nil {
			return nil, err
		}
		if start, ok := rec.(record.RunStart); ok {
			tl.Runs = []timeline.Run{{Start: start}}
			break
		}
	}
	return tl, nil
}

// displayName returns the name of a log for positions and messages.
func displayName(path string) string {
	if path == "-" {
		return "standard input"
	}
	if address, ok := shownAs(path); ok {
		return address
	}
	return path
}

// dialectHelp returns the last lines of the help of a command that reads logs.
func dialectHelp() string {
	return "\n\nDialects, for --dialect, besides your own: " + wrapNames(dialect.Names(), 43) + "."
}

// wrapNames returns the names as lines of at most 100 columns. The first line begins at the given
// column.
func wrapNames(names []string, column int) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i == 0:
		case column+len(name)+3 > 100:
			b.WriteString(",\n")
			column = 0
		default:
			b.WriteString(", ")
			column += 2
		}
		b.WriteString(name)
		column += len(name)
	}
	return b.String()
}

const dialectUsage = "read the log in the dialect of this `name` only; see the help"

// wanted returns a sentence on the records that the user expected in a log.
func (o readOptions) wanted(d dialects) string {
	if o.dialect != "" {
		return "expected lines of the dialect " + o.dialect
	}
	where := defaultPolicy
	switch {
	case o.policy != "":
		where = o.policy
	case d.recorded:
		where = "a file for " + cmp.Or(o.policyFlag, "--policy")
	}
	own := "describe lines of your own under dialects: in " + where +
		"; vramsoak parse --dialect-file shows what they match"
	if len(d.user) > 0 {
		names := make([]string, len(d.user))
		for i, u := range d.user {
			names[i] = u.Name
		}
		own = "your own dialects were tried too (" + strings.Join(names, ", ") + ")"
	}
	return fmt.Sprintf("expected lines such as %q, or of another dialect (vramsoak parse --help "+
		"lists them); %s",
		"[GPU Memory] After Whisper Cleanup: Allocated: 0.18GB (0.7%) | ...", own)
}
