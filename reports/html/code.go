package html

import (
	"regexp"
	"strings"
)

// A span is a part of a sentence: words, or a command, a setting or the path of a document, which
// the page sets in the letters of a terminal.
type span struct {
	Text string
	// Words are the words of a command. The page breaks no line within one of them. It is nil if the
	// span is no command.
	Words []string
}

// commandStart finds the first words of a command, a setting of the environment, or the path of a
// document: "vramsoak snapshot", "soak --shuffle", "PYTORCH_CUDA_ALLOC_CONF=...",
// "docs/how-to/soak.md".
var commandStart = regexp.MustCompile(`\b(vramsoak [a-z]+|git log|ls -l|history gate --|soak --|` +
	`[A-Z][A-Z_]+=[^\s,;)]+|docs/[\w/.-]+\.md|vramlog\.\w+)`)

// argument finds a further word of a command: an option, a file, a placeholder in capitals, a word
// in quotes, a number. A plain word belongs to the sentence again.
var argument = regexp.MustCompile(`^ (--?[a-zA-Z][\w=-]*|[A-Z][A-Z0-9_.]+\b[\w./-]*|'[^']*'|` +
	`[\w./~-]*[./][\w./~-]*\w|gate\b|\d+\b)`)

// spans splits a sentence into words and code.
func spans(sentence string) (all []span) {
	for sentence != "" {
		at := commandStart.FindStringIndex(sentence)
		if at == nil {
			return append(all, span{Text: sentence})
		}
		end := at[1]
		if strings.HasSuffix(sentence[at[0]:end], " --") { // the option itself comes next
			end -= len(" --")
		}
		if first := sentence[at[0]:end]; !strings.HasPrefix(first, "docs/") &&
			!strings.HasPrefix(first, "vramlog.") && !strings.Contains(first, "=") {
			for {
				next := argument.FindString(sentence[end:])
				if next == "" {
					break
				}
				end += len(next)
			}
		}
		if at[0] > 0 {
			all = append(all, span{Text: sentence[:at[0]]})
		}
		code := sentence[at[0]:end]
		all = append(all, span{Text: code, Words: words(code)})
		sentence = sentence[end:]
	}
	return all
}

// words splits a command at its blanks, but not within quotes.
func words(command string) (all []string) {
	quoted, from := false, 0
	for i, c := range command {
		switch {
		case c == '\'':
			quoted = !quoted
		case c == ' ' && !quoted:
			all = append(all, command[from:i])
			from = i + 1
		}
	}
	return append(all, command[from:])
}

// pieces splits a word after each "=". If a word is too long for its line, the line breaks there.
func pieces(word string) []string { return strings.SplitAfter(word, "=") }

// breaks reports whether a browser may break a line within a word: after a hyphen, for example.
func breaks(word string) bool { return strings.ContainsAny(word, "-/= ?") }

// linkText names what a link of the summary leads to: a chart, or the table of a snapshot.
func linkText(link string) string {
	if strings.HasPrefix(link, "#kept-") || strings.HasPrefix(link, "#holds-") {
		return "in the table"
	}
	return "in the chart"
}
