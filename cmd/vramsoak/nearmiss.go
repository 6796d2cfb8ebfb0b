package main

import (
	"fmt"
	"strings"

	"vramsoak/harness/secret"
	"vramsoak/parser/dialect/nearmiss"
	"vramsoak/parser/lex"
	"vramsoak/parser/source"
	"vramsoak/reports/sink"
)

// nearMissFile is the name under which a message asks the user to save a dialect.
const nearMissFile = "my-log.yaml"

// nearMiss returns the lines of a message that quote the line of a log that looks most like a
// reading. They give a dialect that reads the line, and the command that uses it. If no dialect is
// sure to read it, they say why.
func (o readOptions) nearMiss(path string, near nearmiss.Line) string {
	text := fmt.Sprintf("the line most like a reading is %s:%d: %q", displayName(path), near.Number,
		lex.Shorten(source.Shown(near.Text), quotedBytes))
	if near.Unclear != "" {
		return fmt.Sprintf("%s; no dialect is suggested, because %s; if it is a reading, write a "+
			"dialect for it (docs/how-to/log-format.md)", text, near.Unclear)
	}
	if near.YAML == "" || !pastable(near.YAML) {
		return text
	}
	command := "vramsoak check --policy " + nearMissFile
	if o.policyFlag != "" {
		command = "vramsoak parse " + o.policyFlag + " " + nearMissFile
	}
	where := ""
	if o.policy != "" && o.policyFlag == "" {
		where = " (or add the entry to dialects: in " + o.policy + ")"
	}
	indented := "  " + strings.ReplaceAll(strings.TrimRight(near.YAML, "\n"), "\n", "\n  ")
	return fmt.Sprintf("%s\nif it is one, save these lines as %s%s:\n\n%s\n\nthen run: %s %s",
		text, nearMissFile, where, indented, command, sink.Shell(path))
}

// pastable reports whether a text is printed as it is, so that it can be copied from a terminal.
func pastable(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if sink.Line(line) != line || secret.Credentials(line) != line {
			return false
		}
	}
	return true
}
