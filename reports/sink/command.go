package sink

import (
	"bytes"
	"unicode"
)

// A watch follows the text that a sink writes, and finds the texts that CI systems obey as
// commands:
//
//	::error::text           GitHub: at the beginning of a line, behind any white space
//	##[error]text           older GitHub, and Azure: anywhere in a line; also ##vso[ and ##teamcity[
//	section_start:0:name    GitLab
//
// It reports the character that would complete a command. The sink then writes this character in
// another spelling, so that the text is no command.
type watch struct {
	started bool // the line so far has more than white space
	colon   bool // the line so far has only one colon, besides white space before it
	// last holds the end of the line so far, without [ignorable] runes.
	last []byte
}

// lastMax is how many bytes of the line's end a watch keeps. The longest texts that it looks for,
// "##teamcity" and "section_start", are shorter.
const lastMax = 16

// newline begins a new line.
func (w *watch) newline() { *w = watch{last: w.last[:0]} }

// commands reports whether the rune r would complete a command at the end of the line so far.
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

// see adds a rune that the sink wrote unchanged to the line.
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

// plain adds ASCII text without colons, brackets and control characters to the line. The sink wrote
// it unchanged.
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

// spelled adds a rune that the sink wrote in another spelling to the line. Such a rune cannot be
// part of a command, so the text before it no longer matters.
func (w *watch) spelled() { *w = watch{started: true, last: append(w.last[:0], ' ')} }
