package sink

import (
	"bytes"
	"unicode"
)

// A watch follows the text that a sink writes, and finds what CI systems take for a command:
//
//	::error::text           GitHub: at the beginning of a line, behind any white space
//	##[error]text           GitHub (of old) and Azure: in a line; so ##vso[ and ##teamcity[
//	section_start:0:name    GitLab
//
// It names the character that completes a command, and the sink spells that one.
type watch struct {
	started bool // the line has more than white space
	colon   bool // the line has only one colon
	// last is the end of the line, without [ignorable] runes.
	last []byte
}

// lastMax exceeds the length of the longest mark, "##teamcity" or "section_start".
const lastMax = 16

// newline begins a line.
func (w *watch) newline() { *w = watch{last: w.last[:0]} }

// commands reports whether a rune that follows makes a command.
func (w *watch) commands(r rune) bool {
	switch r {
	case ':':
		return w.colon || w.endsIn("section_start") || w.endsIn("section_end")
	case '[':
		letter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
		return bytes.HasSuffix(bytes.TrimRightFunc(w.last, letter), []byte("##"))
	}
	return false
}

func (w *watch) endsIn(word string) bool {
	from := len(w.last) - len(word)
	return from >= 0 && bytes.EqualFold(w.last[from:], []byte(word))
}

// see takes a rune that was written as it is.
func (w *watch) see(r rune) {
	switch {
	case ignorable(r):
		return
	case unicode.IsSpace(r):
		if w.started {
			w.colon = false
		}
	default:
		w.colon = r == ':' && !w.started
		w.started = true
	}
	c := byte(' ')
	if r < 0x80 {
		c = byte(r)
	}
	w.keep(c)
}

// plain takes ASCII text without colons, brackets and controls.
func (w *watch) plain(text []byte) {
	if !w.started || w.colon {
		for _, c := range text {
			w.see(rune(c))
		}
		return
	}
	w.keep(text[max(0, len(text)-lastMax):]...)
}

func (w *watch) keep(text ...byte) {
	w.last = append(w.last, text...)
	if n := len(w.last) - lastMax; n > 0 {
		w.last = append(w.last[:0], w.last[n:]...)
	}
}

// spelled takes a rune that was written in other characters, which make no command.
func (w *watch) spelled() { *w = watch{started: true, last: append(w.last[:0], ' ')} }
