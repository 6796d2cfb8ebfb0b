package scan

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
)

// An EventWording is a text with which a program says that it does something about its memory.
type EventWording struct {
	Text string
	Kind record.EventKind
	With string // a text that must follow somewhere behind Text
	Lost string // what the file goes on without, if the line names it behind Text
}

// ReadEvent adds an event if one of the wordings is at an offset of the line. It returns the offset
// behind the wording, or 0. The event's text is the whole message. Other dialects can still read
// the text behind the wording, because it may be the message of an error.
func ReadEvent(l *Line, at int, wordings []EventWording) (end int) {
	for i := range wordings {
		w := &wordings[i]
		rest, ok := lex.CutPrefix(l.Text[at:], w.Text)
		if ok && bytes.Contains(rest, []byte(w.With)) && !l.Head(at).InSource() &&
			(w.Kind != record.EventFallback || !isProposal(rest)) {
			event := record.Event{
				Header: l.Header(at), Kind: w.Kind, Text: l.Message(l.Head(at).Message()),
			}
			if bytes.Contains(rest, []byte(w.Lost)) {
				event.Lost = w.Lost
			}
			l.Add(event)
			return at + len(w.Text)
		}
	}
	return 0
}

// isProposal reports whether the words behind a fallback's wording say that the program does not
// fall back. Settings and hints have such words:
//
//	Falling back to sequential extraction is disabled
//	Attempting GPU recovery and retry with smaller batch may help; set RETRY=1
func isProposal(rest []byte) bool {
	for _, word := range []string{
		" is ", " may ", " might ", " can ", " could ", " would ", " not ", " disabled",
	} {
		if bytes.HasPrefix(rest, []byte(word)) {
			return true
		}
	}
	return false
}

// EventNeedles returns the texts of the wordings and the strings in `more`, as the needles of one
// dialect.
func EventNeedles(wordings []EventWording, more ...string) []string {
	for i := range wordings {
		more = append(more, wordings[i].Text)
	}
	return more
}
