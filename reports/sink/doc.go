// Package sink writes text from outside so that it cannot do harm where it is printed.
//
// Log lines, file names, a suite's name, and errors that quote them may contain anything. Each kind
// of output has a function here, and vramsoak writes everything through these functions:
//
//	Terminal   stdout and stderr of a process: terminals and the logs of CI systems
//	Line       a name or a message inside one line of text: a table, an error, a label of a plot
//	Name       a name in a binary file whose reader prints it, such as go tool pprof
//	JSON       JSON documents and lines; a reader gets the original text back
//	XML        JUnit files; a reader gets the text back that [Line] returned
//	Cell       a cell of text in a CSV file
//	Markdown   job summaries and comments
//	Shell      a word of a command line that a person is to paste
//
// Every function replaces control bytes (escape sequences begin with one), C1 controls, bytes that
// are not UTF-8, marks that reorder or hide text, and the commands of CI systems. It writes them as
// Go does: \x1b, \u202e. Letters of all scripts stay unchanged.
//
// A [Terminal] cannot tell a newline inside a name from the end of a line. So names must go through
// [Line] first.
package sink
