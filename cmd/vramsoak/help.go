package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"vramsoak/reports/text"
)

// mostHelp is the most columns of a help's prose, however wide the terminal is.
const mostHelp = 100

// foldHelp folds every command's help to the width of the output.
func foldHelp(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		var b bytes.Buffer
		cmd.SetOut(&b)
		help(cmd, args)
		cmd.SetOut(out)
		width := min(text.Columns(textOptions(stdout)), mostHelp)
		_, _ = io.WriteString(out, foldedHelp(b.String(), width)) // [run] reports the error
	})
}

// helpTitles are the titles of the parts of a help. A part lasts until the next title.
var helpTitles = map[string]helpPart{
	"Usage:": helpNames, "Available Commands:": helpNames, "Examples:": helpExamples,
	"Flags:": helpNames, "Global Flags:": helpNames, "EXIT STATUS": helpNames,
}

type helpPart int

const (
	helpProse    helpPart = iota // paragraphs and lists
	helpNames                    // lines that begin with names
	helpExamples                 // command lines, and comments on them
)

// foldedHelp returns a help with lines of at most so many columns.
func foldedHelp(help string, width int) string {
	var out []string
	part := helpProse
	lines := strings.Split(help, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if p, is := helpTitles[line]; is {
			part = p
		}
		indent := leadingBlanks(line)
		item := helpItem.FindStringSubmatchIndex(line)
		switch {
		case line == "":
			out = append(out, line)
		case part == helpExamples && indent > 0:
			out = append(out, foldedExample(line, width)...)
		case indent == 0: // the lines of a paragraph
			for part == helpProse && i+1 < len(lines) && lines[i+1] != "" && lines[i+1][0] != ' ' {
				i++
				line += " " + lines[i]
			}
			out = append(out, text.Fold(line, width, "")...)
		case item != nil: // a name, and its description, which may have more lines
			name, column := line[:item[3]], item[4]
			description := []string{line[column:]}
			for i+1 < len(lines) && leadingBlanks(lines[i+1]) == column {
				i++
				description = append(description, lines[i][column:])
			}
			if 2*column > width {
				out = append(out, name)
				name, column = "", indent+4
			}
			out = append(out, text.FoldAfter(fmt.Sprintf("%-*s", column, name),
				strings.Join(description, " "), width, strings.Repeat(" ", column))...)
		default:
			out = append(out, text.Fold(line, width, strings.Repeat(" ", indent+2))...)
		}
	}
	return strings.Join(out, "\n")
}

// helpItem finds a name and its description, which begins after two blanks or more.
var helpItem = regexp.MustCompile(`^( +\S+(?: \S+)*) {2,}(\S.*)$`)

func leadingBlanks(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// foldedExample folds a line of the examples so that it can still be pasted into a shell: a command
// continues after a \, and a comment in another comment.
func foldedExample(line string, width int) (lines []string) {
	const more = "      "
	example := strings.TrimSpace(line)
	if comment, is := strings.CutPrefix(example, "#"); is {
		return text.FoldAfter("  # ", comment, width, "  # ")
	}
	line = "  "
	for i, word := range shellWords(example) {
		if i > 0 && len(line)+1+len(word)+len(` \`) > width {
			lines = append(lines, line+` \`)
			line = more + word
			continue
		}
		if i > 0 {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// shellWords splits a command line at the blanks outside of quotes.
func shellWords(line string) (words []string) {
	var quote rune
	begin := 0
	for i, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && c == ' ':
			words = append(words, line[begin:i])
			begin = i + 1
		}
	}
	return append(words, line[begin:])
}
