package parser

import "bytes"

// An eventWording is what a program says when it does something about its memory.
type eventWording struct {
	text string
	kind EventKind
	with string // what stands behind the text, too
}

// readEvent adds the event whose words stand at an offset, and returns the offset behind them, 0 where there are none. Its
// text is the message from its beginning. What follows the words is left to others: the message of an error.
func readEvent(l *line, at int, wordings []eventWording) (end int) {
	for i := range wordings {
		w := &wordings[i]
		rest, ok := cutPrefix(l.text[at:], w.text)
		if ok && bytes.Contains(rest, []byte(w.with)) && !inSource(l.text[:at]) &&
			(w.kind != EventFallback || !isProposal(rest)) {
			l.add(Event{Header: l.header(at), Kind: w.kind, Text: l.message(messageStart(l.text[:at]))})
			return at + len(w.text)
		}
	}
	return 0
}

// isProposal reports whether the words behind those of a fallback say that it is not made: they are
// of a setting or a hint.
//
//	Falling back to sequential extraction is disabled
//	Attempting GPU recovery and retry with smaller batch may help; set RETRY=1
func isProposal(rest []byte) bool {
	for _, word := range []string{" is ", " may ", " might ", " can ", " could ", " would ", " not ", " disabled"} {
		if bytes.HasPrefix(rest, []byte(word)) {
			return true
		}
	}
	return false
}

// eventNeedles are the needles of a dialect's events.
func eventNeedles(wordings []eventWording, more ...string) []string {
	for i := range wordings {
		more = append(more, wordings[i].text)
	}
	return more
}
