// Package sink writes text of outside origin to the places where it could do harm.
//
// A log line, a file name, a suite's name or an error that quotes one of them may hold anything.
// Each kind of sink has one function here, and everything that vramsoak writes goes through it:
//
//	Terminal   stdout and stderr of a process: terminals and the logs of CI systems
//	Line       a name or a message inside one line of text: a table, an error, a label of a plot
//	Name       a name in a binary file whose reader prints it, such as go tool pprof
//	JSON       JSON documents and lines; a reader gets the original text back
//	XML        JUnit files; a reader gets back what [Line] gave
//	Cell       a cell of text in a CSV file
//	Markdown   job summaries and comments
//	Shell      a word of a command line that a person is to paste
//
// No function lets these through: control bytes (escape sequences begin with one), C1 controls,
// bytes that are not UTF-8, marks that reorder or hide text, and what CI systems take for a
// command. They are spelled as Go spells them: \x1b, \u202e. Letters of all scripts stay as they
// are.
//
// A [Terminal] knows no fields: a newline inside a name looks to it like any other. So names go
// through [Line] first.
package sink
