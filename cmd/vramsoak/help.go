package main

import (
	"bytes"
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
			out = append(out, foldedUnder("", line, 0, width)...)
		case item != nil: // a name, and its description, which may have more lines
			name, column := line[:item[3]], item[4]
			first := i
			for i+1 < len(lines) && leadingBlanks(lines[i+1]) == column {
				i++
			}
			text := line[column:] + " " + strings.Join(lines[first+1:i+1], " ")
			if 2*column > width {
				out = append(out, name)
				name, column = "", indent+4
			}
			out = append(out, foldedUnder(name, text, column, width)...)
		default:
			out = append(out, foldedUnder(line[:indent], line[indent:], indent+2, width)...)
		}
	}
	return strings.Join(out, "\n")
}

// helpItem finds a name and its description, which begins after two blanks or more.
var helpItem = regexp.MustCompile(`^( +\S+(?: \S+)*) {2,}(\S.*)$`)

func leadingBlanks(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// foldedUnder folds a text. The first line begins with a name, and the text begins at the given
// column in every line, except after a name that ends behind it.
func foldedUnder(name, text string, column, width int) (lines []string) {
	line := name + strings.Repeat(" ", max(0, column-len(name)))
	if strings.TrimSpace(name) == "" {
		line = name
		if name == "" {
			line = strings.Repeat(" ", column)
		}
	}
	empty := true // the line has no word yet
	for word := range strings.FieldsSeq(text) {
		if !empty && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line, empty = strings.Repeat(" ", column), true
		}
		if !empty {
			line += " "
		}
		for len(line)+len(word) > width && column < width { // a long name of Python, or a path
			head := cutName(word, width-len(line))
			lines = append(lines, line+head)
			line, word = strings.Repeat(" ", column), word[len(head):]
		}
		line, empty = line+word, false
	}
	return append(lines, line)
}

// cutName returns the beginning of a name that is too wide: at most so many columns, up to its last
// dot or slash if it has one.
func cutName(name string, width int) string {
	head := name[:max(1, width)]
	if i := strings.LastIndexAny(head, "./"); i > 0 {
		return head[:i+1]
	}
	return head
}

// foldedExample folds a line of the examples so that it can still be pasted into a shell: a command
// continues after a \, and a comment in another comment.
func foldedExample(line string, width int) (lines []string) {
	const more = "      "
	text := strings.TrimSpace(line)
	if comment, is := strings.CutPrefix(text, "#"); is {
		for _, l := range foldedUnder("  # ", comment, 4, width) {
			lines = append(lines, "  # "+l[4:])
		}
		return lines
	}
	line = "  "
	for i, word := range shellWords(text) {
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
